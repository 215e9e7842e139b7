import type { Finding } from '../finding.ts'
import type { Game } from '../game.ts'
import { featureSince, type Folder } from '../grammar/commands.ts'
import { isIn, type Language } from '../language.ts'
import { parseJson } from './json.ts'

export interface FileFinding {
  /** Below the folder of the game. */
  file: string
  finding: Finding
}

/** Keys of `config.txt` that name files. */
const configFiles: Readonly<Record<string, Folder>> = { Title_img: 'background', Title_bgm: 'bgm', Game_Logo: 'background' }

/** What is not a scene and names files too: `config.txt`, the table of animations, the flowchart. */
export function checkProjectFiles(game: Game, language: Language): FileFinding[] {
  return [
    ...checkConfig(game.config(), game).map((finding) => ({ file: 'config.txt', finding })),
    ...checkAnimations(game, language),
    ...checkFlowchart(game, language),
  ]
}

export function checkConfig(text: string, game: Game): Finding[] {
  return text.split(/\r?\n/).flatMap((whole, index): Finding[] => {
    const line = index + 1
    const [, key = '', rest = ''] = /^\uFEFF?\s*(\w+)\s*:([^;]*)/.exec(whole) ?? []
    const folder = Object.hasOwn(configFiles, key) ? configFiles[key] : undefined
    if (folder === undefined) return []
    const names = (rest.split(' -', 1)[0] ?? '').split('|').map((name) => name.trim())
    return names.filter((name) => name !== '' && name !== 'none').flatMap((name) => missing(game, folder, name, line))
  })
}

function missing(game: Game, folder: Folder, name: string, line: number): Finding[] {
  const at = game.find(folder, name)
  if (at.is === 'there' || at.is === 'unknown') return []
  if (at.is !== 'missing') return [{ line, code: at.is, about: { file: at.file, nearest: at.nearest, folder: `game/${folder}` } }]
  return at.nearest === undefined
    ? [{ line, code: 'missing-file', about: { file: at.file } }]
    : [{ line, code: 'missing-file-near', about: { file: at.file, nearest: at.nearest } }]
}

/** Most animations that are looked into. */
const mostAnimations = 500

/** Every animation of the table is loaded when the game starts: as a list, since 4.6.6 as an object too. */
function checkAnimations(game: Game, language: Language): FileFinding[] {
  const table = 'animation/animationTable.json'
  return game
    .animations()
    .slice(0, mostAnimations)
    .flatMap((name): FileFinding[] => {
      const file = `animation/${name}.json`
      const text = game.text(file)
      if (text === undefined) {
        const found = missing(game, 'animation', `${name}.json`, lineOf(game.text(table), JSON.stringify(name)))
        return found.map((finding) => ({ file: table, finding }))
      }
      const parsed = parseJson(text.replace(/^\uFEFF/, ''))
      if (!parsed) return [{ file, finding: { line: 1, code: 'broken-json', about: { what: file } } }]
      const { version } = language
      const since = featureSince.animationObjects
      if (Array.isArray(parsed.value) || version === undefined || isIn({ since }, version)) return []
      return [{ file, finding: { line: 1, code: 'argument-needs-engine', about: { what: `${file} {…}`, since, version } } }]
    })
}

/** The scenes a flowchart names. */
function checkFlowchart(game: Game, { version }: Language): FileFinding[] {
  const file = 'flowchart.json'
  const text = game.text(file)
  if (text === undefined) return []
  const parsed = parseJson(text.replace(/^\uFEFF/, ''))
  if (!parsed) return [{ file, finding: { line: 1, code: 'broken-json', about: { what: file } } }]
  const since = featureSince.flowchart
  if (version !== undefined && !isIn({ since }, version))
    return [{ file, finding: { line: 1, code: 'argument-needs-engine', about: { what: file, since, version } } }]
  return scenesIn(parsed.value).flatMap((name) =>
    missing(game, 'scene', name.endsWith('.txt') ? name : `${name}.txt`, lineOf(text, JSON.stringify(name))).map((finding) => ({
      file,
      finding,
    })),
  )
}

const listOf = (value: unknown, key: string): unknown[] => {
  const list = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  return Array.isArray(list) ? list.slice(0, 10_000) : []
}

function scenesIn(flowchart: unknown): string[] {
  const nodes = listOf(flowchart, 'flowcharts').flatMap((one) => listOf(one, 'nodes'))
  const names = nodes.map((node) => (node as { data?: { sceneName?: unknown } } | null)?.data?.sceneName)
  return [...new Set(names.filter((name) => typeof name === 'string' && name !== ''))] as string[]
}

function lineOf(text: string | undefined, part: string): number {
  const at = text?.indexOf(part) ?? -1
  return at < 0 ? 1 : (text as string).slice(0, at).split('\n').length
}

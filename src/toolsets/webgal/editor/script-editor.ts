import { Fault } from '../../../contracts/faults/fault.ts'
import type {
  ScriptDiagnostic,
  ScriptEditor,
  ScriptLocation,
  ScriptPosition,
  ScriptRange,
} from '../../../contracts/script-editor.ts'
import { patience } from '../../../text/nearest.ts'
import { openPace, type Pace } from '../../../text/steps.ts'
import { inWords } from '../finding.ts'
import { openGame, type Game } from '../game.ts'
import { rootOf } from '../game-folders.ts'
import { commands, everywhere } from '../grammar/commands.ts'
import { argumentLine, hover } from '../grammar/describe.ts'
import { placeIn } from '../grammar/spans.ts'
import { noMemory, type Memory } from '../memory.ts'
import { rulesOf, type WebgalUse } from '../use.ts'
import { checkScene } from '../validate.ts'
import { offered } from './complete.ts'
import { indexGame, type GameIndex } from './game-index.ts'
import { readStatements, type Occurrence, type ReadStatement } from './occurrences.ts'
import { planRenaming } from './rename.ts'
import { symbolsOf } from './symbols.ts'

interface Scene {
  index: GameIndex
  /** Below the folder of scenes. */
  name: string
  text: string
}

/** The parser, the table and the checks, for an editor. What is known of a game is kept until a file on the disk changes. */
export function openScriptEditor(now: () => WebgalUse): ScriptEditor {
  const held = new Map<string, string>()
  let indexes = new Map<string, Promise<GameIndex>>()

  const open = async (root: string, scenePath: string, pace: Pace): Promise<GameIndex> => {
    const use = now()
    const game = await openGame(use.files, pace, scenePath, root)
    return indexGame(game, rulesOf(game, use).language, (scene) => held.get(pathIn(game, scene)), pace)
  }
  const indexOf = (path: string): Promise<GameIndex> => {
    const root = rootOf(now().files, path)
    const known = indexes.get(root)
    if (known) return known
    const made = open(root, path, openPace())
    indexes.set(root, made)
    made.catch(() => indexes.get(root) === made && indexes.delete(root))
    return made
  }
  const sceneAt = async (path: string): Promise<Scene> => {
    const index = await indexOf(path)
    const name = path.slice(pathIn(index.game, '').length)
    const text = index.text(name)
    if (text === undefined) throw new Fault('not-found', `There is no scene ${path}`, { hint: 'Open it in the editor.' })
    return { index, name, text }
  }
  const memories = new WeakMap<GameIndex, Map<string, Memory>>()
  /** Only of what is open, and only as long as the files are the same. */
  const memoryOf = (index: GameIndex, path: string): Memory => {
    const all = memories.get(index) ?? new Map<string, Memory>()
    const known = all.get(path) ?? noMemory()
    memories.set(index, all.set(path, known))
    return known
  }
  const nameAt = async (path: string, at: ScriptPosition): Promise<{ scene: Scene; one: Occurrence } | undefined> => {
    const scene = await sceneAt(path)
    const one = scene.index
      .occurrences(scene.name)
      .filter(
        ({ at: place }) => place && place.line === at.line + 1 && place.column <= at.character && at.character <= place.endColumn,
      )
      // `{name}` inside a longer text: the narrowest.
      .toSorted((a, b) => a.name.length - b.name.length)[0]
    return one && { scene, one }
  }
  /** Every place of one thing. */
  const places = async ({ scene, one }: { scene: Scene; one: Occurrence }, defining: boolean): Promise<ScriptLocation[]> => {
    const all =
      one.kind === 'label'
        ? new Map([[scene.name, scene.index.occurrences(scene.name)]])
        : await scene.index.everywhere(openPace())
    return [...all].flatMap(([name, found]) =>
      found.flatMap((other) =>
        other.kind === one.kind && other.name === one.name && other.at && (!defining || other.defines)
          ? [{ path: pathIn(scene.index.game, name), range: rangeOf(other.at) }]
          : [],
      ),
    )
  }

  return {
    pathOf(file) {
      try {
        const path = now().files.normal(file)
        return path.endsWith('.txt') && `/${path}`.includes('/scene/') ? path : undefined
      } catch (fault) {
        if (fault instanceof Fault) return undefined
        throw fault
      }
    },
    hold(path, text) {
      if (text === undefined) held.delete(path)
      else held.set(path, text)
    },
    changed() {
      indexes = new Map()
    },
    async diagnostics(path, signal) {
      const pace = openPace(signal)
      const { index, name, text } = await sceneAt(path)
      const { language } = index
      // A session is long: what is compared to find near names is bounded each time.
      const game = { ...index.game, patience: patience() }
      const checked = await checkScene(text, game, language, pace, { memory: memoryOf(index, path) })
      index.tells(name, checked.words)
      const { findings } = checked.answer(index.words)
      const lines = text.split('\n')
      return findings.map((finding): ScriptDiagnostic => {
        const { line, column, endColumn, severity, code, message, fixHint } = inWords(finding, now().lang)
        const length = (lines[line - 1] ?? '').replace(/\r$/, '').length
        return {
          range: rangeOf({ line, column: (column ?? 1) - 1, endColumn: endColumn === undefined ? length : endColumn - 1 }),
          severity,
          code,
          message: fixHint === undefined ? message : `${message}\n→ ${fixHint}`,
        }
      })
    },
    async hover(path, at) {
      const scene = await sceneAt(path)
      const { lang } = now()
      const read = statementAt(scene, at)
      if (!read) return undefined
      const { statement, spans, folded } = read
      const within = (span: { start: number; end: number }): ScriptRange | undefined => {
        const from = placeIn(folded.pieces, folded.line, span.start)
        const range = rangeOf({ ...from, endColumn: from.column + span.end - span.start })
        return from.line === at.line + 1 && from.column <= at.character && at.character <= range.end.character ? range : undefined
      }
      const head = statement.command !== 'say' && statement.command !== 'comment' ? within(spans.head) : undefined
      const says = head && hover(statement.command, lang)
      if (head && says !== undefined) return { text: fenced(says), range: head }
      for (const { key } of spans.args) {
        const range = within(key)
        const name = folded.text.slice(key.start, key.end)
        const kind = { ...commands[statement.command]?.args, ...everywhere }[name]
        if (range && kind) return { text: fenced(argumentLine(name, kind, lang)), range }
      }
      const named = await nameAt(path, at)
      return named?.one.at && { text: await wordsAbout(named, lang, places), range: rangeOf(named.one.at) }
    },
    async complete(path, at) {
      const scene = await sceneAt(path)
      if (at.line >= scene.text.split('\n').length) return []
      const before = textBefore(scene, at)
      const { items, typed } = offered(before, scene.name, scene.index, now().lang)
      const range = {
        start: { line: at.line, character: Math.max(0, at.character - typed) },
        end: { line: at.line, character: at.character },
      }
      return items.map((item) => ({ ...item, range }))
    },
    async definition(path, at) {
      const named = await nameAt(path, at)
      if (!named) return []
      const { one, scene } = named
      if (one.kind === 'label') return (await places(named, true)).slice(-1)
      if (one.kind === 'variable') return places(named, true)
      const found = one.folder && scene.index.game.find(one.folder, one.name)
      return found?.is === 'there' ? [{ path: found.path, range: rangeOf({ line: 1, column: 0, endColumn: 0 }) }] : []
    },
    async references(path, at) {
      const named = await nameAt(path, at)
      return named ? places(named, false) : []
    },
    async renamed(path, at) {
      const named = await nameAt(path, at)
      if (!named?.one.at || (named.one.kind !== 'label' && named.one.kind !== 'variable')) return undefined
      return { range: rangeOf(named.one.at), name: named.one.name }
    },
    async rename(path, at, name) {
      const named = await nameAt(path, at)
      if (!named || (named.one.kind !== 'label' && named.one.kind !== 'variable'))
        throw new Fault('bad-input', 'There is nothing here that can be renamed', { hint: 'Labels and variables can.' })
      const { one, scene } = named
      const kind = named.one.kind
      const wanted = { kind, from: one.name, to: name, ...(kind === 'label' && { scene: scene.name }) }
      const plan = await planRenaming(scene.index, wanted, openPace())
      return [...plan].map(([other, found]) => ({
        path: pathIn(scene.index.game, other),
        edits: found.flatMap(({ at: place }) => (place ? [{ range: rangeOf(place), text: name }] : [])),
      }))
    },
    async symbols(path) {
      const { text, index } = await sceneAt(path)
      return symbolsOf(text, index.language)
    },
  }
}

const pathIn = ({ root }: Game, scene: string): string => `${root === '' ? '' : `${root}/`}scene/${scene}`

const rangeOf = ({ line, column, endColumn }: { line: number; column: number; endColumn: number }): ScriptRange => ({
  start: { line: line - 1, character: column },
  end: { line: line - 1, character: endColumn },
})

const fenced = (text: string): string => `\`\`\`webgal\n${text}\n\`\`\``

function statementAt({ text, index }: Scene, { line }: ScriptPosition): ReadStatement | undefined {
  for (const read of readStatements(text, index.language)) if (read.folded.endLine > line) return read
  return undefined
}

/** The statement up to the cursor, without the lines above where it began on one of them. */
function textBefore(scene: Scene, at: ScriptPosition): string {
  const read = statementAt(scene, at)
  if (!read) return ''
  const { folded } = read
  if (!folded.pieces) return folded.text.slice(0, at.character)
  const piece = folded.pieces.findLast((one) => one.line <= at.line + 1)
  return piece ? folded.text.slice(0, piece.at + Math.max(0, at.character - piece.column)) : folded.text
}

async function wordsAbout(
  named: { scene: Scene; one: Occurrence },
  lang: 'ZH' | 'EN',
  places: (named: { scene: Scene; one: Occurrence }, defining: boolean) => Promise<ScriptLocation[]>,
): Promise<string> {
  const { one, scene } = named
  if (one.folder) {
    const found = scene.index.game.find(one.folder, one.name)
    return found.is === 'there' ? `\`${found.path}\`` : `\`game/${one.folder}/${one.name}\` ✗`
  }
  const all = await places(named, false)
  const set = await places(named, true)
  const shown = set.slice(0, 5).map(({ path, range }) => `- ${path}:${range.start.line + 1}`)
  const says = {
    ZH: `**${one.name}**：定义 ${set.length} 处，使用 ${all.length - set.length} 处`,
    EN: `**${one.name}**: set in ${set.length} places, used in ${all.length - set.length}`,
  }
  return [says[lang], ...shown, ...(set.length > 5 ? ['- …'] : [])].join('\n')
}

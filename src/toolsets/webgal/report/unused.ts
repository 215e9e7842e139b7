import type { Pace } from '../../../text/steps.ts'
import type { Game } from '../game.ts'
import { folders, type Folder } from '../grammar/commands.ts'
import { leftOutSentence } from '../left-out.ts'

export interface UnusedFile {
  path: string
  bytes: number
}

/** Sizes are asked for one by one; of more files than this they are not. */
const mostSizes = 20_000
/** Models that are read to find their parts, and how much of each. */
const mostModels = 2_000
const longestModel = 2_000_000

/** Files of the game that no scene names and no file that a scene names, in whatever sub-folder. */
export async function unusedFiles(game: Game, pace: Pace): Promise<{ files: UnusedFile[]; bytes: number; leftOut: string[] }> {
  const below = game.root === '' ? '' : `${game.root}/`
  const config = game.config()
  const files: UnusedFile[] = []
  let bytes = 0
  for (const folder of folders) {
    if (folder === 'scene' || folder === 'animation') continue
    const all = game.filesOf(folder)
    const isNamed = (file: string): boolean => game.wasFound(`${below}${folder}/${file}`)
    const parts = await partsOf(game, folder, all, isNamed, pace)
    for (const file of all) {
      if (pace.due()) await pace.turn()
      if (isNamed(file) || config.includes(file) || parts(file) || isNote(file) || game.mayBeMeant(folder, file)) continue
      const size = files.length < mostSizes ? (game.sizeOf(folder, file) ?? 0) : 0
      bytes += size
      files.push({ path: `${folder}/${file}`, bytes: size })
    }
  }
  return {
    files,
    bytes,
    leftOut:
      files.length > mostSizes ? [leftOutSentence('Of unused files only the first {n} were measured.', { n: mostSizes })] : [],
  }
}

/** For people and for git, not for the game. */
const isNote = (file: string): boolean => /(?:^|\/)(?:\.gitkeep|\.DS_Store|Thumbs\.db)$|\.(?:md|txt)$/i.test(file)

const folderOf = (file: string): string => file.slice(0, file.lastIndexOf('/') + 1)

/** What belongs to a Live2D or Spine model that a scene names: the files it names itself, those they name, and those of its own name. */
async function partsOf(
  game: Game,
  folder: Folder,
  all: readonly string[],
  isNamed: (file: string) => boolean,
  pace: Pace,
): Promise<(file: string) => boolean> {
  const there = new Set(all)
  const parts = new Set<string>()
  /** Folders of models that cannot be read: what lies there may belong to them. */
  const unread = new Set<string>()
  const open = all.filter((file) => /\.(?:jsonl?|skel)$/i.test(file) && isNamed(file)).slice(0, mostModels)
  const take = (file: string): void => {
    if (!there.has(file) || parts.has(file)) return
    parts.add(file)
    if (/\.(?:jsonl?|atlas)$/i.test(file) && open.length < mostModels) open.push(file)
  }
  for (const file of open) {
    if (pace.due()) await pace.turn()
    const at = folderOf(file)
    const stem = file.replace(/\.[^./]*$/, '')
    for (const ending of ['atlas', 'skel', 'json', 'png', 'webp']) take(`${stem}.${ending}`)
    if (/\.skel$/i.test(file)) continue
    const text = game.text(`${folder}/${file}`)?.slice(0, longestModel)
    const named = text === undefined ? undefined : namesIn(text, /\.atlas$/i.test(file))
    if (named === undefined) unread.add(at)
    for (const name of named ?? []) {
      take(resolved(at, name))
      take(resolved('', name))
    }
  }
  return (file) => {
    if (parts.has(file)) return true
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
      if (unread.has(file.slice(0, end + 1))) return true
    return false
  }
}

/** Texts that could be names of files: every string of a JSON, every line of an atlas. Nothing where it is neither. */
function namesIn(text: string, isAtlas: boolean): string[] | undefined {
  if (isAtlas) return text.split(/\r?\n/).filter((line) => line.length < 500)
  const strings = text.match(/"(?:[^"\\\n]|\\.)*"/g)
  if (!strings) return undefined
  return strings.flatMap((quoted) => {
    try {
      const one: unknown = quoted.length < 500 ? JSON.parse(quoted) : undefined
      return typeof one === 'string' ? [one] : []
    } catch {
      return []
    }
  })
}

function resolved(at: string, name: string): string {
  const parts: string[] = []
  for (const part of `${at}${name}`.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

import { foldName } from '../fold-name.ts'

/** What a text names that could be a file: paths in the project, folded. */
export interface NamesIn {
  /** As they stand there. */
  whole: Set<string>
  /** Without their ending, or with dots between: `node tools/build`, `python -m tools.build`. */
  modules: Set<string>
  /** The ends of paths, where the text goes to other folders first. */
  ends: Set<string>
  /** Folders in which programs are looked for. */
  below: Set<string>
  /** Everything it says, by word. */
  words: Set<string>
}

/** More of a text is not looked at: it may name anything. */
export const longestStarter = 65_536

/** Words after which a name may be one in another folder: `cd tools && sh x.sh`. */
const goesElsewhere = /\b(cd|pushd|chdir|cwd|work(ing)?[_-]?dir(ectory)?)\b/i
const goesByOption = /["'\s]-C["'\s]/

/** What programs take a module or a file without its ending after: as the first or second word that is no option. */
const loads =
  /^(?:.*\/)?(?:node|bun|deno|tsx|ts-node|python[\d.]*w?|pypy[\d.]*|py|ruby|perl|php|lua|-m|-r|--require|--import|--(?:experimental-)?loader|require|import)$/i
/** What says that programs are looked for in a folder, up to the folder: `PATH_add tools`, `"eslint.nodePath": "tools"`. Not where modules are: those are everyday code. */
const searched =
  /(?<!\w)(?:PATH|_\.path|tsdk|nodePath|goroot|toolsGopath|java\.home|javaHome)["']?[ \t]*[:=][ \t]*(\[[^\]]{0,2000}|"[^"\n]*"|'[^'\n]*'|[^"'\s;&|]+)|\b(?:PATH_add|path_add[ \t]+PATH)[ \t]+([^\n;&|#]+)/g
/** Stands for a blank that does not end a word. */
const blank = '\u0001'
const dotted = /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i

/** Reads the names off a text; they count from each of these folders on. */
export function namesIn(given: string, bases: readonly string[]): NamesIn {
  const text = given
    .slice(0, longestStarter)
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  // A `\n` ends a line in JSON, and begins a name in a path of Windows.
  const words = new Set(text.includes('\\') ? [...wordsIn(text), ...wordsIn(text.replaceAll(/\\[nrt]/g, ' '))] : wordsIn(text))
  // A name with blanks in it stands in quotes.
  for (const piece of text.replaceAll('\\"', '"').split(/["'`\n]/))
    if (piece.length < 300 && /\s/.test(piece))
      for (const word of wordsIn(piece.replaceAll(/\s/g, blank))) words.add(word.replaceAll(blank, ' ').trim())
  const loaded = new Set(wordsIn(loadedIn(text).join(' ')))
  const moves = goesElsewhere.test(text) || goesByOption.test(text)
  const found: NamesIn = { whole: new Set(), modules: new Set(), ends: new Set(), below: new Set(), words }
  for (const folder of searchedIn(text)) for (const base of bases) found.below.add(joined(base, folder) ?? '')
  found.below.delete('')
  for (const word of words) {
    const isModule = loaded.has(word) || word.includes('/') || dotted.test(word)
    const end = moves ? word.replace(/^(\.{0,2}\/)+/, '') : ''
    if (end !== '') found.ends.add(end)
    // The same without its ending.
    if (end !== '' && isModule) found.ends.add(`${end}.`)
    for (const base of bases) {
      const path = joined(base, word)
      if (path === undefined) continue
      found.whole.add(path)
      if (!isModule) continue
      found.modules.add(path)
      // To load `a.b.c` Python runs what makes `a` and `a.b` packages.
      for (let dot = word.indexOf('.'); dot > 0 && dotted.test(word); dot = word.indexOf('.', dot + 1))
        found.whole.add(joined(base, `${word.slice(0, dot).replaceAll('.', '/')}/__init__.py`) ?? '')
    }
    if (dotted.test(word)) found.modules.add(`*/${word}`)
  }
  found.whole.delete('')
  return found
}

function searchedIn(text: string): string[] {
  return [...text.matchAll(searched)].flatMap(([, said, added = '']) =>
    wordsIn((said ?? added).replaceAll(/\$\{[^}]*\}|\$\w+|%\w+%/g, ' ')),
  )
}

function loadedIn(text: string): string[] {
  const words = text.split(/[\s"'`,;()[\]{}=|&<>]+/)
  return words.flatMap((word, index) => {
    if (!loads.test(word)) return /^-m\w/.test(word) ? [word.slice(2)] : []
    const next = words.slice(index + 1, index + 7).filter((one) => !one.startsWith('-'))
    return next.slice(0, 2)
  })
}

function wordsIn(text: string): string[] {
  return text
    .replaceAll(/\\"/g, '"')
    .replaceAll(/[\\/]+/g, '/')
    .split(/[\s"'`,;:()[\]{}=|&<>]+/)
    .map((word) =>
      word
        .replace(/^\$\w*\$?/, '')
        .replace(/^(\.?\/)+/, '')
        .replace(/\/$/, '')
        .split('/')
        .map((name) => (name === '..' ? name : foldName(name)))
        .join('/'),
    )
    .filter((word) => word !== '')
}

/** A path from a folder on, without `.` and `..`; nothing where it leads out of the project. */
export function joined(base: string, path: string): string | undefined {
  const names: string[] = base === '' ? [] : base.split('/')
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names.join('/')
}

/** By what else a file may be loaded: without its ending, as its folder, with dots between its names. */
export function* moduleNames(path: string): Generator<string> {
  const bare = path.replace(/\.[^./]+$/, '')
  const folder = bare.replace(/\/(?:index|__main__|__init__)$/, '')
  for (const one of bare === folder ? [bare] : [bare, folder]) {
    yield one
    if (!/\.(?:py\w?|so|lua|java|class|kt|clj\w?)$/.test(path)) continue
    for (let name = one, slash = name.lastIndexOf('/'); slash >= 0; slash = name.lastIndexOf('/')) {
      name = `${name.slice(0, slash)}.${name.slice(slash + 1)}`
      yield name
      // In a folder that only some settings know: `src/tools/build.py`.
      yield `*/${name.slice(name.lastIndexOf('/') + 1)}`
    }
  }
}

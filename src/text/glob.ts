import { Fault } from '../contracts/faults/fault.ts'

const longest = 512
const mostGlobs = 100
const mostAlternatives = 256
const longestTogether = 16_384

type Piece = 'star' | 'any' | { one: string } | { set: [string, string][]; not: boolean }
/** One pattern as names; `**` stands for any number of them. */
type Pattern = ('**' | Piece[])[]

/**
 * A test for paths with `*`, `?`, `[a-z]`, `{a,b}`, `**` and a leading `!`. Matching takes at most the product of both
 * lengths, so no pattern can hang the process; that is why it does not go through a backtracking regular expression.
 */
export function compileGlobs(
  globs: readonly string[],
  options: { matchBase?: boolean; nocase?: boolean } = {},
): (path: string) => boolean {
  if (globs.length > mostGlobs) throw badGlob(`${globs.length} patterns`, `at most ${mostGlobs} can be given`)
  let size = 0
  const fold = (text: string): string => (options.nocase ? text.toLowerCase() : text)
  const tests = globs.map((glob) => {
    const not = glob.startsWith('!')
    const alternatives = expandBraces(fold(not ? glob.slice(1) : glob), glob)
    size += alternatives.reduce((sum, one) => sum + one.length, 0)
    if (size > longestTogether)
      throw badGlob(glob, `all patterns together may have ${longestTogether} characters, braces expanded`)
    const patterns = alternatives.map(parse)
    return (names: string[]): boolean => patterns.some((pattern) => matchNames(pattern, names)) !== not
  })
  return (path) => {
    const names = fold(path).split('/')
    return tests.some((test) => test(options.matchBase ? names.slice(-1) : names))
  }
}

function expandBraces(glob: string, whole: string): string[] {
  if (glob === '' || glob.length > longest) throw badGlob(whole, `it must have 1 to ${longest} characters`)
  let done = ['']
  let at = 0
  while (at < glob.length) {
    const close = glob[at] === '{' ? closing(glob, at) : -1
    const parts = close > 0 ? splitAlternatives(glob.slice(at + 1, close)) : undefined
    const ends =
      parts && parts.length > 1 ? parts.flatMap((part) => (part === '' ? [''] : expandBraces(part, whole))) : [glob[at] as string]
    at = parts && parts.length > 1 ? close + 1 : at + 1
    done = done.flatMap((start) => ends.map((end) => start + end))
    if (done.length > mostAlternatives) throw badGlob(whole, `its braces stand for more than ${mostAlternatives} patterns`)
  }
  return done
}

function closing(glob: string, open: number): number {
  let depth = 0
  for (let at = open; at < glob.length; at++) {
    if (glob[at] === '{') depth++
    if (glob[at] === '}' && --depth === 0) return at
  }
  return -1
}

function splitAlternatives(inside: string): string[] {
  const parts = ['']
  let depth = 0
  for (const character of inside) {
    if (character === '{') depth++
    if (character === '}') depth--
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}

function parse(glob: string): Pattern {
  return glob
    .replace(/^(\.?\/)+/, '')
    .split('/')
    .map((name) => (name === '**' ? '**' : parseName(name)))
}

function parseName(name: string): Piece[] {
  const pieces: Piece[] = []
  const letters = [...name]
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] as string
    const close = letter === '[' ? letters.indexOf(']', at + 2) : -1
    if (letter === '*') {
      if (pieces.at(-1) !== 'star') pieces.push('star')
    } else if (letter === '?') pieces.push('any')
    else if (close > 0) {
      pieces.push(parseSet(letters.slice(at + 1, close)))
      at = close
    } else pieces.push({ one: letter === '\\' && at + 1 < letters.length ? (letters[++at] as string) : letter })
  }
  return pieces
}

function parseSet(letters: string[]): Piece {
  const not = letters[0] === '!' || letters[0] === '^'
  const set: [string, string][] = []
  for (let at = not ? 1 : 0; at < letters.length; at++) {
    const from = letters[at] as string
    const ranged = letters[at + 1] === '-' && at + 2 < letters.length
    set.push([from, ranged ? (letters[at + 2] as string) : from])
    if (ranged) at += 2
  }
  return { set, not }
}

/** `**` at the very end stands for at least one name: `a/**` is what lies in `a`, not `a` itself. */
function matchNames(pattern: Pattern, names: string[]): boolean {
  return matchWild(
    pattern,
    names,
    (part) => part === '**',
    (part, name) => part !== '**' && matchName(part, [...name]),
    false,
  )
}

function matchName(pieces: Piece[], letters: string[]): boolean {
  return matchWild(
    pieces,
    letters,
    (piece) => piece === 'star',
    (piece, letter) => piece !== 'star' && matchLetter(piece, letter),
    true,
  )
}

/** Greedy with one step back to the last wild part: what stood before it never has to be tried again. */
function matchWild<P, T>(
  parts: P[],
  items: T[],
  isWild: (part: P) => boolean,
  fits: (part: P, item: T) => boolean,
  mayEndEmpty: boolean,
): boolean {
  let p = 0
  let n = 0
  let wild = -1
  let from = 0
  while (n < items.length) {
    if (p < parts.length && isWild(parts[p] as P)) {
      if (p === parts.length - 1) return true
      wild = p++
      from = n
    } else if (p < parts.length && fits(parts[p] as P, items[n] as T)) {
      p++
      n++
    } else if (wild >= 0) {
      p = wild + 1
      n = ++from
    } else return false
  }
  while (mayEndEmpty && p < parts.length && isWild(parts[p] as P)) p++
  return p === parts.length
}

function matchLetter(piece: Exclude<Piece, 'star'>, letter: string): boolean {
  if (piece === 'any') return true
  if ('one' in piece) return piece.one === letter
  return piece.set.some(([low, high]) => letter >= low && letter <= high) !== piece.not
}

function badGlob(glob: string, why: string): Fault {
  return new Fault('bad-input', `Not a usable glob: ${glob.slice(0, 100)}: ${why}`, {
    hint: 'Give a pattern such as "**/*.txt" or "game/scene/*.txt".',
  })
}

import type { LineDiff } from '../contracts/line-diff.ts'
import { foldedAt, signedRows, type DiffRow } from './rows.ts'
import type { Card, CardChange } from '../contracts/tool.ts'
import { countsLine } from './card-words.ts'
import { lazy } from './lazy.ts'

/** Everything that moves the cursor, changes the direction, cannot be seen, or looks like a space and is none. */
const unseen = lazy(
  () =>
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3164\uffa0]/gu,
)

/** More marks on one letter than any language has: piled up they are painted over the lines around it. */
const piledUp = lazy(() => /(?<=\p{M}{4})\p{M}/gu)
/** Looking back at every letter costs more than looking once whether there is anything of the kind. */
const hasPiles = lazy(() => /\p{M}{5}/u)

/** Most text, and our own signs: nothing in it has to be looked at twice. */
const plainest = /^[ -~→…×]*$/

/** Text of others on one line, fit to be shown to a person: what cannot be seen is shown, not obeyed. */
export function printable(text: string): string {
  if (plainest.test(text)) return text
  const seen = text.replace(unseen(), shown)
  return hasPiles().test(seen) ? seen.replace(piledUp(), writtenOut) : seen
}

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (character === '\r') return '␍'
  if (character === '\n') return '␊'
  if (character === '\t') return '⇥ '
  // A byte that was no text; see `lettersOf`.
  return code >= 0xdc80 && code <= 0xdcff ? `\\x${(code - 0xdc00).toString(16)}` : writtenOut(character)
}

function writtenOut(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** The same over several lines. */
export function printableBlock(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** One line, cut to a width. */
export function oneLine(text: string, width: number): string {
  const line = printable(text.replace(/\s+/g, ' '))
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}

/** A change as a person reads it: what goes away, what comes. Cards have thousands of these: nothing is made that is not shown. */
export function diffRows({ hunks, coarse, notShown }: LineDiff): DiffRow[] {
  const rows: DiffRow[] = []
  if (coarse) rows.push({ kind: 'place', text: '@@ too different to compare line by line: shown as whole blocks @@' })
  for (const { startOld, lenOld, lenNew, linesOld, linesNew } of hunks) {
    rows.push({ kind: 'place', text: `@@ line ${startOld}: ${lenOld} out, ${lenNew} in @@` })
    // An empty file is one empty line to the diff; a person sees nothing there.
    const isEmpty = hunks.length === 1 && linesOld.length === 1 && linesOld[0] === ''
    if (!isEmpty) for (const line of linesOld) rows.push({ kind: 'out', text: `- ${toItsEnd(line)}` })
    for (const line of linesNew) rows.push({ kind: 'in', text: `+ ${toItsEnd(line)}` })
  }
  if (notShown !== undefined) rows.push({ kind: 'place', text: `@@ ${notShown} more lines, NOT SHOWN HERE @@` })
  return rows
}

/** More blanks than anybody indents by: they would push what follows out of sight. */
const manyBlanks = / {61,}/g
const longBlanks = ' '.repeat(61)
/** Nothing in it to be shown in another way, and it ends with something. */
const asItIs = /^[ -~]*[!-~]$/

/** Words of others among ours on one line: plain, and no long blanks in them. */
export function printableInline(text: string): string {
  return printable(text).replace(manyBlanks, counted)
}

const counted = (blanks: string): string => `⟨${blanks.length} blanks⟩`

/** A line with its last blanks to be seen, and long ones counted. One that begins like a broken part of the line before is told from it. */
function toItsEnd(line: string): string {
  if (asItIs.test(line) && !line.includes(longBlanks)) return line
  const shown = printable(line).replace(/^…/, '\\u2026')
  const end = shown.trimEnd().length
  const last = shown.length - end
  return shown.slice(0, end).replace(manyBlanks, counted) + (last > 60 ? counted(shown.slice(end)) : '·'.repeat(last))
}

/** A line of a text that is kept with its signs, as a row; see `TextPart`. What has no sign is a place. */
export function signedRow(line: string): DiffRow {
  const kind = line.startsWith('+ ') ? 'in' : line.startsWith('- ') ? 'out' : 'place'
  return { kind, text: kind === 'place' ? printableInline(line) : line.slice(0, 2) + toItsEnd(line.slice(2)) }
}

/** The line above a change: where, what happens there, how large it is and which bytes exactly. */
export function headline(change: Omit<CardChange, 'diff'>): string {
  const words = wordsOf(change)
  return words === '' ? quotedName(change.path) : `${quotedName(change.path)}: ${printable(words)}`
}

/** A name of others among our words: one that could pass for what stands around it is set in quotation marks. */
export function quotedName(name: string): string {
  const odd = /^[-+@>\s]|[:;,.]\s|→|[“”]|NOT |[\n\r\t]|\s$/.test(name)
  return odd ? `“${printable(name).replace(/[“”]/g, (mark) => (mark === '“' ? '\\u201c' : '\\u201d'))}”` : printable(name)
}

const insideHeadings = {
  packages: '@@ as packages @@',
  archive: '@@ files in the archive @@',
  database: '@@ rows of the database @@',
} as const

/** What a change is inside, as rows of their own: behind our own heading, each with its sign. */
export function insideRows({ inside }: Pick<CardChange, 'inside'>): DiffRow[] {
  if (!inside) return []
  const heading = insideHeadings[inside.what]
  return [
    { kind: 'place', text: heading },
    ...inside.rows.map(signedRow),
    ...(inside.more === undefined ? [] : [{ kind: 'place' as const, text: `@@ ${inside.more} more @@` }]),
  ]
}

/** What is said of a change beside its path. */
export function wordsOf({ says, sizes, hashes, sensitive, unshown }: Omit<CardChange, 'diff' | 'path'>): string {
  const words: string[] = []
  if (says !== undefined) words.push(says)
  if (sensitive) words.push('makes other programs run something')
  const before = weightOf(sizes?.[0], hashes?.[0])
  const after = weightOf(sizes?.[1], hashes?.[1])
  if (before !== '' || after !== '') words.push(before !== '' && after !== '' ? `${before} → ${after}` : before + after)
  if (unshown)
    words.push(`NOT SHOWN HERE: ${unshown.why ?? (unshown.lines === undefined ? 'too large' : `${unshown.lines} lines`)}`)
  return words.join('; ')
}

/** One side of a change, before or after it. */
const weightOf = (size: number | null | undefined, hash: string | null | undefined): string =>
  hash && typeof size === 'number' ? `${size} bytes, sha256 ${hash.slice(0, 16)}` : ''

/** Whether a card shows everything it asks for. */
export function showsEverything(card: Card): boolean {
  return !card.rest?.length && card.changes.every((change) => change.unshown === undefined)
}

/** What is not listed one by one. */
export function restLines({ rest = [] }: Card): string[] {
  return rest.map(
    ({ folder, changes, bytes }) => `NOT LISTED HERE: ${changes} more changes in ${quotedName(folder)}, ${bytes} bytes`,
  )
}

/** A note of a card on its rows, one of several lines too; what a program printed is quoted on each of them. */
export function noteRows(note: string, width: number): string {
  return linesOf(note)
    .map((line) => foldedAt(width, line, note.startsWith('> ') ? '> … ' : '    '))
    .join('\n')
}

/** Lines of others after the first stand further in than ours begin. */
const linesOf = (note: string): string[] =>
  note.split('\n').map((line, at) => (at === 0 ? '' : note.startsWith('> ') ? '> ' : '    ') + printableInline(line))

/** What a person can be expected to look through, before its lines are broken. */
export interface CardLimits {
  lines: number
  lineLength: number
  width: number
}

/** Nobody is asked in a client's own form to approve what they cannot see whole. Clients break what is wider, and a part would begin where our signs stand. */
export const formLimits: CardLimits = { lines: 400, lineLength: 1_000, width: 72 }

/** A card as plain text, in rows that are no wider than this; not whole where it has more lines, or longer ones, than there is room for. */
export function cardText(card: Card, most: CardLimits): { text: string; whole: boolean } {
  const folded = (line: string): string[] => foldedAt(most.width, line).split('\n')
  const signed = card.changes.map((change) => [...insideRows(change), ...diffRows(change.diff)])
  const heads = card.changes.map(headline)
  const counts = countsLine(card)
  const first = counts === undefined ? [] : [counts]
  const others = [...first, ...heads, ...restLines(card), ...(card.notes ?? []).flatMap(linesOf)]
  const tooLong = (line: string): boolean => line.length > most.lineLength
  const given = card.changes.some(({ diff }) => diff.hunks.some((hunk) => [...hunk.linesOld, ...hunk.linesNew].some(tooLong)))
  const fits =
    others.length + signed.reduce((sum, rows) => sum + rows.length, 0) <= most.lines &&
    !given &&
    ![...others, ...signed.flatMap((rows) => rows.map(({ text }) => text))].some(tooLong)
  if (!fits) return { text: '', whole: false }
  const rows = [
    ...first,
    ...heads.flatMap((head, at) => [
      ...folded(head),
      ...(signed[at] ?? []).flatMap((row) => signedRows(row, most.width).map(({ text }) => text)),
    ]),
    ...restLines(card).flatMap(folded),
    ...(card.notes ?? []).flatMap((note) => noteRows(note, most.width).split('\n')),
  ]
  return { text: rows.join('\n'), whole: showsEverything(card) }
}

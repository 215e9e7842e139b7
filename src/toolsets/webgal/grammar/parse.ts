import { commands } from './commands.ts'
import { firstLines, foldLines } from './fold.ts'
import { isBefore } from './version.ts'

export interface Argument {
  key: string
  value: string | number | boolean
  /** As it stands in the text, without the hyphen. */
  raw: string
}

export interface Statement {
  /** 1-based; a statement over several lines has an end below its line. */
  line: number
  endLine: number
  /** `comment` also for a blank line; `say` for all dialogue. */
  command: string
  /** What stands before the colon, exactly; the whole body where there is none. */
  head: string
  hasColon: boolean
  /** Who speaks, where a speaker is named; `''` is narration. */
  speaker: string | undefined
  content: string
  args: Argument[]
  comment: string
  hasSemicolon: boolean
  /** The statement as one text. */
  text: string
  /** Only its beginning was read: it is longer than anybody writes one. */
  cut?: true
}

/** Which heads are commands. */
export type CommandNames = ReadonlySet<string>

/** What one engine makes of a text, where engines differ. */
export interface Reading {
  names: CommandNames
  /** A statement may go on over several lines. */
  continues: boolean
  /** `-x.opus` is a voice. */
  opus: boolean
}

/** The commands of one version of the engine. */
export function namesIn(version: string): CommandNames {
  return namesWhere(
    ({ since, until }) =>
      !(since !== undefined && isBefore(version, since)) && !(until !== undefined && isBefore(until, version)),
  )
}

function namesWhere(test: (row: (typeof commands)[string]) => boolean): CommandNames {
  return new Set(Object.entries(commands).flatMap(([name, row]) => (!row.parserOnly && test(row) ? [name] : [])))
}

/** As the newest engine reads. */
export const newestReading: Reading = { names: namesWhere(({ until }) => until === undefined), continues: true, opus: true }

/**
 * Statements of a scene, one a line unless folded, as the engine reads them. Linear in the length of the text, and none of them endless.
 * `known` gives a statement of one line that the same reading made of the same text elsewhere.
 */
export function* statementsOf(
  text: string,
  reading: Reading = newestReading,
  known?: (text: string) => Statement | undefined,
): Generator<Statement> {
  for (const { text: body, line, endLine, cut } of foldLines(firstLines(text).text, reading.continues)) {
    const same = known && line === endLine ? known(body) : undefined
    const statement = same ? { ...same, line, endLine } : parseStatement(body, line, endLine, reading)
    yield cut ? { ...statement, cut } : statement
  }
}

export function parseScene(text: string, reading: Reading = newestReading): Statement[] {
  return [...statementsOf(text, reading)]
}

export function parseStatement(text: string, line: number, endLine: number, { names, opus }: Reading): Statement {
  const end = endOfBody(text, 0)
  const hasSemicolon = end < text.length
  const raw = hasSemicolon ? text.slice(0, end) : text
  const body = raw.includes('\\;') ? raw.replaceAll('\\;', ';') : raw
  const comment = hasSemicolon ? text.slice(end + 1, endOfBody(text, end + 1)).trim() : ''
  if (body.trim() === '')
    return {
      line,
      endLine,
      command: 'comment',
      head: '',
      hasColon: false,
      speaker: undefined,
      content: comment,
      args: none,
      comment: '',
      hasSemicolon,
      text,
    }
  const colon = body.indexOf(':')
  const hasColon = colon >= 0
  const head = hasColon ? body.slice(0, colon) : body
  const rest = hasColon ? body.slice(colon + 1) : body
  const command = names.has(head) ? head : 'say'
  const dash = rest.indexOf(' -')
  return {
    line,
    endLine,
    command,
    head,
    hasColon,
    speaker: command === 'say' && hasColon && head !== 'say' ? head : undefined,
    content: (dash < 0 ? rest : rest.slice(0, dash)).trim(),
    args: dash < 0 ? none : parseArguments(rest.slice(dash), opus ? voice : earlierVoice),
    comment,
    hasSemicolon,
    text,
  }
}

/** Where the statement ends: at the first semicolon that has no backslash before it. */
function endOfBody(text: string, from: number): number {
  for (let at = text.indexOf(';', from); at >= 0; at = text.indexOf(';', at + 1)) {
    if (at === 0 || text.charCodeAt(at - 1) !== 0x5c) return at
  }
  return text.length
}

/** A statement as it stands there, without its semicolon and what follows. */
export const bodyOf = (text: string): string => text.slice(0, endOfBody(text, 0))

const none: Argument[] = []
const voice = /.(?:ogg|mp3|wav|opus)/i
const earlierVoice = /.(?:ogg|mp3|wav)/i

/** Whether a key is the short form of a voice. */
export const isVoice = (key: string, { opus }: Pick<Reading, 'opus'>): boolean => (opus ? voice : earlierVoice).test(key)

function parseArguments(text: string, isVoice: RegExp): Argument[] {
  const found: Argument[] = []
  for (const raw of text.split(' -')) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const key = (equals < 0 ? raw : raw.slice(0, equals)).trim()
    if (isVoice.test(key)) found.push({ key: 'vocal', value: raw, raw })
    else found.push({ key, value: equals < 0 ? true : valueOf(raw.slice(equals + 1).trim()), raw })
  }
  return found
}

function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return Number.isNaN(Number(text)) ? text : Number(text)
}

/** Parts of a text at a sign that has no backslash before it. */
export function splitUnescaped(text: string, sign: string): string[] {
  const parts: string[] = []
  let from = 0
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 0x5c) continue
    parts.push(text.slice(from, at))
    from = at + 1
  }
  return [...parts, text.slice(from)]
}

export interface Choice {
  /** What the player reads. */
  words: string
  /** A scene file where it has a dot, else a label; empty where there is none. */
  target: string
  /** Shown only when, and can be taken only when. */
  show: string | undefined
  enable: string | undefined
  /** What stands before `->`, where the conditions belong. */
  before: string | undefined
  /** What follows a second colon, and so leads nowhere. */
  lost: string
}

/** The options of `choose`, read as the engine does: conditions end at the first `->`, and only the first two parts after it count. */
export function parseChoices(content: string): readonly Choice[] {
  // Several checks look at one statement after each other, and whoever counts words once more after the scene.
  const known = lastChoices.get(content)
  if (known) return known
  const choices = readChoices(content)
  if (lastChoices.size >= mostChoices) lastChoices.clear()
  lastChoices.set(content, choices)
  return choices
}

const lastChoices = new Map<string, readonly Choice[]>()
const mostChoices = 64

function readChoices(content: string): Choice[] {
  return splitUnescaped(content, '|').map((option) => {
    const [first = '', second] = option.includes('->') ? option.split('->', 2) : [option]
    const conditions = second === undefined ? '' : first
    const [words = '', target = '', lost = ''] = splitUnescaped(second ?? first, ':')
    return {
      words: words.trim(),
      target: target.trim(),
      show: conditions === '' ? undefined : between(conditions, '(', ')'),
      enable: conditions === '' ? undefined : between(conditions, '[', ']'),
      before: second === undefined ? undefined : first,
      lost: lost.trim(),
    }
  })
}

/** What `/\((.*)\)/` finds, without trying every bracket again: from the first one to the last. */
function between(text: string, open: string, close: string): string | undefined {
  for (const line of text.split(/[\n\r\u2028\u2029]/)) {
    const from = line.indexOf(open)
    const to = line.lastIndexOf(close)
    if (from >= 0 && to > from) return line.slice(from + 1, to)
  }
  return undefined
}

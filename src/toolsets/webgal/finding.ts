import { messages, type Code } from './messages.ts'
import type { Message } from './messages/message.ts'

/** Something that was found, before it is put into words. */
export interface Finding {
  line: number
  code: Code
  /** What the words are about. */
  about?: Readonly<Record<string, string | number>>
  /** Where on the line, for editors: counted from the first character. */
  at?: { column: number; endColumn: number }
}

export interface Diagnostic {
  line: number
  kind: Message['kind']
  message: string
  fixHint?: string
  severity: Message['severity']
  code: string
  column?: number
  endColumn?: number
}

export type Counts = Record<Message['severity'], number>

export interface Findings<T> {
  add(finding: T): void
  readonly counts: Readonly<Counts>
  /** The gravest that are kept, in the order they came within one severity. */
  kept(): T[]
}

/** Findings as they come: all are counted, and of each severity the first are kept, so that a game full of them fills nothing. */
export function openFindings<T>(codeOf: (finding: T) => Code, most: number): Findings<T> {
  const kept: Record<Message['severity'], T[]> = { error: [], warning: [], info: [] }
  const counts: Counts = { error: 0, warning: 0, info: 0 }
  return {
    add(finding) {
      const { severity }: Message = messages[codeOf(finding)]
      if (counts[severity]++ < most) kept[severity].push(finding)
    },
    counts,
    kept: () => [...kept.error, ...kept.warning, ...kept.info].slice(0, most),
  }
}

export function inWords({ line, code, about = {}, at }: Finding, lang: 'ZH' | 'EN'): Diagnostic {
  const { kind, severity, fix, ...words }: Message = messages[code]
  return {
    line,
    kind,
    message: fill(words[lang], about),
    ...(fix && { fixHint: fill(fix[lang], about) }),
    severity,
    code,
    ...at,
  }
}

function fill(text: string, about: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(about, name) ? shown(String(about[name])) : whole))
}

function shown(text: string): string {
  return short(text, 120)
}

/** What others wrote, no longer than is worth showing. */
export function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

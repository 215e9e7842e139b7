import { messages, type Code, type Message } from './messages.ts'

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
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

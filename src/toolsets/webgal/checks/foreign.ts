import type { Finding } from '../finding.ts'

const control = /^(?:(?:if|elif|else if|while|for|switch|function)\b.*[({:]|\}?\s*else\s*(?:\{|:|if\b.*[({].*)?|[{}]+)$/

interface Foreign {
  shape: RegExp
  instead: string
  /** Words of a person could look the same. */
  perhaps?: true
}

/** Lines of other engines' languages, as models write them: what they are in WebGAL. */
const foreign: readonly Foreign[] = [
  { shape: /^"[^"]*"\s*->\s*\S+$/, instead: 'choose:<text>:<target>|<text>:<target>' },
  { shape: /^[A-Za-z_]\w*\s+"[^"]*"$/, instead: '<speaker>:<text>' },
  { shape: /^[A-Za-z_]\w*\s*:\s*[\w./-]+\.(?:png|jpe?g|webp)\s+"[^"]*"$/, instead: '<speaker>:<text>' },
  { shape: /^\$\s*\w+\s*[+-]?=/, instead: 'setVar:<name>=<value>' },
  { shape: /^(?:play|queue)\s+(?:music|sound|voice|bgm)\b/i, instead: 'bgm:<file>' },
  { shape: /^stop\s+(?:music|sound|voice|bgm)$/i, instead: 'bgm:none' },
  { shape: /^@\w+\s+\w+=/, instead: '<command>:<content> -<argument>=<value>' },
  { shape: /^\[[A-Za-z]\w*\s+[^\]]*=[^\]]*\]$/, instead: '<command>:<content> -<argument>=<value>' },
  { shape: /^(?:let|var|const)\s+\w+\s*=/, instead: 'setVar:<name>=<value>' },
  { shape: /^(?:show|hide)\s+[a-z_]\w*(?:\s+(?:at\s+)?[a-z_]\w*){0,3}$/, instead: 'changeFigure:<file>', perhaps: true },
  { shape: /^scene\s+[a-z_]\w*(?:\s+[a-z_]\w*){0,3}$/, instead: 'changeBg:<file>', perhaps: true },
  { shape: /^(?:jump|goto)\s+[A-Za-z_]\w*$/, instead: 'jumpLabel:<label>', perhaps: true },
  { shape: /^call\s+[a-z]\w*_\w+$/, instead: 'callScene:<file>', perhaps: true },
]

/** Written for another engine, or for none: the line is shown as it is. */
export function foreignSyntax(text: string, line: number): Finding | undefined {
  if (control.test(text)) return { line, code: 'not-webgal', about: { head: text } }
  const found = foreign.find(({ shape }) => shape.test(text))
  return found && { line, code: found.perhaps ? 'perhaps-foreign' : 'foreign-syntax', about: { text, instead: found.instead } }
}

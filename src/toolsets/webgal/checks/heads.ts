import type { Finding } from '../finding.ts'
import { commands, mistaken } from '../grammar/commands.ts'
import type { CommandNames, Statement } from '../grammar/parse.ts'
import { nearest, type Patience } from '../../../text/nearest.ts'

/** A file the engine could load, by its name. */
const fileName = /\.(?:png|jpe?g|webp|avif|gif|bmp|svg|mp4|webm|mkv|mp3|ogg|wav|m4a|flac|json|jsonl|skel|txt)(?:\?.*)?$/i
/** A longer text is no name of a file, and no line of another language. */
const longestName = 1_024
const isFileName = (text: string): boolean => text.length <= longestName && fileName.test(text)
const word = /^[A-Za-z]+$/
const camel = /^[a-z]+[A-Z]/
/** Commands that are also words a person may speak, or names somebody may have. */
const words = new Set(['say', 'end', 'wait', 'label', 'choose', 'intro', 'return', 'bgm'])
const control = /^(?:(?:if|elif|else if|while|for|switch|function)\b.*[({]|\}?\s*else\s*(?:\{|if\b.*[({].*)?|[{}]+)$/

/** What says that a line of dialogue was surely meant as something else. */
export const misread: ReadonlySet<Finding['code']> = new Set([
  'spaced-command',
  'miscased-command',
  'misspelt-command',
  'unknown-command',
  'obsolete-command',
  'invented-command',
  'missing-colon',
  'fullwidth-colon',
  'bare-command-with-more',
  'not-a-comment',
  'not-webgal',
])

/** Dialogue that was surely, or perhaps, meant as a command: the engine never says so. */
export function checkHead(
  statement: Statement,
  names: CommandNames,
  lowered: ReadonlyMap<string, string>,
  patience: Patience,
): Finding | undefined {
  return statement.hasColon ? checkNamed(statement, names, lowered, patience) : checkBare(statement, names, lowered)
}

function checkNamed(
  statement: Statement,
  names: CommandNames,
  lowered: ReadonlyMap<string, string>,
  patience: Patience,
): Finding | undefined {
  const { head, line, content } = statement
  // Most speakers have names that no command could have.
  if (head === '' || head === 'say' || head.charCodeAt(0) > 0x2e7f) return undefined
  const trimmed = head.trim()
  const found = (code: Finding['code'], about: Record<string, string>): Finding => ({
    line,
    code,
    about: { head: trimmed, ...about },
  })
  if (names.has(trimmed)) return found('spaced-command', { head, command: trimmed })
  if (Object.hasOwn(mistaken, trimmed) && !names.has(trimmed)) {
    const { instead, obsolete } = mistaken[trimmed] as (typeof mistaken)[string]
    if (trimmed === 'background' && !isFileName(content)) return undefined
    return found(obsolete ? 'obsolete-command' : 'invented-command', { instead })
  }
  if (/^(?:\/\/|#\s)/.test(trimmed)) return { line, code: 'not-a-comment', about: { sign: trimmed.slice(0, 2).trim() } }
  if (!word.test(trimmed)) return undefined
  const command = lowered.get(trimmed.toLowerCase())
  if (command !== undefined)
    return found(words.has(command) && !fitsCommand(command, statement) ? 'like-a-command' : 'miscased-command', { command })
  const used = looksUsed(statement)
  if (!used && !camel.test(trimmed)) return undefined
  const near = trimmed.length >= 4 ? nearest(trimmed, names, trimmed.length > 6 ? 2 : 1, patience) : undefined
  if (near !== undefined) return found('misspelt-command', { command: near })
  return found(used ? 'unknown-command' : 'perhaps-a-command', {})
}

function checkBare(
  { head: body, line }: Statement,
  names: CommandNames,
  lowered: ReadonlyMap<string, string>,
): Finding | undefined {
  const trimmed = body.trim()
  const found = (code: Finding['code'], about: Record<string, string>): Finding => ({
    line,
    code,
    about: { head: trimmed, ...about },
  })
  if (names.has(trimmed)) return found('spaced-command', { head: body, command: trimmed })
  if (trimmed.startsWith('//') || /^#\s/.test(trimmed)) return found('not-a-comment', { sign: trimmed.slice(0, 2).trim() })
  if (trimmed.length <= longestName && control.test(trimmed)) return found('not-webgal', {})
  const first = /^[A-Za-z]+/.exec(trimmed)?.[0]
  if (first === undefined) return undefined
  const rest = trimmed.slice(first.length)
  const command = names.has(first) ? first : undefined
  if (rest === '') {
    const same = lowered.get(first.toLowerCase())
    const alone = same !== undefined && commands[same]?.content.is === 'nothing'
    return alone ? found(words.has(same) ? 'like-a-command' : 'miscased-command', { command: same }) : undefined
  }
  if (command === undefined) return undefined
  if (rest.startsWith('：')) return found('fullwidth-colon', { command })
  if (!/^\s/.test(rest)) return undefined
  if (commands[command]?.content.is === 'nothing')
    return /^\s+-/.test(rest) ? found('bare-command-with-more', { command }) : undefined
  const sure =
    camel.test(command) || isFileName(rest.split(' -', 1)[0]?.trim() ?? '') || (command === 'wait' && /^\s+\d+$/.test(rest))
  return sure ? found('missing-colon', { command }) : undefined
}

/** What follows is what this command takes, and not what a person would say. */
function fitsCommand(command: string, { content }: Statement): boolean {
  const { is } = commands[command]?.content ?? { is: 'text' }
  if (is === 'file') return isFileName(content) || content === 'none'
  if (is === 'number') return /^\d+$/.test(content)
  if (is === 'choices') return content.includes('|') || content.includes(':')
  return is === 'nothing' ? content === '' : command === 'say' || (is === 'label' && /^\w+$/.test(content))
}

/** A file or JSON where words should be. */
function looksUsed({ content }: Statement): boolean {
  if (content.includes(' ')) return /^[{[]".*[}\]]$/.test(content)
  return isFileName(content) || /^[{[]".*[}\]]$/.test(content)
}

import type { Finding } from '../finding.ts'
import { commands } from '../grammar/commands.ts'
import { alsoWords, mistaken, replaced } from '../grammar/mistaken.ts'
import { bodyOf, type Statement } from '../grammar/parse.ts'
import { everKnown } from '../language.ts'
import { nearest } from '../../../text/nearest.ts'
import { foreignSyntax } from './foreign.ts'
import type { SceneContext } from './scene-context.ts'

/** A file the engine could load, by its name. */
const fileName = /\.(?:png|jpe?g|webp|avif|gif|bmp|svg|mp4|webm|mkv|mp3|ogg|wav|opus|m4a|flac|json|jsonl|skel|txt)(?:\?.*)?$/i
/** A longer text is no name of a file, and no line of another language. */
const longestName = 1_024
const isFileName = (text: string): boolean => text.length <= longestName && fileName.test(text)
const word = /^[A-Za-z]+$/
const camel = /^[a-z]+[A-Z]/
/** Commands that are also words a person may speak, or names somebody may have. */
const words = new Set(['say', 'end', 'wait', 'label', 'choose', 'intro', 'return', 'bgm'])

/** What says that a line of dialogue was surely meant as something else. */
export const misread: ReadonlySet<Finding['code']> = new Set([
  'spaced-command',
  'miscased-command',
  'misspelt-command',
  'unknown-command',
  'obsolete-command',
  'command-needs-engine',
  'continued-line-needs-engine',
  'invented-command',
  'missing-colon',
  'fullwidth-colon',
  'bare-command-with-more',
  'not-a-comment',
  'not-webgal',
  'foreign-syntax',
])

const lowerMistaken = new Map(Object.keys(mistaken).map((name) => [name.toLowerCase(), name]))

/** Dialogue that was surely, or perhaps, meant as a command: the engine never says so. */
export function checkHead(statement: Statement, scene: SceneContext): Finding | undefined {
  return statement.hasColon ? checkNamed(statement, scene) : checkBare(statement, scene)
}

type Found = (code: Finding['code'], about: Record<string, string>) => Finding

const finder =
  (line: number, head: string): Found =>
  (code, about) => ({ line, code, about: { head, ...about } })

function checkNamed(statement: Statement, scene: SceneContext): Finding | undefined {
  const { head, line, content, text } = statement
  const { names, lowered, version } = scene.language
  // Most speakers have names that no command could have.
  if (head === '' || head === 'say' || head.charCodeAt(0) > 0x2e7f) return undefined
  // The first colon of such a line stands somewhere within its words.
  if (text.includes('"') && text.length <= longestName) {
    const foreign = foreignSyntax(bodyOf(text).trim(), line)
    if (foreign?.code === 'foreign-syntax') return foreign
  }
  const plain = plainNames(scene)
  const used = looksUsed(statement)
  if (!used && plain.has(head)) return undefined
  const trimmed = head.trim()
  const found = finder(line, trimmed)
  if (names.has(trimmed)) return found('spaced-command', { head, command: trimmed })
  const other = otherVersion(trimmed, version, found)
  if (other) return other
  const wrong = Object.hasOwn(mistaken, trimmed) ? trimmed : lowerMistaken.get(trimmed)
  if (wrong !== undefined) {
    const isMeant = content === '' || isFileName(content) || (jumps.has(trimmed) && looksLikeLabel(content, scene))
    if (alsoWords.has(trimmed) && !isMeant) return undefined
    return found('invented-command', { instead: mistaken[wrong]?.instead ?? '' })
  }
  if (/^(?:\/\/|#\s)/.test(trimmed)) return { line, code: 'not-a-comment', about: { sign: trimmed.slice(0, 2).trim() } }
  const split = /^[A-Za-z]+ [A-Za-z ]+$/.test(trimmed) ? lowered.get(trimmed.replaceAll(' ', '').toLowerCase()) : undefined
  if (split !== undefined && camel.test(split)) return found('spaced-command', { head, command: split })
  if (!word.test(trimmed)) return forgottenColon(statement, scene)
  const command = lowered.get(trimmed.toLowerCase())
  if (command !== undefined)
    return found(words.has(command) && !fitsCommand(command, statement) ? 'like-a-command' : 'miscased-command', { command })
  const near =
    trimmed.length >= 4 && (used || camel.test(trimmed) || trimmed.length >= 5) ? nearestCommand(trimmed, scene) : undefined
  if (
    near !== undefined &&
    (used ||
      camel.test(trimmed) ||
      (camel.test(near) && fitsCommand(near, statement)) ||
      (near === 'choose' && content.includes('|')))
  )
    return found('misspelt-command', { command: near })
  if (!used && !camel.test(trimmed)) {
    if (near === undefined && plain.size < mostKnown) plain.add(head)
    return undefined
  }
  return found(used ? 'unknown-command' : 'perhaps-a-command', {})
}

const jumps = new Set(['jump', 'goto'])

/** A label of this scene, or a name as only labels have. */
const looksLikeLabel = (content: string, { labels }: SceneContext): boolean =>
  labels.has(content) || /^[A-Za-z]\w*_\w+$/.test(content)

/** Names that are nothing but names as long as words follow them. */
const plainKnown = new WeakMap<SceneContext['language'], Set<string>>()

function plainNames({ language }: SceneContext): Set<string> {
  const known = plainKnown.get(language) ?? new Set<string>()
  plainKnown.set(language, known)
  return known
}

/** One speaker has many lines: what a name is nearly is looked for once. */
const nearestKnown = new WeakMap<SceneContext['language'], Map<string, string | undefined>>()
const mostKnown = 10_000

function nearestCommand(name: string, { language, game }: SceneContext): string | undefined {
  const known = nearestKnown.get(language) ?? new Map<string, string | undefined>()
  nearestKnown.set(language, known)
  if (known.has(name)) return known.get(name)
  const near = nearest(name, language.names, name.length > 6 ? 2 : 1, game.patience)
  if (known.size < mostKnown) known.set(name, near)
  return near
}

/** A command of other versions of the engine than this one. */
function otherVersion(head: string, version: string | undefined, found: Found): Finding | undefined {
  const row = everKnown(head)
  if (!row) return undefined
  if (row.since !== undefined && version !== undefined) return found('command-needs-engine', { since: row.since, version })
  return row.until === undefined
    ? undefined
    : found('obsolete-command', { until: row.until, version: version ?? '?', instead: replaced[head] ?? '' })
}

/** `choose A:x.txt`: the first colon of the line is not the command's. */
function forgottenColon({ head, line, content }: Statement, { language }: SceneContext): Finding | undefined {
  const command = /^([A-Za-z]+)\s+\S/.exec(head)?.[1]
  if (command === undefined || !language.names.has(command)) return undefined
  const sure = camel.test(command) || (command === 'choose' && (content.includes('|') || isFileName(content)))
  return sure ? finder(line, command)('missing-colon', { command }) : undefined
}

function checkBare(statement: Statement, scene: SceneContext): Finding | undefined {
  const { head: body, line } = statement
  const { names, lowered, version } = scene.language
  const trimmed = body.trim()
  const found = finder(line, trimmed)
  if (names.has(trimmed)) return found('spaced-command', { head: body, command: trimmed })
  if (trimmed.startsWith('//') || /^#\s/.test(trimmed)) return found('not-a-comment', { sign: trimmed.slice(0, 2).trim() })
  if (trimmed.length > longestName) return undefined
  const foreign = foreignSyntax(trimmed, line)
  if (foreign) return foreign
  const first = /^[A-Za-z]+/.exec(trimmed)?.[0]
  if (first === undefined) return undefined
  const rest = trimmed.slice(first.length)
  if (rest === '') {
    const other = camel.test(first) || first === 'return' ? otherVersion(first, version, found) : undefined
    if (other) return other
    const wrong = lowerMistaken.get(first.toLowerCase())
    if (wrong !== undefined && !alsoWords.has(first.toLowerCase()) && first.length > 4)
      return found('invented-command', { instead: mistaken[wrong]?.instead ?? '' })
    const same = lowered.get(first.toLowerCase())
    const alone = same !== undefined && commands[same]?.content.is === 'nothing'
    return alone
      ? found(words.has(same) ? 'like-a-command' : 'miscased-command', { command: same })
      : nearlyAlone(first, found, scene)
  }
  const command = names.has(first) ? first : undefined
  if (command === undefined) return undefined
  if (rest.startsWith('：')) return found('fullwidth-colon', { command })
  if (!/^\s/.test(rest)) return undefined
  if (commands[command]?.content.is === 'nothing')
    return /^\s+-/.test(rest) ? found('bare-command-with-more', { command }) : undefined
  return isSurely(command, rest) ? found('missing-colon', { command }) : undefined
}

/** `pixiInti;`: what stands alone and is nearly a command that does. */
function nearlyAlone(first: string, found: Found, { game }: SceneContext): Finding | undefined {
  if (!camel.test(first) || first.length < 6) return undefined
  const alone = Object.keys(commands).filter((name) => commands[name]?.content.is === 'nothing')
  const near = nearest(first, alone, 2, game.patience)
  return near === undefined ? undefined : found('misspelt-command', { command: near })
}

/** A command without its colon, told from words somebody says by what follows. */
function isSurely(command: string, rest: string): boolean {
  const said = rest.split(' -', 1)[0]?.trim() ?? ''
  if (camel.test(command) || isFileName(said)) return true
  if (command === 'wait') return /^\d+$/.test(said)
  if (command === 'label') return /^[\w\u4e00-\u9fff]+$/.test(said)
  if (command === 'bgm') return said === 'none'
  if (command === 'return') return /^\s+-when=/.test(rest)
  return (command === 'choose' || command === 'intro') && said.includes('|')
}

/** What follows is what this command takes, and not what a person would say. */
function fitsCommand(command: string, { content }: Statement): boolean {
  const { is } = commands[command]?.content ?? { is: 'text' }
  if (is === 'file') return isFileName(content) || content === 'none'
  if (is === 'number') return /^\d+$/.test(content)
  if (is === 'choices') return content.includes('|') || content.includes(':')
  if (is === 'assignment') return /^[\p{L}_][\p{L}\p{N}_]*\s*=/u.test(content)
  if (is === 'transform' || is === 'frames') return /^[{[]/.test(content)
  return is === 'nothing'
    ? content === ''
    : command === 'say' || ((is === 'label' || is === 'target label') && /^\w+$/.test(content))
}

/** A file or JSON where words should be. */
function looksUsed({ content }: Statement): boolean {
  // Every line of dialogue comes here: most are told by their first letter.
  if ((content.startsWith('{"') || content.startsWith('["')) && /^.*[}\]]$/.test(content)) return true
  return !content.includes(' ') && isFileName(content)
}

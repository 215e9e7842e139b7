import type { Statement } from '../grammar/parse.ts'
import { isContinuation } from '../grammar/fold.ts'
import { featureSince } from '../grammar/commands.ts'
import type { SceneContext } from './scene-context.ts'
import { lazy } from '../../../text/lazy.ts'

/** Dialogue of which a part is lost, or shown where it should not be. */
export function checkProse(statement: Statement, scene: SceneContext): void {
  const { line, comment, head, text } = statement
  if (comment !== '' && isProse(statement)) scene.add({ line, code: 'text-after-semicolon', about: { text: comment } })
  const colon = head.indexOf('：')
  // The name of a speaker is short and is no sentence.
  const name = colon > 0 && colon <= 20 ? head.slice(0, colon).trim() : ''
  if (name !== '' && !/[\s，。！？、,.!?；;“”"]/.test(name)) scene.ask({ line, about: 'speaker', name })
  if (text.length > 0) checkContinued(statement, scene)
}

/** `changeBg:a.png; bgm:b.mp3;`: a second command on the line is a comment. What is only a word of somebody's note is not told. */
export function checkAfter({ line, comment }: Statement, { language, add }: SceneContext): void {
  const [, command = '', rest = ''] = /^([A-Za-z]+):(.*)$/.exec(comment) ?? []
  if (!language.names.has(command)) return
  const isMeant = /[A-Z]/.test(command) || /^\S+\.\w{2,5}(?: -|$)/.test(rest) || (command === 'choose' && rest.includes(':'))
  if (isMeant) add({ line, code: 'command-after-semicolon', about: { command } })
}

const signs = lazy(() => /^[^\p{L}\p{N}]*$/u)

/** Words that go on after a semicolon, told from a note to oneself: they end like a sentence, or in a semicolon of their own. */
function isProse({ text, comment }: Statement): boolean {
  if (signs().test(comment) || /^\s*(?:\/\/|#|;|--|\*|（|\()/.test(comment)) return false
  const whole = text.trimEnd()
  const at = whole.search(/(?<!\\);/)
  const [before, after] = [whole[at - 1] ?? '', whole.slice(at + 1)]
  if (/[.!?。！？…”"」』～~]$/.test(comment) && !/^(?:todo|fixme|note)\b/i.test(comment)) return true
  if (whole.endsWith(';') && after.length > 1) return true
  return /[a-z,]/i.test(before) && /^ (?:[a-z]|I\b)/.test(after) && comment.includes(' ')
}

/** Engines that read every line for itself show what was meant as the rest of the line above. */
function checkContinued({ line, text }: Statement, { language: { continues, version }, add }: SceneContext): void {
  if (continues || version === undefined) return
  const about = { since: featureSince.continuedLines, version }
  if (line > 1 && isContinuation(text))
    add({ line, code: text.trimStart().startsWith('-') ? 'continued-line-needs-engine' : 'perhaps-continued-line', about })
  else if (text.endsWith('\\')) add({ line, code: 'perhaps-continued-line', about })
}

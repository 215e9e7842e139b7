import { userInfo } from 'node:os'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { Question } from '../../contracts/question.ts'
import { isAnswerTo } from '../../text/is-answer-to.ts'
import { pollWithBackoff } from '../../text/poll-with-backoff.ts'
import { answerTo } from './confirm.ts'
import { ago, bold, dim, oneLine, printable, printableInline } from './print.ts'
import { columns, quotedBlock } from './screen-rows.ts'
import { shortId } from './whole-id.ts'

/** A question in words as a person reads it at the terminal. The words are an agent's: they stand behind a bar. */
export function describeQuestion({ id, client, text, options, askedAt, answer }: Question): string {
  const lines = [...text.split('\n'), ...options.map((option, at) => `${at + 1}. ${option}`)].map(printableInline)
  return [
    `${bold(shortId(id))} ${oneLine(client, 60)}, ${ago(askedAt)}${answer === undefined ? '' : dim(' (answered)')}`,
    quotedBlock(lines, '| ', columns()),
    ...(answer === undefined ? [] : [`→ ${oneLine(answer, 500)}`]),
  ].join('\n')
}

/** What is typed, unless somebody answers in another place meanwhile. */
export async function typedAnswer(runtime: Operator, { id }: Question, prompt: string): Promise<string> {
  const elsewhere = new AbortController()
  const look = (): boolean => {
    if (runtime.questions.get(id)?.answer !== undefined) elsewhere.abort()
    return elsewhere.signal.aborted
  }
  let stopLooking = (): void => undefined
  const stop = runtime.audit.subscribe({ events: (event) => event === 'question.answered' }, (lines) => {
    if (!lines.some((line) => isAnswerTo(id, line))) return
    stopLooking()
    stopLooking = pollWithBackoff(look)
  })
  try {
    look()
    const typed = elsewhere.signal.aborted ? '' : await answerTo(prompt, elsewhere.signal)
    if (!elsewhere.signal.aborted) return typed
    const { answer = '', answeredBy = '' } = runtime.questions.get(id) ?? {}
    throw new Fault('conflict', `Answered in another place, by ${printable(answeredBy)}: ${oneLine(answer, 200)}`, {
      hint: '`handrail questions list --all` shows the answers.',
    })
  } finally {
    stop()
    stopLooking()
  }
}

/** Gives what was typed as the answer: the number of one that was offered stands for it. */
export function answerQuestion(runtime: Operator, { id, options }: Question, typed: string): Question {
  const text = typed.trim()
  const picked = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined
  if (text === '') throw new Fault('bad-input', 'An answer has words', { hint: 'Nothing was answered. Ask again when you know.' })
  return runtime.questions.answer(id, picked ?? text, `${userInfo().username}@cli`)
}

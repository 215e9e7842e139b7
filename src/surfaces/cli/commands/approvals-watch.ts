import { userInfo } from 'node:os'
import type { Approval, ApprovalHead } from '../../../contracts/approval.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Question } from '../../../contracts/question.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { describeApproval } from '../card.ts'
import { callPerson, callToQuestion } from '../call-person.ts'
import { answerTo } from '../confirm.ts'
import { Interrupted } from '../interrupted.ts'
import { dim, green, oneLine, printable, red, say, warn, yellow } from '../print.ts'
import { answerQuestion, describeQuestion, typedAnswer } from '../question.ts'
import { folded } from '../screen-rows.ts'

const mostWaiting = 500

/** Who answers here is told so; a program that reads this gets a line for each question and answers none. */
const prompt = 'y yes · n no · s later · q quit; words after y or n go to the agent: '
/** Any word may be an answer: none of them quits. */
const wordsPrompt = 'Your answer, or Enter for later; it allows nothing: '

/**
 * Shows each question as it comes, also those in words, and takes its answer in place, until it is told to stop. What is answered elsewhere
 * meanwhile goes off the screen's prompt at once. What waits for a yes comes first: no number of questions in words keeps it from the person.
 */
export async function watchApprovals(
  runtime: Operator,
  json: boolean,
  notify?: (title: string, body: string) => void,
): Promise<number> {
  const answersHere = !json && process.stdin.isTTY === true && process.stdout.isTTY === true
  const seen = new Set<string>()
  let wake: (() => void) | undefined
  let stopped = false
  const stop = (): void => {
    stopped = true
    wake?.()
  }
  const heard = runtime.audit.subscribe(
    { events: (event) => /^(?:approval|question)\./.test(event), onLost: () => wake?.(), onEnd: stop },
    () => wake?.(),
  )
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  // Following alone keeps no process alive.
  const staying = setInterval(() => undefined, 2 ** 31 - 1)
  try {
    if (!json) say(dim('Waiting for questions. Ctrl-C ends it.'))
    while (!stopped) {
      const news = new Promise<void>((resolve) => (wake = resolve))
      const next = waiting(runtime).find(({ id }) => !seen.has(id)) ?? runtime.questions.list().find(({ id }) => !seen.has(id))
      if (!next) {
        await news
        continue
      }
      seen.add(next.id)
      if (json) say(terminalJson(next))
      else if (!('card' in next)) {
        callToQuestion(runtime, next, notify)
        say(`\n${describeQuestion(next)}\n`)
        if (answersHere) await answerWords(runtime, next)
      } else {
        const approval = runtime.approvals.get(next.id)
        if (!approval) continue
        callPerson(runtime, next, notify)
        say(`\n${describeApproval(approval)}`)
        if (answersHere && (await answerHere(runtime, approval)) === 'quit') return 0
      }
    }
    return 0
  } catch (thrown) {
    if (thrown instanceof Interrupted) return 130
    throw thrown
  } finally {
    clearInterval(staying)
    process.removeListener('SIGINT', stop)
    process.removeListener('SIGTERM', stop)
    heard()
  }
}

/** The oldest first. */
const waiting = (runtime: Operator): ApprovalHead[] => runtime.approvals.list('pending', { limit: mostWaiting }).toReversed()

async function answerHere(runtime: Operator, approval: Approval): Promise<'quit' | void> {
  const { id, card } = approval
  say()
  const shownAt = performance.now()
  const elsewhere = new AbortController()
  const stop = runtime.audit.subscribe({ events: (event) => event.startsWith('approval.') }, () => {
    if (runtime.approvals.state(id) !== 'pending') elsewhere.abort()
  })
  const others = waiting(runtime).length - 1
  try {
    for (;;) {
      if (runtime.approvals.state(id) !== 'pending') return sayElsewhere(runtime, id)
      const typed = (await answerTo(`${others > 0 ? `[${others} more] ` : ''}${prompt}`, elsewhere.signal)).trim()
      if (elsewhere.signal.aborted) return sayElsewhere(runtime, id)
      const { verdict, note } = readAnswer(typed, performance.now() - shownAt)
      if (verdict === 'too quick') warn(yellow('That was typed before this question could be read. Answer it again.'))
      if (verdict === 'quit') return 'quit'
      if (verdict === 'later') return say(dim(`Left open: handrail approvals show ${id}`))
      if (verdict === undefined || verdict === 'too quick') continue
      if (verdict === 'yes' && !approval.whole) {
        warn(yellow(`Not all of it was shown. Read it with: handrail approvals show ${id} --full`))
        continue
      }
      runtime.approvals.decide(id, {
        approve: verdict === 'yes',
        by: `${userInfo().username}@cli`,
        ...(note !== '' && { note }),
      })
      return say(folded(`${verdict === 'yes' ? green('Approved') : red('Denied')}: ${oneLine(card.title, 80)}`))
    }
  } catch (thrown) {
    // Somebody was faster by a blink.
    if (thrown instanceof Fault && thrown.reason === 'conflict') return sayElsewhere(runtime, id)
    throw thrown
  } finally {
    stop()
  }
}

function sayElsewhere(runtime: Operator, id: string): void {
  const { state = 'gone', decidedBy } = runtime.approvals.get(id) ?? {}
  warn(dim(`\nAlready ${state}${decidedBy === undefined ? '' : ` by ${printable(decidedBy)}`}.`))
}

const verdicts = { y: 'yes', yes: 'yes', n: 'no', no: 'no', s: 'later', q: 'quit', quit: 'quit' } as const

/** Less than anybody reads in: a yes that comes so soon was meant for what stood here before. */
const tooQuickMs = 700

/** `n use the test script`: the answer, and the words that go with it. */
export function readAnswer(
  typed: string,
  afterMs = Number.POSITIVE_INFINITY,
): { verdict: 'yes' | 'no' | 'later' | 'quit' | 'too quick' | undefined; note: string } {
  const [, word = '', note = ''] = /^(\S+)\s*(.*)$/s.exec(typed) ?? []
  const key = word.toLowerCase()
  const verdict = Object.hasOwn(verdicts, key) ? verdicts[key as keyof typeof verdicts] : undefined
  return { verdict: verdict === 'yes' && afterMs < tooQuickMs ? 'too quick' : verdict, note: note.trim() }
}

async function answerWords(runtime: Operator, question: Question): Promise<void> {
  try {
    const typed = await typedAnswer(runtime, question, wordsPrompt)
    if (typed.trim() === '') return say(dim(`Left open: handrail questions answer ${question.id}`))
    say(`${green('Answered')}: ${oneLine(answerQuestion(runtime, question, typed).answer ?? '', 200)}`)
  } catch (thrown) {
    // In another place, meanwhile or by a blink.
    if (!(thrown instanceof Fault) || thrown.reason !== 'conflict') throw thrown
    warn(dim(`\n${printable(thrown.message)}`))
  }
}

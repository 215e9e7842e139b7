import { userInfo } from 'node:os'
import type { Approval, ApprovalHead } from '../../../contracts/approval.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { describeApproval } from '../card.ts'
import { callPerson } from '../call-person.ts'
import { answerTo } from '../confirm.ts'
import { Interrupted } from '../interrupted.ts'
import { dim, green, oneLine, printable, red, say, warn, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'

const mostWaiting = 500

/** Who answers here is told so; a program that reads this gets a line for each question and answers none. */
const prompt = 'y yes · n no · s later · q quit; words after y or n go to the agent: '

/**
 * Shows each question as it comes and takes its answer in place, until it is told to stop. What is answered elsewhere meanwhile goes off the
 * screen's prompt at once.
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
    { events: (event) => event.startsWith('approval.'), onLost: () => wake?.(), onEnd: stop },
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
      const next = waiting(runtime).find(({ id }) => !seen.has(id))
      if (!next) {
        await news
        continue
      }
      seen.add(next.id)
      const approval = runtime.approvals.get(next.id)
      if (!approval) continue
      if (!json) callPerson(runtime, next, notify)
      if (json) say(terminalJson(next))
      else if (!answersHere) say(`\n${describeApproval(approval)}`)
      else if ((await answerHere(runtime, approval)) === 'quit') return 0
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
  say(`\n${describeApproval(approval)}\n`)
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
      const { verdict, note } = readAnswer(typed)
      if (verdict === 'quit') return 'quit'
      if (verdict === 'later') return say(dim(`Left open: handrail approvals show ${id}`))
      if (verdict === undefined) continue
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

/** `n use the test script`: the answer, and the words that go with it. */
export function readAnswer(typed: string): { verdict: 'yes' | 'no' | 'later' | 'quit' | undefined; note: string } {
  const [, word = '', note = ''] = /^(\S+)\s*(.*)$/s.exec(typed) ?? []
  const key = word.toLowerCase()
  return { verdict: Object.hasOwn(verdicts, key) ? verdicts[key as keyof typeof verdicts] : undefined, note: note.trim() }
}

import { userInfo } from 'node:os'
import type { Agent } from '../../../contracts/agent.ts'
import type { AgentPhase } from '../../../contracts/agent-phase.ts'
import type { AgentCaller } from '../../../contracts/gate.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { TurnEvent } from '../../../contracts/turn.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { describeApproval } from '../card.ts'
import { dim, green, oneLine, printable, printableBlock, red, say, warn, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'

/** How a turn ended, for exit codes. */
export type TurnEnd = 'done' | 'asks' | 'waits' | 'failed' | 'cancelled'

export interface Talk {
  take(text: string, mode: AgentPhase | undefined, signal: AbortSignal): Promise<TurnEnd>
}

export interface TalkParts {
  operator: Operator
  agent: Agent
  caller: AgentCaller
  /** Only the reply goes to stdout: a program reads that. */
  print: boolean
  json: boolean
  /** The person's answer to what is shown; undefined where nobody is at the terminal. */
  ask?: (question: string) => Promise<string | undefined>
  /** Called where a person is needed and nobody is here: whether to wait for an answer given elsewhere. */
  waits: boolean
}

/** Tells a turn at the terminal as it happens. What the model and the tools say is shown as plain text. */
export function openTalk({ operator, agent, caller, print, json, ask, waits }: TalkParts): Talk {
  const aside = print ? (text: string) => warn(text) : say
  return {
    async take(text, mode, signal) {
      const turn = new AbortController()
      const all = AbortSignal.any([signal, turn.signal])
      let end: TurnEnd = 'done'
      let midLine = false
      let questions = Promise.resolve()
      const newLine = (): void => {
        if (midLine) process.stdout.write('\n')
        midLine = false
      }
      const tell = (event: TurnEvent): void => {
        if (json) say(terminalJson(event))
        if (event.type === 'approval') questions = questions.then(() => answer(event.approval))
        if (event.type === 'completed') end = event.asks ? 'asks' : end
        if (event.type === 'failed') end = end === 'waits' ? end : signal.aborted ? 'cancelled' : 'failed'
        if (json) return
        if (event.type === 'delta' && !print) {
          process.stdout.write(printableBlock(event.delta))
          midLine = !event.delta.endsWith('\n')
          streamed += event.delta
          return
        }
        newLine()
        if (event.type === 'step') streamed = ''
        if (event.type === 'tool_call') aside(dim(folded(`· ${event.name} ${oneLine(JSON.stringify(event.input), 200)}`)))
        if (event.type === 'tool_result' && !event.result.ok)
          aside(yellow(folded(`  not done: ${oneLine(event.result.text, 300)}`)))
        if (event.type === 'completed' && (print || !streamed.trim().endsWith(event.reply.trim())))
          say(printableBlock(event.reply))
        if (event.type === 'failed' && end !== 'waits') {
          warn(red(folded(printable(event.error.message))))
          const { hint } = event.error.details ?? {}
          if (typeof hint === 'string') warn(folded(`→ ${printable(hint)}`))
        }
      }
      let streamed = ''
      const answer = async (id: string): Promise<void> => {
        if (!ask) {
          warn(yellow(`Waits for you: handrail approvals show ${id}`))
          if (waits) return
          end = 'waits'
          turn.abort()
          return
        }
        newLine()
        await decide(operator, id, ask)
      }
      await agent.taker.take(
        {
          speaker: { session_id: caller.session, user_id: userInfo().username, channel: 'chat' },
          messages: text === '' ? [] : [{ role: 'user', type: 'message', text }],
          caller,
          ...(mode && { mode }),
        },
        tell,
        all,
      )
      newLine()
      return end
    },
  }
}

/** Shows the card whole, and takes the person's answer. Whatever they say besides goes to the agent. */
async function decide(operator: Operator, id: string, ask: NonNullable<TalkParts['ask']>): Promise<void> {
  const approval = operator.approvals.get(id)
  if (!approval || approval.state !== 'pending') return
  say()
  say(describeApproval(approval))
  const by = `${userInfo().username}@chat`
  const rest = approval.whole ? '' : ', u to agree to what is not shown (handrail approvals show --full shows it)'
  for (;;) {
    const said = await ask(`Agree? y or n, with a remark for the agent if you like${rest}; later to leave it open: `)
    if (said === undefined || said === 'later') return
    const [, word = '', note = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(said) ?? []
    const isUnread = /^u(nread)?$/i.test(word)
    const isYes = isUnread || /^(y(es)?|是|好|同意)$/i.test(word)
    if (!isYes && !/^(n(o)?|否|不|不同意)$/i.test(word)) continue
    if (isYes && !approval.whole && !isUnread) continue
    // Somebody else may have answered meanwhile.
    if (operator.approvals.state(id) !== 'pending') return say('It was answered elsewhere.')
    operator.approvals.decide(id, { approve: isYes, by, ...(isUnread && { unread: true }), ...(note !== '' && { note }) })
    return say(isYes ? green('Agreed.') : red('Refused.'))
  }
}

import { randomBytes } from 'node:crypto'
import type { Agent } from '../../../contracts/agent.ts'
import type { AgentPhase } from '../../../contracts/agent-phase.ts'
import { asFault, Fault, hintFor } from '../../../contracts/faults/fault.ts'
import type { AgentCaller } from '../../../contracts/gate.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { openLines, type Lines } from '../chat/lines.ts'
import { greeting, slash } from '../chat/slash.ts'
import { openTalk, type TurnEnd } from '../chat/talk.ts'
import type { Command } from '../command.ts'
import { piped } from '../piped.ts'
import { bold, dim, printable, say, warn, warnFolded, yellow } from '../print.ts'

/** What scripts go by. */
const exits: Record<TurnEnd, number> = { done: 0, failed: 1, asks: 3, waits: 3, cancelled: 130 }

export const chat: Command = {
  name: 'chat',
  summary: 'Talk to the agent, with your own model, or ask it once',
  usage: 'handrail chat [TEXT] [--print] [--plan] [--continue] [--session ID] [--wait] [--models] --project DIR',
  mostWords: Number.POSITIVE_INFINITY,
  settings: ['provider', 'model', 'base-url', 'budget-cents'],
  about: `The agent works through the same gate as any other: what it does is checked, shown by its effect, undoable and written down.
Set agent.provider and agent.model in your own settings and a key with \`handrail keys set\`; where it sends is shown first, and it sends
nowhere else. Cards are answered in place: y or n, with a remark for the agent if you like. Ctrl-C cancels the turn, twice leaves.
--print asks once and prints the reply alone, for scripts: exit 0 done, 1 failed, 3 a person is needed (it asks, or something waits for
your yes), 130 cancelled. Text can be piped in. A conversation is kept: --continue goes on with the last one, also after a crash.`,
  options: [
    { name: 'print', says: 'Ask once, print the reply, and leave.' },
    { name: 'plan', says: 'Look only, and end in a plan.' },
    { name: 'continue', says: 'Go on with the last conversation, where it was left.' },
    { name: 'session', value: 'ID', says: 'Go on with this one, or give a new one its name.' },
    { name: 'wait', says: 'With --print: wait for your answers, given on the page or with `handrail approvals`.' },
    { name: 'models', says: 'List the models that the endpoint has, and leave.' },
  ],
  examples: [
    'handrail chat --project .',
    'handrail chat --print "write a beach date scene" --project .',
    'git diff | handrail chat --print "what does this change?" --project .',
    'handrail chat --continue --project .',
  ],
  async run({ words, options, json, openLive }) {
    const operator = openLive()
    try {
      const agent = await operator.agent()
      if (options['models'] === true) {
        for (const name of await agent.models(new AbortController().signal)) say(json ? terminalJson(name) : printable(name))
        return 0
      }
      const session = sessionFor(options, agent)
      const print = options['print'] === true || json || process.stdin.isTTY !== true || process.stdout.isTTY !== true
      const asked = words.join(' ').trim()
      const mode: AgentPhase | undefined = options['plan'] === true ? 'plan' : undefined
      if (!print) return await interactive(operator, agent, session, asked, mode)
      const given = process.stdin.isTTY === true ? '' : (await piped()).trim()
      const text = [asked, given].filter((part) => part !== '').join('\n\n')
      if (text === '' && options['continue'] !== true)
        throw new Fault('bad-input', 'Nothing was asked', { hint: 'handrail chat --print TEXT, or pipe the text in.' })
      return await once(operator, agent, session, text, mode, { json, waits: options['wait'] === true })
    } finally {
      await operator.close()
    }
  },
}

function sessionFor(options: Record<string, string | boolean | undefined>, agent: Agent): string {
  const named = options['session']
  if (typeof named === 'string') {
    if (!/^[\w.-]{1,64}$/.test(named)) throw new Fault('bad-input', 'A name has up to 64 letters, digits, dots and hyphens')
    return named
  }
  const last =
    options['continue'] === true ? agent.sessions.list(50).find(({ session }) => session.startsWith('chat_')) : undefined
  if (options['continue'] === true && !last)
    throw new Fault('not-found', 'There is no conversation to go on with', { hint: 'Begin one: `handrail chat`.' })
  return last?.session ?? newSession()
}

const newSession = (): string => `chat_${randomBytes(8).toString('hex')}`

function callerFor(operator: Operator, session: string): AgentCaller {
  const client = `handrail-chat ${operator.version}`
  operator.gate.openSession({ id: session, surface: 'cli', client })
  return { surface: 'cli', client, session, role: 'agent' }
}

/** Where requests go, before the first one. */
async function showModel(agent: Agent, tell: (text: string) => void): Promise<void> {
  try {
    const about = await agent.about()
    tell(
      about
        ? `Model: ${about.name} at ${about.endpoint}`
        : 'No model: rules and skills only. `handrail chat --help` says how to get one.',
    )
  } catch (thrown) {
    const fault = asFault(thrown)
    const hint = hintFor(fault, (tool) => tool)
    tell(`The model cannot be used: ${printable(fault.message)}${hint === undefined ? '' : ` → ${printable(hint)}`}`)
  }
}

async function once(
  operator: Operator,
  agent: Agent,
  session: string,
  text: string,
  mode: AgentPhase | undefined,
  { json, waits }: { json: boolean; waits: boolean },
): Promise<number> {
  await showModel(agent, (line) => warnFolded(line))
  const gone = new AbortController()
  const stop = (): void => gone.abort()
  process.once('SIGINT', stop)
  try {
    const talk = openTalk({ operator, agent, caller: callerFor(operator, session), print: true, json, waits })
    const end = await talk.take(text, mode, gone.signal)
    if (end === 'asks' || end === 'waits') warn(dim(`Go on with: handrail chat --session ${session}`))
    return exits[end]
  } finally {
    process.removeListener('SIGINT', stop)
  }
}

async function interactive(
  operator: Operator,
  agent: Agent,
  first: string,
  asked: string,
  mode: AgentPhase | undefined,
): Promise<number> {
  let session = first
  const before = agent.sessions.load(session)
  const said = (before?.messages ?? []).flatMap((one) => (one.role === 'user' ? [one.text] : []))
  const lines = openLines(said.filter((text) => text.length < 500 && !text.includes('\n')))
  say(greeting())
  await showModel(agent, (line) => say(dim(line)))
  if (before) showState(before)
  let running: AbortController | undefined
  let pressed = false
  let leaving = false
  lines.onInterrupt(() => {
    if (running && !running.signal.aborted) {
      running.abort()
      return say(yellow('\nCancelled. Again to leave.'))
    }
    if (pressed) {
      leaving = true
      return lines.close()
    }
    pressed = true
    say(dim('\nCtrl-C again to leave.'))
  })
  const ask = (question: string): Promise<string | undefined> => lines.ask(question)
  const turn = async (text: string, how: AgentPhase | undefined): Promise<void> => {
    running = new AbortController()
    const talk = openTalk({ operator, agent, caller: callerFor(operator, session), print: false, json: false, ask, waits: true })
    await talk.take(text, how, running.signal)
    running = undefined
    pressed = false
  }
  const reset = (): void => void (session = newSession())
  if (before?.state === 'working') await turn('', undefined)
  let next: string | undefined = asked === '' ? undefined : asked
  for (;;) {
    const line = next ?? (await lines.next(leaving ? '' : bold('> ')))
    next = undefined
    if (line === undefined || leaving) break
    if (line.trim() === '') continue
    pressed = false
    if (!line.startsWith('/')) {
      await turn(line, mode)
      continue
    }
    const come = await slash(line, {
      operator,
      agent,
      session,
      ask,
      reset,
      showModel: () => showModel(agent, (text) => say(text)),
    })
    if (come && 'leave' in come) break
    if (come) await turn(come.take, come.mode)
  }
  leave(lines)
  return 0
}

function leave(lines: Lines): void {
  lines.close()
  say()
}

/** What a conversation that is taken up again was about, and what of it is not done. */
function showState({ goal, state, open }: NonNullable<ReturnType<Agent['sessions']['load']>>): void {
  say(dim(`Going on with: ${printable(goal).slice(0, 200)}`))
  if (state !== 'working') return
  const names = open.map(({ call, after }) => `${printable(call.name)} (${after === undefined ? 'not begun' : 'begun'})`)
  say(yellow(`It was interrupted${names.length > 0 ? `; still open: ${names.join(', ')}` : ''}. Going on.`))
}

import type { Agent } from '../../../contracts/agent.ts'
import type { AgentPhase } from '../../../contracts/agent-phase.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { LineDiff } from '../../../contracts/line-diff.ts'
import { asFault } from '../../../contracts/faults/fault.ts'
import { ago, bold, green, oneLine, printable, renderChange, say, table, warn } from '../print.ts'
import { folded } from '../screen-rows.ts'

/** What a line that begins with a slash comes to: something for the agent, the end, or nothing more. */
export type Slash = { take: string; mode: AgentPhase } | { leave: true } | undefined

export interface SlashParts {
  operator: Operator
  agent: Agent
  session: string
  ask: (question: string) => Promise<string | undefined>
  /** Begins a new conversation. */
  reset: () => void
  showModel: () => Promise<void>
}

export const slashes: readonly (readonly [string, string])[] = [
  ['/help', 'this list'],
  ['/skills', 'the skills there are'],
  ['/tools', 'the tools the agent has, and their risk'],
  ['/plan [TEXT]', 'look only, and end in a plan'],
  ['/act [TEXT]', 'do it: the plan at hand, or what you say'],
  ['/undo', 'take back everything this conversation changed'],
  ['/approvals', 'what waits for you'],
  ['/model [NAME]', 'whom the agent asks, and where; another model for this chat'],
  ['/cost', 'what this conversation has used'],
  ['/reset', 'begin a new conversation'],
  ['/exit', 'leave; also Ctrl-D, or Ctrl-C twice'],
]

export async function slash(line: string, parts: SlashParts): Promise<Slash> {
  const { operator, agent, session } = parts
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? []
  switch (name) {
    case 'exit':
    case 'quit':
      return { leave: true }
    case 'plan':
      if (rest !== '') return { take: rest, mode: 'plan' }
      say('Say what to plan: /plan TEXT')
      return undefined
    case 'act':
      return { take: rest === '' ? 'Carry out the plan.' : rest, mode: 'act' }
    case 'skills':
      await showSkills(agent)
      return undefined
    case 'tools':
      say(
        table(
          ['tool', 'risk', 'what'],
          operator.listed().map((tool) => [tool.name, tool.floor, oneLine(tool.title, 60)]),
        ),
      )
      return undefined
    case 'undo':
      await undoAll(parts)
      return undefined
    case 'approvals': {
      const open = operator.approvals.list('pending')
      say(
        open.length === 0
          ? 'Nothing waits for you.'
          : table(
              ['id', 'risk', 'asked', 'what'],
              open.map((one) => [one.id, one.risk, ago(one.createdAt), oneLine(one.card.title, 60)]),
            ),
      )
      return undefined
    }
    case 'model':
      if (rest !== '') agent.choose(rest.trim())
      await parts.showModel()
      return undefined
    case 'cost': {
      const { input, output, cents } = agent.cost(session)
      say(`${input} tokens in, ${output} out${cents === undefined ? '' : `, ${(cents / 100).toFixed(4)} by your prices`}.`)
      return undefined
    }
    case 'reset':
      parts.reset()
      say('A new conversation.')
      return undefined
    default:
      if (name !== 'help') warn(`No such command: /${printable(name)}`)
      for (const [command, says] of slashes) say(`  ${command.padEnd(16)}${says}`)
      return undefined
  }
}

async function showSkills(agent: Agent): Promise<void> {
  const found = await agent.skills()
  if (found.length === 0) return say('There are no skills.')
  say(
    table(
      ['skill', 'from', 'what'],
      found.map((one) => [one.id, one.origin, oneLine(one.description, 80)]),
    ),
  )
}

interface Undone {
  changes: { path: string; becomes: string; diff: LineDiff }[]
  shown: unknown
}

/** Shows what would change, asks, and takes it back: one act, which can itself be undone. */
async function undoAll({ operator, session, ask }: SlashParts): Promise<void> {
  const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli-person', role: 'person' } as const
  try {
    const { shown, changes } = (await operator.call('undo', { session, dryRun: true }, caller)).output as Undone
    for (const change of changes) say(renderChange(change.diff.hunks.length > 0 ? change : { ...change, says: change.becomes }))
    const said = await ask(`Take back ${changes.length} file(s)? y or n: `)
    if (!/^(y(es)?|是|好)$/i.test(said?.trim() ?? '')) return say('Nothing changed.')
    const { callId } = await operator.call('undo', { session, shown, dryRun: false }, caller)
    say(`${green('Undone')}  (to take this back: handrail undo ${callId})`)
  } catch (thrown) {
    warn(folded(printable(asFault(thrown).message)))
  }
}

export const greeting = (): string => bold('handrail chat') + '  /help lists the commands.'

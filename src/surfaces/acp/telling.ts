import type { Risk } from '../../contracts/tool.ts'
import type { TurnEvent } from '../../contracts/turn.ts'
import { kindOf, locationsOf, resultContent, said, titleOf } from './dialect.ts'
import type { SessionUpdate } from './sdk.ts'

type Update = (one: SessionUpdate) => void

/** The events of a turn as updates of a session. */
export function openTelling(project: string, update: Update): (event: TurnEvent) => void {
  let streamed = ''
  const plan = openPlan(update)
  return (event) => {
    switch (event.type) {
      case 'tool_call':
        if (event.name === 'present_plan') plan.stands(event.input['steps'] as readonly PlannedStep[])
        update({
          sessionUpdate: 'tool_call',
          toolCallId: event.id,
          title: titleOf(event.name, event.input),
          kind: kindOf(event.name),
          status: 'pending',
          rawInput: event.input,
          locations: locationsOf(project, event.input),
        })
        return event.input['dryRun'] === true ? undefined : plan.begun(event.id, event.name)
      case 'tool_result':
        update({
          sessionUpdate: 'tool_call_update',
          toolCallId: event.id,
          status: event.result.ok ? 'completed' : 'failed',
          content: resultContent(project, event.result),
        })
        return plan.ended(event.id, event.result.ok)
      case 'delta':
        streamed += event.delta
        return update(said(event.delta))
      case 'completed':
        if (event.plan) plan.stands(event.plan.steps)
        // What was streamed need not be said again.
        if (event.reply !== '' && !streamed.endsWith(event.reply)) update(said(event.reply))
        return
      case 'failed':
        return update(said(`${event.error.code}: ${event.error.message}`))
      default:
        return
    }
  }
}

interface PlannedStep {
  tool?: string
  description: string
  risk: Risk
}

/** A plan as the client keeps it: told whole each time, a step done once the tool it names was called. */
function openPlan(update: Update) {
  let entries: { tool: string; call?: string; content: string; priority: 'low' | 'medium' | 'high'; status: Status }[] = []
  const tell = (): void =>
    update({
      sessionUpdate: 'plan',
      entries: entries.map(({ content, priority, status }) => ({ content, priority, status })),
    })
  return {
    stands(steps: readonly PlannedStep[]): void {
      entries = steps.map(({ tool = '', description, risk }) => ({
        tool,
        content: description,
        priority: risk === 'R0' ? 'low' : risk === 'R1' ? 'medium' : 'high',
        status: 'pending',
      }))
      tell()
    },
    begun(call: string, tool: string): void {
      const next = entries.find((one) => one.tool === tool && one.status === 'pending')
      if (!next) return
      next.call = call
      next.status = 'in_progress'
      tell()
    },
    ended(call: string, ok: boolean): void {
      const one = entries.find((entry) => entry.call === call)
      if (one?.status !== 'in_progress') return
      // What failed may be tried again.
      one.status = ok ? 'completed' : 'pending'
      tell()
    },
  }
}

type Status = 'pending' | 'in_progress' | 'completed'

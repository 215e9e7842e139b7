import type { TurnEvent } from '../../contracts/turn.ts'

/** An event as `/agent/process` tells it. */
export type GatewayEvent = { type: string; step: number } & Record<string, unknown>

const summaryLength = 160

/** A turn in the gateway's own words: one event for each that happened. */
export function toGatewayEvent(event: TurnEvent): GatewayEvent {
  const { step } = event
  switch (event.type) {
    case 'step':
      return { type: 'step_started', step }
    case 'tool_call':
      return { type: 'tool_call', step, tool_call: { name: event.name, input: event.input } }
    case 'approval':
      return { type: 'approval_requested', step, tool_call: { name: event.name }, meta: { approval_id: event.approval } }
    case 'tool_result': {
      const { name, result } = event
      return { type: 'tool_result', step, tool_result: { name, ok: result.ok, summary: summaryOf(result.text) } }
    }
    case 'delta':
      return { type: 'assistant_delta', step, delta: event.delta }
    case 'completed':
      return { type: 'completed', step, reply: event.reply }
    case 'failed': {
      const { code, message, status, details } = event.error
      return { type: 'error', step, meta: { code, message, status, ...(details && { details }) } }
    }
  }
}

/** The first characters; one beyond the basic plane, which takes two units, counts as one. */
function summaryOf(text: string): string {
  let end = 0
  for (let runes = 0; runes < summaryLength && end < text.length; runes++)
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1
  return end < text.length ? `${text.slice(0, end)}...` : text
}

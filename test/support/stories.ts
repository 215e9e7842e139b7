import { expect } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { World } from './world.ts'

/** What the log says of calls that a person was asked about: the lines of each call, by its id. */
export function storiesOf(world: World): Map<string, AuditLine[]> {
  const lines = [...world.runtime.audit.lines()]
  const asked = new Set(lines.flatMap(({ event, call }) => (event === 'approval.requested' && call !== undefined ? [call] : [])))
  return new Map([...asked].map((call) => [call, lines.filter((line) => line.call === call)]))
}

/** The events of a call in their order, without the remarks that a request stopped waiting. */
export function eventsIn(story: readonly AuditLine[] | undefined): string[] {
  return (story ?? []).map(({ event }) => event).filter((event) => event !== 'call.suspended')
}

/** One start, one question, one answer, one end, in this order; between them that it went on and that its changes are in their places, where they are. */
export function expectWhole(story: readonly AuditLine[] | undefined): void {
  const events = eventsIn(story)
  expect(
    events.filter((event) => event !== 'call.resumed' && event !== 'call.landed'),
    JSON.stringify(story),
  ).toEqual(['call.start', 'approval.requested', 'approval.decided', 'call.end'])
  const yes = story?.find(({ event }) => event === 'approval.decided')?.approved === true
  const isDone = story?.at(-1)?.outcome === 'ok'
  expect(events.filter((event) => event === 'call.resumed').length, JSON.stringify(story)).toBeLessThanOrEqual(yes ? 1 : 0)
  if (isDone) expect(events).toContain('call.resumed')
  expect(new Set(story?.flatMap(({ approval }) => approval ?? [])).size, 'all of one question').toBe(1)
}

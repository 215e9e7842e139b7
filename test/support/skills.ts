import { openWorld as openAny, type World } from './world.ts'

/** Nobody is there to answer: what would ask fails at once. */
export const openWorld = (options: Parameters<typeof openAny>[0]) => openAny({ ...options, flags: { 'approval-wait-ms': '0' } })

export const details = (world: World, event: string) =>
  [...world.runtime.audit.lines()].filter((line) => line.event === event).map((line) => line.details as Record<string, unknown>)

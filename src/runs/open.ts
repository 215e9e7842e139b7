import type { RunDesk } from '../contracts/run.ts'
import { openDesk } from './desk.ts'
import { openEngine } from './engine.ts'
import type { RunPorts } from './ports.ts'
import { openShelf, type TemplateFile } from './shelf.ts'

/** The engine and what is reached of it. It takes up what is in the queue from now on. */
export function openRunsOn(ports: RunPorts, templates: () => readonly TemplateFile[]): { desk: RunDesk; close(): Promise<void> } {
  const engine = openEngine(ports)
  engine.wake()
  return { desk: openDesk(ports, engine, openShelf(templates)), close: engine.close }
}

import type { RunDesk } from '../contracts/run.ts'
import { openDesk } from './desk.ts'
import { openEngine } from './engine.ts'
import type { RunPorts } from './ports.ts'
import { openShelf, type TemplateFile } from './shelf.ts'

/** The engine and what is reached of it. Nothing is carried out here before something is handed in, or `work` is called. */
export function openRunsOn(ports: RunPorts, templates: () => readonly TemplateFile[]): { desk: RunDesk; close(): Promise<void> } {
  const engine = openEngine(ports)
  return { desk: openDesk(ports, engine, openShelf(templates)), close: engine.close }
}

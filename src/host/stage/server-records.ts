import type { Program } from '../../contracts/stage.ts'
import type { StageOrigin } from './records.ts'
import { closing, farewell, portsMs, stopped, withheld, type Server } from './server.ts'

/** Who writes down that a server runs, how it is, and how it ended. */
export interface ServerRecords {
  /** Before it is started. `stop` ends it: somebody in another process may want that. */
  begin(program: Pick<Program, 'argv'>, origin: StageOrigin, stop: () => void): ServerRecord
}

export interface ServerRecord {
  note(now: { urls: readonly string[]; log: string }): void
  /** `failed`: nobody asked it to end. What it printed, or that this is withheld. */
  ended(end: { how: string; failed: boolean; log: string }): void
}

/** Writes down how it is, where that is something else than before, until it is gone. */
export function follow(server: Server, record: ServerRecord): void {
  let told = ''
  let timer: NodeJS.Timeout | undefined
  const printed = (): string => (server.seen ? withheld(server.seen) : server.printed.end()).text
  const complain = (fault: unknown): void => console.error('handrail: how a dev server is cannot be written down:', fault)
  const look = async (): Promise<void> => {
    const urls = await server.urls().catch(() => [])
    const now = `${server.spoke} ${urls.join(' ')}`
    const began = performance.now()
    if (now !== told && !server.end) record.note({ urls, log: printed() })
    told = now
    later(performance.now() - began)
  }
  /** However much it prints, this takes a small part of the time. */
  const later = (took: number): void => {
    if (!server.end) timer = setTimeout(() => void look().catch(complain), Math.max(portsMs, 50 * took))
  }
  later(0)
  server.gone
    .then(() => {
      clearTimeout(timer)
      const how = farewell(server, server.program)
      const failed = how !== undefined && server.end?.code !== 0 && server.end?.ended !== closing
      record.ended({ how: how ?? stopped, failed, log: printed() })
    })
    .catch(complain)
}

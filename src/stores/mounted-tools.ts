import { bounds } from '../contracts/kept.ts'
import type { Definition, MountedTool } from '../contracts/mounts.ts'
import type { Database } from '../host/database.ts'
import { canonical } from '../text/canonical.ts'

/** What was seen of the tools of mounted servers, and what of it a person accepted: the first that is seen of a server, and what they say since. */
export interface MountedToolStore {
  of(server: string): MountedTool[]
  servers(): string[]
  /** What a server says now. Returns those of its tools that are not what was accepted, and were not known to be so. */
  saw(server: string, tools: readonly SeenTool[]): string[]
  /** False where what the server said last is something else by now. */
  accept(server: string, tool: string, found: Definition | null): boolean
  forget(server: string): number
}

export interface SeenTool {
  definition: Definition
  wrong?: string | undefined
}

interface Row {
  tool: string
  accepted: string | null
  found: string | null
  wrong: string | null
}

/** A tool that its server no longer names. */
const gone = 'null'

export function openMountedTools(db: Database): MountedToolStore {
  const rows = (server: string): Row[] =>
    db.all<Row>('SELECT tool, accepted, found, wrong FROM mounted_tools WHERE server = ? ORDER BY rowid', server)
  const put = (server: string, { tool, accepted, found, wrong }: Row): void => {
    db.run(
      // They stay in the order in which their server named them.
      `INSERT INTO mounted_tools (server, tool, accepted, found, wrong, seen_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (server, tool) DO UPDATE SET accepted = excluded.accepted, found = excluded.found, wrong = excluded.wrong, seen_at = excluded.seen_at`,
      server,
      tool,
      accepted,
      found,
      wrong,
      Date.now(),
    )
  }
  return {
    of: (server) =>
      rows(server).map(({ tool, accepted, found, wrong }) => ({
        server,
        tool,
        accepted: accepted === null ? undefined : (JSON.parse(accepted) as Definition),
        found: found === null ? undefined : (JSON.parse(found) as Definition | null),
        ...(wrong !== null && { wrong }),
      })),
    servers: () => db.all<{ server: string }>('SELECT DISTINCT server FROM mounted_tools').map(({ server }) => server),
    saw: (server, tools) =>
      db.transaction(() => {
        const known = new Map(rows(server).map((row) => [row.tool, row]))
        const first = known.size === 0
        const news: string[] = []
        const now = new Set<string>()
        for (const { definition, wrong = null } of tools) {
          const { name: tool } = definition
          now.add(tool)
          const before = known.get(tool)
          const text = canonical(definition)
          // What cannot be used is told, not kept: it may be of any size.
          if (wrong !== null) {
            if (before?.wrong !== wrong) put(server, { tool, accepted: before?.accepted ?? null, found: null, wrong })
            continue
          }
          const accepted = first ? text : (before?.accepted ?? null)
          const found = accepted === text ? null : text
          if (before && before.accepted === accepted && before.found === found && before.wrong === null) continue
          put(server, { tool, accepted, found, wrong: null })
          if (found !== null) news.push(tool)
        }
        for (const [tool, before] of known) {
          if (now.has(tool) || before.found === gone) continue
          // What nobody accepted and nobody says any more was never there.
          if (before.accepted === null) db.run('DELETE FROM mounted_tools WHERE server = ? AND tool = ?', server, tool)
          else put(server, { ...before, found: gone })
        }
        db.run(
          `DELETE FROM mounted_tools WHERE server IN (SELECT server FROM mounted_tools GROUP BY server ORDER BY max(seen_at) DESC LIMIT -1 OFFSET ${bounds.mounts.servers})`,
        )
        return news
      }, true),
    accept: (server, tool, wanted) =>
      db.transaction(() => {
        const row = rows(server).find((one) => one.tool === tool)
        const text = wanted === null ? gone : canonical(wanted)
        if (!row || row.found !== text) return false
        if (wanted === null) db.run('DELETE FROM mounted_tools WHERE server = ? AND tool = ?', server, tool)
        else put(server, { tool, accepted: text, found: null, wrong: null })
        return true
      }, true),
    forget: (server) =>
      db.transaction(() => {
        const { length } = rows(server)
        db.run('DELETE FROM mounted_tools WHERE server = ?', server)
        return length
      }, true),
  }
}

import { hash } from 'node:crypto'
import type { Config } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Definition, Mount, MountView, MountsOfPerson } from '../contracts/mounts.ts'
import type { Tool } from '../contracts/tool.ts'
import type { Programs } from '../host/installed.ts'
import { definitionDigest, idOf, openMountedServers } from '../host/mcp/mounts.ts'
import { targetOf } from '../host/mcp/target.ts'
import type { SchemaChecks } from '../host/schema-checks.ts'
import type { StdioServerHost } from '../host/stage/stdio-servers.ts'
import type { AuditStore } from '../stores/audit.ts'
import type { MountedToolStore } from '../stores/mounted-tools.ts'
import { canonical } from '../text/canonical.ts'
import { inTime } from '../text/in-time.ts'
import { mountedRisk } from '../text/mount-definition.ts'
import { wireName } from '../text/mount-names.ts'
import { mountedTool } from '../toolsets/mounts/mounted-tool.ts'
import type { MountUse } from '../toolsets/mounts/use.ts'

export interface Mounts {
  /** The tools of mounted servers that were accepted and stand. */
  tools(config: Config): Tool[]
  /** What is withheld, in a sentence. */
  notice(config: Config): string | undefined
  /** Settles once every mounted server that was never seen was asked for its tools, or could not be; after two seconds at the latest. */
  known(): Promise<void>
  person: MountsOfPerson
  applySettings(config: Config): void
  close(): Promise<void>
}

export interface MountsParts {
  project: string
  environment: Readonly<Record<string, string | undefined>>
  programs: Programs
  store: MountedToolStore
  audit: Pick<AuditStore, 'note' | 'write' | 'subscribe'>
  config: () => Config
  stdioServers: () => Pick<StdioServerHost, 'open'>
  /** The list of tools is another now. */
  changed: () => void
}

/** So long a list of tools waits for servers that were never seen. Whoever is slower is told of as a change of the list. */
const firstWordMs = 2_000
/** Who could not be reached is asked again, not at every list. */
const askAgainMs = 60_000

const sha256 = (text: string): string => hash('sha256', text, 'hex')

/** Other MCP servers behind the gate: what was accepted of them is offered, whether they run or not; they are started when they are called. */
export function openMounts(parts: MountsParts): Mounts {
  const { store, audit, config } = parts
  let checks: SchemaChecks | undefined
  /** Those that were asked in this process because nothing was known of them. */
  const asked = new Map<string, { done: Promise<void>; failedAt?: number }>()
  const askOnce = (server: string): Promise<void> => {
    const before = asked.get(server)
    if (before && (before.failedAt === undefined || performance.now() - before.failedAt < askAgainMs)) return before.done
    const one: { done: Promise<void>; failedAt?: number } = {
      done: servers.refresh(server).catch((fault: Error) => {
        one.failedAt = performance.now()
        console.error(`handrail: ${fault.message}`)
      }),
    }
    asked.set(server, one)
    return one.done
  }
  const mountsOf = ({ mounts }: Config): [string, Mount][] => Object.entries(mounts).filter(([, mount]) => mount.off !== true)
  const isOffered = ({ tools }: Mount, tool: string): boolean => tools === undefined || tools.includes(tool)
  const standing = (server: string): Definition[] => {
    const all = store.of(server).flatMap((one) => (one.accepted && one.found === undefined && !one.wrong ? [one.accepted] : []))
    // Kept by an older Handrail, which did not look: of two that have one name here, none is meant.
    const count = new Map<string, number>()
    for (const { name } of all) count.set(idOf(server, name), (count.get(idOf(server, name)) ?? 0) + 1)
    return all.filter(({ name }) => count.get(idOf(server, name)) === 1)
  }

  const servers = openMountedServers({
    mounts: () => config().mounts,
    targetOf: (server, mount) => targetOf(server, mount, parts),
    stdioServers: parts.stdioServers,
    saw(server, tools) {
      const first = store.of(server).length === 0
      const before = canonical(store.of(server))
      const news = store.saw(server, tools)
      if (canonical(store.of(server)) === before) return
      if (first) audit.note({ event: 'mount.seen', details: { server, tools: tools.length } })
      else audit.write({ event: 'mount.changed', details: { server, tools: news.slice(0, 50) } }, true)
      look()
    },
    isAccepted: (server, definition) =>
      standing(server).some((one) => one.name === definition.name && canonical(one) === canonical(definition)),
  })
  /** What the tools of now were made of. */
  let madeOf = ''
  const known = (given: Config): string => canonical(mountsOf(given).map(([server]) => store.of(server)))
  const look = (): void => {
    if (known(config()) !== madeOf) parts.changed()
  }
  let unsubscribe: (() => void) | undefined

  const use = (server: string, mount: Mount): MountUse => ({
    server,
    reaches: reachOf(mount),
    risks: mount.risks ?? {},
    async problems(...given) {
      checks ??= await openChecks()
      return checks.problems(...given)
    },
    call: (...given) => servers.call(server, ...given),
  })
  const viewOf = ([server, mount]: [string, Mount]): MountView => {
    const fault = servers.faultOf(server)
    return {
      server,
      says: saysOf(mount),
      ofProject: mount.ofProject === true,
      off: mount.off === true,
      ...(fault !== undefined && { fault }),
      tools: store.of(server).map((one) => {
        const id = idOf(server, one.tool)
        const shown = one.accepted ?? one.found ?? { name: one.tool }
        return {
          ...one,
          id,
          wire: wireName(id),
          risk: mountedRisk(shown, mount.risks),
          ...(one.found !== undefined && { foundDigest: foundDigest(one.found) }),
        }
      }),
    }
  }
  const named = (server: string): [string, Mount] => {
    const mount = config().mounts[server]
    if (mount) return [server, mount]
    throw new Fault('not-found', `No MCP server is mounted as ${server}`, {
      hint: `Mounted: ${Object.keys(config().mounts).join(', ') || 'none'}. The setting mounts names them.`,
    })
  }

  return {
    tools(given) {
      const all = mountsOf(given)
      madeOf = known(given)
      // Whichever process it was: what is accepted in one is offered by all. Who mounts nothing need not listen.
      if (all.length > 0) unsubscribe ??= audit.subscribe({ events: (event) => event.startsWith('mount.') }, look)
      return all.flatMap(([server, mount]) => {
        const using = use(server, mount)
        return standing(server)
          .filter((definition) => isOffered(mount, definition.name))
          .map((definition) =>
            mountedTool(idOf(server, definition.name), definition, definitionDigest(definition), using).bind(using),
          )
      })
    },
    notice(given) {
      const changed = mountsOf(given).flatMap(([server]) => {
        const count = store.of(server).filter(({ found }) => found !== undefined).length
        return count === 0 ? [] : [`${server} (${count})`]
      })
      return changed.length === 0
        ? undefined
        : `Tools of mounted MCP servers are not what was accepted, and are withheld: ${changed.join(', ')}. \`handrail mounts show NAME\` shows the difference.`
    },
    async known() {
      const unseen = mountsOf(config()).filter(([server]) => store.of(server).length === 0)
      if (unseen.length === 0) return
      const all = Promise.all(unseen.map(([server]) => askOnce(server)))
      await inTime(all, firstWordMs, () => new Error('late')).catch(() => undefined)
    },
    person: {
      list: () => Object.entries(config().mounts).map(viewOf),
      async refresh(server) {
        const wanted = server === undefined ? Object.entries(config().mounts) : [named(server)]
        const on = wanted.filter(([, { off }]) => off !== true)
        await Promise.all(on.map(([name]) => servers.refresh(name).catch(() => undefined)))
        return wanted.map(viewOf)
      },
      accept(server, tools, by) {
        named(server)
        const known = new Map(store.of(server).map((one) => [one.tool, one.found]))
        const accepted: (typeof tools)[number][] = []
        try {
          for (const { tool, digest } of tools) {
            const found = known.get(tool)
            if (found === undefined || foundDigest(found) !== digest || !store.accept(server, tool, found))
              throw new Fault('conflict', `${tool} of ${server} is something else by now than what was shown`, {
                hint: `Nothing more was accepted. Look again: handrail mounts show ${server}`,
              })
            accepted.push({ tool, digest })
          }
        } finally {
          // Also where the rest of them was not: what counts from here on is in the log.
          if (accepted.length > 0)
            audit.write({ event: 'mount.accepted', by, details: { server, tools: accepted.slice(0, 50) } }, true)
          look()
        }
      },
      forget(server, by) {
        const count = store.forget(server)
        if (count > 0) audit.write({ event: 'mount.forgotten', by, details: { server, tools: count } }, true)
        look()
        return count
      },
    },
    applySettings: ({ mounts }) => servers.applySettings(mounts),
    async close() {
      unsubscribe?.()
      await servers.close()
      checks?.close()
    },
  }
}

async function openChecks(): Promise<SchemaChecks> {
  const { openSchemaChecks, lenient } = await import('../host/schema-checks.ts')
  return openSchemaChecks(lenient, 'the schema of its server')
}

/** Names what a person was shown. */
const foundDigest = (found: Definition | null): string => sha256(canonical(found))

/** The program or address; what signs in stays out of it. */
function saysOf({ command, args = [], url }: Mount): string {
  if (url !== undefined) {
    const { origin, pathname } = new URL(url)
    return origin + pathname
  }
  return [command, ...args].join(' ')
}

function reachOf(mount: Mount): string[] {
  const { url, network, unconfined, reads = [], writes = [] } = mount
  if (url !== undefined) return [`It is sent to ${saysOf(mount)}, which may do anything with it.`]
  if (unconfined) return ['That server runs unconfined: it can reach all that you can.']
  return [
    `That server runs confined${network ? ', with the network' : ', without a network'}; it may read ${reads.join(', ') || 'nothing of yours'} and change ${writes.join(', ') || 'nothing'}.`,
  ]
}

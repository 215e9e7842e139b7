import { hash } from 'node:crypto'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Definition, Mount } from '../../contracts/mounts.ts'
import { canonicalDefinition, definitionBounds, whyUnusable } from '../../text/mount-definition.ts'
import { mountedId } from '../../text/mount-names.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import type { StdioServerHost } from '../stage/stdio-servers.ts'
import { connectMount, failed, type MountAnswer, type MountConnection, type MountTarget } from './connection.ts'

/** A tool as a server defines it now, and why it cannot be used where it cannot. */
export interface Seen {
  definition: Definition
  wrong?: string | undefined
}

/** The mounted servers of one process: connected when they are first needed, and gone with it. */
export interface MountedServers {
  /** Asks a server what it defines, connecting where that is needed. */
  refresh(server: string): Promise<void>
  call(
    server: string,
    definition: Definition,
    input: Record<string, unknown>,
    how: Parameters<MountConnection['call']>[2],
  ): Promise<MountAnswer>
  /** Why a server could not be reached when it was last tried. */
  faultOf(server: string): string | undefined
  /** Others are named now, or the same in other words: what is no longer named is ended. */
  applySettings(mounts: Readonly<Record<string, Mount>>): void
  close(): Promise<void>
}

export interface MountParts {
  mounts: () => Readonly<Record<string, Mount>>
  targetOf: (server: string, mount: Mount) => MountTarget
  stdioServers: () => Pick<StdioServerHost, 'open'>
  /** Told what a server defines whenever that was asked. */
  saw: (server: string, tools: readonly Seen[]) => void
  /** Whether this is what was accepted, and stands. */
  isAccepted: (server: string, definition: Definition) => boolean
}

interface Held {
  entry: string
  connection: MountConnection
  lookedAt: number
  /** It said that its tools are others now. */
  stale: boolean
}

/** A server may change its words without a word: where it has not been asked for so long, it is before the next call. */
const againMs = 300_000

export const idOf = (server: string, tool: string): string => mountedId(server, tool, (text) => hash('sha256', text, 'hex'))

export const definitionDigest = (definition: Definition): string => hash('sha256', canonicalDefinition(definition), 'hex')

export function openMountedServers(parts: MountParts): MountedServers {
  const held = new Map<string, Held>()
  const faults = new Map<string, string>()
  const queues = new Map<string, ReturnType<typeof openSerialQueue>>()
  /** Nobody waits for a server that is silent. */
  const closing = new AbortController()

  const inTurn = <T>(server: string, act: () => Promise<T>): Promise<T> => {
    let queue = queues.get(server)
    if (!queue) queues.set(server, (queue = openSerialQueue()))
    return queue(act)
  }
  const drop = async (server: string): Promise<void> => {
    const one = held.get(server)
    held.delete(server)
    await one?.connection.close()
  }
  const ask = async (server: string, one: Held): Promise<void> => {
    one.stale = false
    const found = await one.connection.list()
    one.lookedAt = performance.now()
    parts.saw(server, judged(server, found))
  }
  /** A connection whose definitions were looked at not long ago. */
  const connection = (server: string, afresh = false): Promise<MountConnection> =>
    inTurn(server, async () => {
      const mount = parts.mounts()[server]
      if (!mount || mount.off || closing.signal.aborted)
        throw new Fault('disabled', `The MCP server ${server} is not mounted`, { hint: 'It is named in the setting mounts.' })
      const entry = JSON.stringify(mount)
      let one = held.get(server)
      if (one && (one.entry !== entry || one.connection.over() !== undefined)) {
        await drop(server)
        one = undefined
      }
      try {
        if (!one) {
          const opened: Held = { entry, lookedAt: Number.NEGATIVE_INFINITY, stale: false } as Held
          const changed = (): void => void (opened.stale = true)
          const { open } = parts.stdioServers()
          opened.connection = await connectMount(server, parts.targetOf(server, mount), open, changed, closing.signal)
          if (closing.signal.aborted) {
            await opened.connection.close()
            throw failed('Handrail is closing')
          }
          held.set(server, (one = opened))
        }
        if (afresh || one.stale || performance.now() - one.lookedAt > againMs) await ask(server, one)
        faults.delete(server)
        return one.connection
      } catch (fault) {
        faults.set(server, (fault as Error).message)
        await drop(server)
        throw fault
      }
    })

  return {
    async refresh(server) {
      await connection(server, true)
    },
    async call(server, definition, input, how) {
      const to = await connection(server)
      how.signal.throwIfAborted()
      if (!parts.isAccepted(server, definition))
        throw new Fault('conflict', `${definition.name} of the MCP server ${server} is not what you accepted any more`, {
          details: { server, tool: definition.name },
          hint: `Nothing was sent. A person looks at the difference with \`handrail mounts show ${server}\` and accepts it with \`handrail mounts accept ${server}\`.`,
        })
      return to.call(definition.name, input, how)
    },
    faultOf: (server) => faults.get(server),
    applySettings(mounts) {
      for (const [server, { entry }] of held) {
        const mount = mounts[server]
        if (!mount || mount.off || JSON.stringify(mount) !== entry) void inTurn(server, () => drop(server))
      }
    },
    async close() {
      closing.abort()
      await Promise.all([...queues.keys()].map((server) => inTurn(server, () => drop(server))))
    },
  }
}

/** Each with what is wrong with it; too many are none. */
function judged(server: string, found: readonly unknown[]): Seen[] {
  if (found.length > definitionBounds.tools)
    throw new Fault('too-large', `The MCP server ${server} defines ${found.length} tools; ${definitionBounds.tools} are the most`)
  /** By the name they would be called here: two that are told apart by their server alone are not told apart by anybody else. */
  const called = new Map<string, Set<unknown>>()
  const twice = new Set<string>()
  for (const one of found) {
    const name = (one as Definition | null)?.name
    if (typeof name !== 'string') continue
    const id = idOf(server, name)
    const known = called.get(id) ?? new Set()
    if (known.has(name)) twice.add(name)
    called.set(id, known.add(name))
  }
  const told = new Set<string>()
  return found.flatMap((definition): Seen[] => {
    const name = (definition as Definition | null)?.name
    // What has no name cannot be told of.
    if (typeof name !== 'string' || name.length > definitionBounds.name || told.has(name)) return []
    told.add(name)
    const wrong = twice.has(name)
      ? 'two tools of this server have that name'
      : (called.get(idOf(server, name))?.size ?? 0) > 1
        ? `another tool of this server would be called ${idOf(server, name)}, too`
        : whyUnusable(definition)
    return [{ definition: definition as Definition, ...(wrong !== undefined && { wrong }) }]
  })
}

import { randomBytes } from 'node:crypto'
import { relative, sep } from 'node:path'
import { bridgeProtocol, type DevServerState } from '../contracts/bridge.ts'
import type { CliPlane } from '../contracts/command-result.ts'
import type { Reason } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import { openBridgeState } from '../host/bridge-state.ts'
import { claimPort } from '../host/own-ports.ts'
import { openPeers } from '../host/peer.ts'
import { isWithin, willBe } from '../host/state-place.ts'
import { workspaceFacts } from '../host/workspace-facts.ts'
import { openBridge, type Bridge, type BridgeOptions } from '../surfaces/bridge/bridge.ts'
import { openCliPlane } from '../surfaces/cli/plane/plane.ts'
import { listen } from '../surfaces/listen.ts'
import { openRejectedRequests, type RejectedBy } from '../surfaces/rejected-requests.ts'

export interface BridgeParts {
  /** Else those of the command line. */
  commands?: CliPlane
  peers: BridgeOptions['peers']
  /** Whether commands may write source. */
  write: boolean
  stop?: () => void
  maxMessageBytes?: number
  onPresence?: (connections: number) => void
}

/** The one-shot commands for whoever is on the bridge: at the gate of agents, whatever they ask for. */
function commandsForAgents(operator: Operator): CliPlane {
  return openCliPlane({
    call: (tool, input, caller, options) => operator.gate.call(tool, input, { ...caller, role: 'agent' }, options),
    project: operator.project,
    version: operator.version,
    settingsText: () => operator.projectSettings?.text,
  })
}

/** Where it was started, where that is in the project; else the project. */
function cwdOf({ project }: Operator): string {
  const here = willBe(process.cwd())
  return isWithin(here, project) ? here : project
}

/** The bridge of a project, for whichever listener it goes behind. */
export function bridgeOf(operator: Operator, parts: BridgeParts): Bridge {
  const cwd = cwdOf(operator)
  return openBridge({
    commands: commandsForAgents(operator),
    ...parts,
    version: operator.version,
    cwd,
    folder: relative(operator.project, cwd).split(sep).join('/'),
    gate: operator.gate,
    workspace: () => workspaceFacts(cwd),
    onRefused: ({ reason, ...details }) =>
      operator.audit.note({
        event: 'request.refused',
        surface: 'bridge',
        client: 'devserver',
        reason,
        message: refusedFor[reason] ?? 'It may not be ended over the bridge',
        details: { ...details },
      }),
  })
}

const refusedFor: Partial<Record<Reason, string>> = {
  unauthorized: 'No token, or a wrong one',
  'read-only': 'It would write source, and this server is read-only',
}
const rejectedFor: Record<RejectedBy, string> = {
  Host: 'Shut out: not by a name of ours (Host)',
  Origin: "Shut out: from somebody else's page (Origin)",
  token: 'Shut out: a wrong token',
}

/** Who the listener shut out, in the log of the project; nothing of what they said. */
export function noteRejectedRequests({ audit }: Operator, surface: 'bridge' | 'http'): (by: RejectedBy) => void {
  return openRejectedRequests(({ by, untold }) =>
    audit.note({
      event: 'request.refused',
      surface,
      reason: by === 'token' ? 'unauthorized' : 'policy',
      message: rejectedFor[by],
      details: { listener: by, ...(untold !== undefined && { untold }) },
    }),
  )
}

export interface DevServerOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
  allowWrite: boolean
  /** Else one is made up. */
  token?: string | undefined
  stateFile?: string | undefined
  maxMessageBytes?: number
  /** Ends it after so long, whoever is connected; and after nobody was connected for so long. */
  shutdownAfterMs?: number
  idleShutdownMs?: number
  commands?: CliPlane
}

export interface DevServer {
  state: Omit<DevServerState, 'token'>
  stateFile: string
  /** Resolves once somebody asked for its end, or its time was up. */
  asked: Promise<void>
  close(): Promise<void>
}

/** The bridge alone, on a port of its own, said in a file that only this user reads. */
export async function serveBridge(operator: Operator, options: DevServerOptions): Promise<DevServer> {
  const token = options.token ?? randomBytes(32).toString('base64url')
  const peers = openPeers()
  let stop = (): void => undefined
  const asked = new Promise<void>((resolve) => (stop = resolve))
  const idle = openIdle(options.idleShutdownMs, stop)
  const bridge = bridgeOf(operator, {
    ...(options.commands && { commands: options.commands }),
    peers,
    write: options.allowWrite,
    stop,
    onPresence: idle.seen,
    ...(options.maxMessageBytes !== undefined && { maxMessageBytes: options.maxMessageBytes }),
  })
  const listening = await listen({
    ...options,
    peers,
    requestsPerSecond: operator.config.limits.requestsPerSecond,
    token,
    onRejected: noteRejectedRequests(operator, 'bridge'),
    needs: { agent: 'A bearer token is needed. It is in the state file that `handrail devserver start` names.' },
    // Nobody signs in here.
    isPerson: () => false,
    isPersonKey: () => false,
    page: {
      name: `${randomBytes(8).toString('hex')}.localhost`,
      basePath: `/${randomBytes(8).toString('hex')}`,
      detour: bridge.route,
    },
    routes: { '/': bridge.route },
  })
  const { port } = listening
  const { host } = new URL(listening.url)
  const state = {
    schemaVersion: 1,
    kind: 'DevServerState',
    protocol: bridgeProtocol,
    url: `ws://${host}`,
    pid: process.pid,
    cwd: cwdOf(operator),
    host: host.slice(0, host.lastIndexOf(':')),
    port,
  } as const
  const file = openBridgeState(operator.project, process.env, options.stateFile)
  let release: () => void
  let withdraw: () => void
  try {
    withdraw = file.claim({ ...state, token })
    release = claimPort(port)
  } catch (fault) {
    idle.over()
    await listening.close()
    throw fault
  }
  const lifetime = options.shutdownAfterMs === undefined ? undefined : setTimeout(stop, options.shutdownAfterMs).unref()
  return {
    state,
    stateFile: file.path,
    asked,
    async close() {
      clearTimeout(lifetime)
      idle.over()
      await bridge.close()
      await listening.close()
      release()
      withdraw()
    },
  }
}

/** Tells when nobody was there for a while. */
function openIdle(ms: number | undefined, tell: () => void): { seen(connections: number): void; over(): void } {
  if (ms === undefined) return { seen: () => undefined, over: () => undefined }
  let timer: NodeJS.Timeout | undefined = setTimeout(tell, ms).unref()
  return {
    seen(connections) {
      clearTimeout(timer)
      timer = connections > 0 ? undefined : setTimeout(tell, ms).unref()
    },
    over: () => clearTimeout(timer),
  }
}

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bounds } from '../../contracts/kept.ts'
import type { CapturedOutput, Program, ProgramResult } from '../../contracts/stage.ts'
import { captureBothEnds, type OutputCapture } from '../output.ts'
import type { VisibilityRules } from './classify-entry.ts'
import type { Shown, View } from './confine.ts'
import { guardHidden, guardOnly, uncovered, type Exposure, type HiddenView } from './hidden-guard.ts'
import type { Hidden } from './hidden.ts'
import { howItEnded, prepareSandbox, type LaunchEnd } from './launch.ts'
import type { Limits } from './limit-watch.ts'
import type { Mirror } from './mirror.ts'
import { removeStage } from './places.ts'
import { openPortForwarder, type KnownPort, type PortForwarder } from './port-forwarder.ts'
import type { Confined } from './probe.ts'
import { besideRelay } from './relay.ts'
import { serverView } from './server-view.ts'
import type { Root } from '../walk.ts'

export interface ServerParts {
  project: Root
  sorting: VisibilityRules
  limits: Limits
  /** What of the machine such a program sees besides the system. */
  readsOf: (program: Program) => readonly string[]
  /** What such a program sees, and must not see. */
  hiddenViewOf: (program: Program) => HiddenView
  viewOf: (found: Confined, program: Program, stage: StageView) => View
}

/** What a program sees of the project, what of it is hidden, and the folder of its stage. */
export interface StageView {
  folder: string
  shows: readonly Shown[]
  hides: readonly Hidden[]
}

/** One program that keeps running. */
export interface Server {
  /** Which program it is. */
  readonly name: string
  readonly program: Program
  readonly parts: ServerParts
  /** What it does not see, of what it must not. */
  hides(): readonly Hidden[]
  readonly log: OutputCapture
  readonly errors: OutputCapture
  /** The end of both, in the order in which it came: more than is written down, so that a secret is not cut before it is looked for. */
  readonly printed: OutputCapture
  /** Where its ports are opened, in words. */
  openedAs(): readonly string[]
  hosts(): readonly string[]
  readonly began: number
  /** When it last printed something. */
  spoke: number
  end: LaunchEnd | undefined
  /** It was told to end and is on its way out. */
  ending: boolean
  /** What it may have read and must not tell. */
  seen: Exposure | undefined
  urls(): Promise<readonly string[]>
  stop(why: string): Promise<void>
  /** Settles once nothing of it is left. */
  readonly gone: Promise<void>
}

/** How long a start waits for it to listen. It goes on running after that. */
const startMs = 15_000
/** It has said what it had to say: nothing for so long, or enough of it. */
const quietMs = 300
const chattyMs = 2_000
/** How often it is looked whether its ports are others; the system takes long to list them. */
export const portsMs = 1_000
/** The longest a timer can wait, 24 days: a server has no deadline. */
const noDeadlineMs = 2_147_483_647
export const stopped = 'it was stopped'
export const closing = 'Handrail closed'

export const nothing = {
  exitCode: null,
  ms: 0,
  effects: [],
  leftover: [],
  serving: { running: false, urls: [] },
  confined: true,
  network: false,
}

export async function answer(server: Server, program: Program): Promise<ProgramResult> {
  const urls = await server.urls()
  const log = server.seen ? withheld(server.seen) : server.log.end()
  return {
    ...nothing,
    ...(server.end && howItEnded(server.end, program)),
    stdout: {
      ...log,
      text:
        server
          .openedAs()
          .map((one) => `[handrail] ${one}\n`)
          .join('') + log.text,
    },
    stderr: server.seen ? captureBothEnds(0).end() : server.errors.end(),
    ms: Math.round(performance.now() - server.began),
    serving: { running: server.end === undefined, urls },
  }
}

export function withheld({ says }: Exposure): CapturedOutput {
  const text = `[handrail] ended, and what it printed is withheld: ${says}\n`
  return { text, bytes: Buffer.byteLength(text), cut: false }
}

/** How a server ended that was not asked to. */
export function farewell({ end }: Server, program: Program): string | undefined {
  if (!end || end.ended === stopped) return undefined
  const { ended, signal, exitCode } = howItEnded(end, program)
  return ended ?? (signal === undefined ? `exit code ${exitCode}` : signal)
}

/** What a server that was started under other settings sees, and would not under these. */
export async function whyNot({ program, parts: before, hides }: Server, parts: ServerParts): Promise<string | undefined> {
  const reads = new Set(parts.readsOf(program))
  const taken = before.readsOf(program).find((path) => !reads.has(path))
  if (taken !== undefined) return `programs no longer see ${taken}`
  const hidden = uncovered(await parts.hiddenViewOf(program).scan(), hides(), '')
  return hidden && `programs no longer see ${hidden.path}`
}

/** A server that runs, from its start until nothing of it is left. */
export function supervise(
  parts: ServerParts,
  hiddenView: HiddenView,
  found: Confined,
  program: Program,
  folder: string,
  hides: readonly Hidden[],
  knownPorts: Map<number, KnownPort>,
  mirror: Mirror | undefined,
): Server {
  const {
    project: { path: project },
    limits,
  } = parts
  const socketFolder = join(folder, 'door')
  const { shows, layers, pinned, isLive } = serverView(parts.project, mirror, folder, found.place, socketFolder)
  const covers = hides.filter(isLive)
  let forwarder: PortForwarder | undefined
  let endFor: string | undefined
  let end = (why: string): void => {
    server.ending = true
    endFor ??= why
  }
  const hear = (log: OutputCapture, chunk: Buffer): void => {
    log.add(chunk)
    server.printed.add(chunk)
    server.spoke = performance.now()
  }
  const running = prepareSandbox(found.means, { folder, layers, limits, pinned }).run({
    program: { argv: besideRelay(program.argv), timeoutMs: noDeadlineMs },
    view: () => parts.viewOf(found, { ...program, network: false }, { folder, shows, hides: covers }),
    written: [socketFolder, ...(layers ? [layers.upper] : [])],
    lookEveryMs: 500,
    onStarted(way) {
      end = (why) => {
        server.ending = true
        way(why)
      }
      if (endFor !== undefined) end(endFor)
    },
    onFirst: (pid) =>
      (forwarder = openPortForwarder(socketFolder, pid, knownPorts, (why) => end(why), { project, caughtUp: mirror?.caughtUp })),
    onOutput: (chunk) => hear(server.log, chunk),
    onErrors: (chunk) => hear(server.errors, chunk),
  })
  const unguard = guardHidden(
    guardOnly(hiddenView, isLive),
    covers,
    '',
    (seen) => {
      server.seen ??= seen
      end(`${seen.says}, and it must not see that; start it again`)
    },
    true,
  )
  const following = setInterval(() => void forwarder?.urls(), portsMs)
  const server: Server = {
    name: nameOf(program),
    program,
    parts,
    hides: () => [...covers, ...(hiddenView.known() ?? []).filter((one) => !isLive(one))],
    log: captureBothEnds(program.outputBytes, program.secrets, 0),
    errors: captureBothEnds(program.outputBytes, program.secrets, 0),
    printed: captureBothEnds(2 * bounds.servers.log, program.secrets, 0),
    openedAs: () => (server.end ? [] : (forwarder?.says() ?? [])),
    hosts: () => (server.end ? [] : (forwarder?.hosts() ?? [])),
    began: performance.now(),
    spoke: performance.now(),
    end: undefined,
    ending: false,
    seen: undefined,
    urls: async () => (server.end ? [] : ((await forwarder?.urls()) ?? [])),
    stop(why) {
      // Once it is gone its number may be somebody else's.
      if (!server.end) end(why)
      return server.gone
    },
    gone: running
      .catch((fault: Error): LaunchEnd => ({ ...lost, ended: `it could not be started: ${fault.message}` }))
      .then((how) => {
        unguard()
        mirror?.close()
        clearInterval(following)
        forwarder?.close()
        removeStage(folder)
        server.end = how
        if (how.ended !== undefined && how.ended !== stopped) server.log.add(Buffer.from(`[handrail] ended: ${how.ended}\n`))
      }),
  }
  return server
}

const lost = { code: null, killedBy: null, stopped: false, timedOut: false, errors: '', ran: false, outdated: false }

/** Waits until it listens and has said so, or has ended, or takes too long. To look costs the system 10 ms: what has taken long is looked at less often. */
export async function untilReady(server: Server, signal?: AbortSignal): Promise<void> {
  const until = server.began + startMs
  let listens: number | undefined
  while (!server.end && performance.now() < until) {
    if ((await server.urls()).length) {
      const now = performance.now()
      listens ??= now
      if (now - Math.max(server.spoke, listens) > quietMs || now - listens > chattyMs) return
    }
    await Promise.race([pause(listens === undefined ? Math.max(100, (performance.now() - server.began) / 10) : 100), server.gone])
    signal?.throwIfAborted()
  }
}

export function nameOf({ argv, cwd, env }: Program): string {
  return JSON.stringify([argv, cwd, env])
}

import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../contracts/faults/fault.ts'
import type { CapturedOutput, Program, ProgramResult } from '../../contracts/stage.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { captureBothEnds, type OutputCapture } from '../output.ts'
import type { Shown, View } from './confine.ts'
import { openPortForwarder, type KnownPort, type PortForwarder } from './port-forwarder.ts'
import { guardHidden, uncovered, type Exposure, type HiddenView } from './hidden-guard.ts'
import type { Hidden } from './hidden.ts'
import { howItEnded, prepareSandbox, mustHaveStarted, type LaunchEnd } from './launch.ts'
import { removeStage } from './places.ts'
import type { Confined, Probe } from './probe.ts'
import { nameStage, writeRecord, type StageOrigin } from './records.ts'
import { besideRelay, relaySocketInside } from './relay.ts'
import { makeLayers } from './stage-pool.ts'
import type { Limits } from './limit-watch.ts'

/**
 * Programs that keep running: one at a time, seen by nobody but this machine, gone with Handrail. They go on when the settings change, under
 * those they were started with.
 */
export interface Servers {
  /** Starts it, or finds it running, or ends it, as the program says. */
  run(found: Probe, parts: ServerParts, program: Program, origin: StageOrigin, signal?: AbortSignal): Promise<ProgramResult>
  /** The settings are others now: what runs and sees something that these hide is ended. */
  judge(parts: ServerParts): Promise<void>
  stop(why: string): Promise<void>
  /** The names, with their ports, under which the pages of what runs are shown. */
  hosts(): readonly string[]
  /** Settles once nothing runs that was started with these parts. */
  over(parts: ServerParts): Promise<void>
  close(): Promise<void>
}

export interface ServerParts {
  project: string
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

interface Server {
  /** Which program it is. */
  readonly name: string
  readonly program: Program
  readonly parts: ServerParts
  /** What is covered for it. */
  readonly hides: readonly Hidden[]
  readonly log: OutputCapture
  readonly errors: OutputCapture
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
const portsMs = 1_000
/** The longest a timer can wait, 24 days: a server has no deadline. */
const noDeadlineMs = 2_147_483_647
const stopped = 'it was stopped'

export function openServers(): Servers {
  let current: Server | undefined
  const knownPorts = new Map<number, KnownPort>()
  const inTurn = openSerialQueue()
  let closed = false

  const start = async (
    found: Confined,
    parts: ServerParts,
    program: Program,
    origin: StageOrigin,
    signal?: AbortSignal,
  ): Promise<ProgramResult> => {
    const name = nameOf(program)
    if (current && !current.end && !current.ending && current.name === name) return answer(current, program)
    await current?.stop(stopped)
    signal?.throwIfAborted()
    if (closed) throw new Fault('io', 'Handrail is closing', { hint: 'Start the server again when it is back.' })
    const before = current && farewell(current, program)
    const hiddenView = parts.hiddenViewOf(program)
    const hides = await hiddenView.scan()
    const server = (current = launchServer(parts, hiddenView, found, program, origin, hides, knownPorts))
    if (before !== undefined) server.log.add(Buffer.from(`[handrail] the server that ran before is gone: ${before}\n`))
    try {
      await untilReady(server, signal)
    } catch (fault) {
      await server.stop(stopped)
      throw fault
    }
    if (server.end) mustHaveStarted(server.end, server.errors.end())
    return answer(server, program)
  }

  const stop = async (program: Program): Promise<ProgramResult> => {
    const server = current
    await server?.stop(stopped)
    if (current === server) current = undefined
    if (!server) return { ...nothing, stdout: captureBothEnds(0).end(), stderr: captureBothEnds(0).end() }
    // Why it was ended is in its log; that it is gone is what was asked for.
    const { ended: _, ...ran } = await answer(server, program)
    return ran
  }

  return {
    run(found, parts, program, origin, signal) {
      if (!found.confined)
        throw new Fault('unsupported', `A program that keeps running is run confined or not at all. ${found.says}`, {
          hint: 'Start the server yourself, in a terminal. `handrail doctor` says what is missing to confine it.',
        })
      if (program.serves === 'stop') return stop(program)
      return inTurn(() => start(found, parts, program, origin, signal))
    },
    judge: (parts) =>
      inTurn(async () => {
        const server = current
        if (!server || server.end || server.ending || server.parts === parts) return
        const why = await whyNot(server, parts).catch((fault: Error) => fault.message)
        if (why !== undefined) await server.stop(`the settings are others now: ${why}`)
      }),
    async stop(why) {
      await current?.stop(why)
    },
    hosts: () => current?.hosts() ?? [],
    async over(parts) {
      await inTurn(() => undefined)
      if (current?.parts === parts) await current.gone
    },
    async close() {
      closed = true
      await current?.stop('Handrail closed')
      await inTurn(() => undefined)
    },
  }
}

const nothing = {
  exitCode: null,
  ms: 0,
  effects: [],
  leftover: [],
  serving: { running: false, urls: [] },
  confined: true,
  network: false,
}

async function answer(server: Server, program: Program): Promise<ProgramResult> {
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

function withheld({ says }: Exposure): CapturedOutput {
  const text = `[handrail] ended, and what it printed is withheld: ${says}\n`
  return { text, bytes: Buffer.byteLength(text), cut: false }
}

/** How a server ended that was not asked to. */
function farewell({ end }: Server, program: Program): string | undefined {
  if (!end || end.ended === stopped) return undefined
  const { ended, signal, exitCode } = howItEnded(end, program)
  return ended ?? (signal === undefined ? `exit code ${exitCode}` : signal)
}

/** What a server that was started under other settings sees, and would not under these. */
async function whyNot({ program, parts: before, hides }: Server, parts: ServerParts): Promise<string | undefined> {
  const reads = new Set(parts.readsOf(program))
  const taken = before.readsOf(program).find((path) => !reads.has(path))
  if (taken !== undefined) return `programs no longer see ${taken}`
  const hidden = uncovered(await parts.hiddenViewOf(program).scan(), hides, '')
  return hidden && `programs no longer see ${hidden.path}`
}

function launchServer(
  parts: ServerParts,
  hiddenView: HiddenView,
  found: Confined,
  program: Program,
  origin: StageOrigin,
  hides: readonly Hidden[],
  knownPorts: Map<number, KnownPort>,
): Server {
  const folder = join(found.place, nameStage())
  try {
    mkdirSync(join(folder, 'door'), { recursive: true, mode: 0o700 })
    writeRecord(folder, { ...origin, confined: true })
    return supervise(parts, hiddenView, found, program, folder, hides, knownPorts)
  } catch (fault) {
    removeStage(folder)
    throw fault
  }
}

function supervise(
  parts: ServerParts,
  hiddenView: HiddenView,
  found: Confined,
  program: Program,
  folder: string,
  hides: readonly Hidden[],
  knownPorts: Map<number, KnownPort>,
): Server {
  const { project, limits } = parts
  const socketFolder = join(folder, 'door')
  // Many servers keep a cache there and do not start without it; all else is the project itself, read-only.
  const modules = join(project, 'node_modules')
  const layers = isFolder(modules) ? makeLayers(folder, found.place, modules) : undefined
  const shows = [
    { from: project, at: project, writes: false },
    ...(layers ? [{ from: layers.merged, at: modules, writes: true }] : []),
    { from: socketFolder, at: relaySocketInside, writes: true },
  ]
  let forwarder: PortForwarder | undefined
  let end: (why: string) => void = () => undefined
  const hear = (log: OutputCapture, chunk: Buffer): void => {
    log.add(chunk)
    server.spoke = performance.now()
  }
  const running = prepareSandbox(found.means, { folder, layers, limits }).run({
    program: { argv: besideRelay(program.argv), timeoutMs: noDeadlineMs },
    view: () => parts.viewOf(found, { ...program, network: false }, { folder, shows, hides }),
    written: [socketFolder, ...(layers ? [layers.upper] : [])],
    lookEveryMs: 500,
    onStarted: (way) =>
      (end = (why) => {
        server.ending = true
        way(why)
      }),
    onFirst: (pid) => (forwarder = openPortForwarder(socketFolder, pid, knownPorts, (why) => end(why))),
    onOutput: (chunk) => hear(server.log, chunk),
    onErrors: (chunk) => hear(server.errors, chunk),
  })
  const unguard = guardHidden(hiddenView, hides, '', (seen) => {
    server.seen ??= seen
    end(`${seen.says}, and it must not see that; start it again`)
  })
  const following = setInterval(() => void forwarder?.urls(), portsMs)
  const server: Server = {
    name: nameOf(program),
    program,
    parts,
    hides,
    log: captureBothEnds(program.outputBytes, program.secrets, 0),
    errors: captureBothEnds(program.outputBytes, program.secrets, 0),
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

/** Waits until it listens and has said so, or has ended, or takes too long. */
async function untilReady(server: Server, signal?: AbortSignal): Promise<void> {
  const until = server.began + startMs
  let listens: number | undefined
  while (!server.end && performance.now() < until) {
    if ((await server.urls()).length) {
      const now = performance.now()
      listens ??= now
      if (now - Math.max(server.spoke, listens) > quietMs || now - listens > chattyMs) return
    }
    await Promise.race([pause(100), server.gone])
    signal?.throwIfAborted()
  }
}

function nameOf({ argv, cwd, env }: Program): string {
  return JSON.stringify([argv, cwd, env])
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ToolError } from '../../contracts/errors.ts'
import type { Program, Ran } from '../../contracts/stage.ts'
import { keepBothEnds, type Keeping } from '../output.ts'
import type { Shown, View } from './confine.ts'
import { openDoor, type Door } from './door.ts'
import { coverFrom, type Covered, type Hidden, type HiddenWatch } from './hidden.ts'
import { howItEnded, makeReady, mustHaveStarted, type LaunchEnd } from './launch.ts'
import { removeStage } from './places.ts'
import type { Confined, Probe } from './probe.ts'
import { nameStage, writeRecord, type StageOrigin } from './records.ts'
import { besideRelay, doorInside } from './relay.ts'
import { makeLayers } from './shelf.ts'
import type { Limits } from './watch.ts'

/** Programs that keep running: one at a time, seen by nobody but this machine, gone with Handrail. */
export interface Servers {
  /** Starts it, or finds it running, or ends it, as the program says. */
  run(found: Probe, program: Program, origin: StageOrigin, signal?: AbortSignal): Promise<Ran>
  close(): Promise<void>
}

export interface ServerParts {
  project: string
  limits: Limits
  hidden: HiddenWatch
  viewOf: (found: Confined, program: Program, shows: readonly Shown[], hides: readonly Covered[]) => View
}

interface Server {
  /** Which program it is. */
  readonly name: string
  readonly log: Keeping
  readonly errors: Keeping
  /** Which of its ports are opened under another number, in words. */
  elsewhere(): readonly string[]
  readonly began: number
  /** When it last printed something. */
  spoke: number
  end: LaunchEnd | undefined
  /** It was told to end and is on its way out. */
  ending: boolean
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
/** How often it is looked whether something hidden is uncovered, and whether its ports are others; the system takes long to list ports. */
const guardMs = 100
const portsMs = 1_000
/** The longest a timer can wait, 24 days: a server has no deadline. */
const noDeadlineMs = 2_147_483_647
const stopped = 'it was stopped'

export function openServers(parts: ServerParts): Servers {
  let current: Server | undefined
  let starting: Promise<unknown> = Promise.resolve()
  let closed = false

  const start = async (found: Confined, program: Program, origin: StageOrigin, signal?: AbortSignal): Promise<Ran> => {
    const name = nameOf(program)
    if (current && !current.end && !current.ending && current.name === name) return answer(current, program)
    await current?.stop(stopped)
    signal?.throwIfAborted()
    if (closed) throw new ToolError('E_IO', 'Handrail is closing', { hint: 'Start the server again when it is back.' })
    const before = current && farewell(current, program)
    const hides = await parts.hidden.look()
    const server = (current = launchServer(parts, found, program, origin, hides))
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

  const stop = async (program: Program): Promise<Ran> => {
    const server = current
    await server?.stop(stopped)
    if (current === server) current = undefined
    if (!server) return { ...nothing, stdout: keepBothEnds(0).end(), stderr: keepBothEnds(0).end() }
    // Why it was ended is in its log; that it is gone is what was asked for.
    const { ended: _, ...ran } = await answer(server, program)
    return ran
  }

  return {
    run(found, program, origin, signal) {
      if (!found.confined)
        throw new ToolError('E_UNSUPPORTED', `A program that keeps running is run confined or not at all. ${found.says}`, {
          hint: 'Start the server yourself, in a terminal. `handrail doctor` says what is missing to confine it.',
        })
      if (program.serves === 'stop') return stop(program)
      const started = starting.then(() => start(found, program, origin, signal))
      starting = started.catch(() => undefined)
      return started
    },
    async close() {
      closed = true
      await current?.stop('Handrail closed')
      await starting
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

async function answer(server: Server, program: Program): Promise<Ran> {
  const urls = await server.urls()
  const log = server.log.end()
  return {
    ...nothing,
    ...(server.end && howItEnded(server.end, program)),
    stdout: {
      ...log,
      text:
        server
          .elsewhere()
          .map((one) => `[handrail] ${one}\n`)
          .join('') + log.text,
    },
    stderr: server.errors.end(),
    ms: Math.round(performance.now() - server.began),
    serving: { running: server.end === undefined, urls },
  }
}

/** How a server ended that was not asked to. */
function farewell({ end }: Server, program: Program): string | undefined {
  if (!end || end.ended === stopped) return undefined
  const { ended, signal, exitCode } = howItEnded(end, program)
  return ended ?? (signal === undefined ? `exit code ${exitCode}` : signal)
}

function launchServer(
  parts: ServerParts,
  found: Confined,
  program: Program,
  origin: StageOrigin,
  hides: readonly Hidden[],
): Server {
  const folder = join(found.place, nameStage())
  try {
    mkdirSync(join(folder, 'door'), { recursive: true, mode: 0o700 })
    writeRecord(folder, { ...origin, confined: true })
    return supervise(parts, found, program, folder, hides)
  } catch (fault) {
    removeStage(folder)
    throw fault
  }
}

function supervise(parts: ServerParts, found: Confined, program: Program, folder: string, hides: readonly Hidden[]): Server {
  const { project, limits } = parts
  const doorstep = join(folder, 'door')
  // Many servers keep a cache there and do not start without it; all else is the project itself, read-only.
  const modules = join(project, 'node_modules')
  const layers = isFolder(modules) ? makeLayers(folder, found.place, modules) : undefined
  const shows = [
    { from: project, at: project, writes: false },
    ...(layers ? [{ from: layers.merged, at: modules, writes: true }] : []),
    { from: doorstep, at: doorInside, writes: true },
  ]
  let door: Door | undefined
  let end: (why: string) => void = () => undefined
  const hear = (log: Keeping, chunk: Buffer): void => {
    log.add(chunk)
    server.spoke = performance.now()
  }
  const running = makeReady(found.means, { folder, layers, limits }).run({
    program: { argv: besideRelay(program.argv), timeoutMs: noDeadlineMs },
    view: () => parts.viewOf(found, { ...program, network: false }, shows, coverFrom(folder, hides)),
    written: [doorstep, ...(layers ? [layers.upper] : [])],
    lookEveryMs: 500,
    onStarted: (way) =>
      (end = (why) => {
        server.ending = true
        way(why)
      }),
    onFirst: (pid) => (door = openDoor(doorstep, pid)),
    onOutput: (chunk) => hear(server.log, chunk),
    onErrors: (chunk) => hear(server.errors, chunk),
  })
  const guarding = guardHidden(parts, hides, (seen) =>
    end(`${seen} came after it was started, and it must not see that; start it again`),
  )
  const following = setInterval(() => void door?.urls(), portsMs)
  const server: Server = {
    name: nameOf(program),
    log: keepBothEnds(program.outputBytes, program.secrets, 0),
    errors: keepBothEnds(program.outputBytes, program.secrets, 0),
    elsewhere: () => (server.end ? [] : (door?.elsewhere() ?? [])),
    began: performance.now(),
    spoke: performance.now(),
    end: undefined,
    ending: false,
    urls: async () => (server.end ? [] : ((await door?.urls()) ?? [])),
    stop(why) {
      // Once it is gone its number may be somebody else's.
      if (!server.end) end(why)
      return server.gone
    },
    gone: running
      .catch((fault: Error): LaunchEnd => ({ ...lost, ended: `it could not be started: ${fault.message}` }))
      .then((how) => {
        guarding()
        clearInterval(following)
        door?.close()
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

/**
 * What is hidden is covered where it stood when the server started. A file that is made later, or put in the place of one, is
 * not covered: the first of them is told.
 */
function guardHidden({ hidden }: ServerParts, hides: readonly Hidden[], onSeen: (path: string) => void): () => void {
  const covered = new Map(hides.map(({ path, is }) => [path, is]))
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    const seen = (await hidden.look()).find(({ path, is }) => covered.get(path) !== is)
    looking = false
    if (seen) onSeen(seen.path)
  }
  // At once where the system tells; it does not everywhere, nor of what a file holds.
  const unfollow = hidden.follow(() => void look())
  const timer = setInterval(() => void look(), guardMs)
  return () => {
    unfollow()
    clearInterval(timer)
  }
}

function nameOf({ argv, cwd, env }: Program): string {
  return JSON.stringify([argv, cwd, env])
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { Fault } from '../../contracts/faults/fault.ts'
import { captureBothEnds } from '../output.ts'
import { runProcess } from '../process.ts'
import type { Shown } from './confine.ts'
import { guardHidden, guardOnly } from './hidden-guard.ts'
import { howItEnded, prepareSandbox, type LaunchEnd } from './launch.ts'
import { parentDeathWatchdog } from './parent-death-watchdog.ts'
import { removeStage } from './places.ts'
import type { Probe } from './probe.ts'
import { nameStage } from './records.ts'
import type { ServerParts } from './server.ts'
import { holds, whyNotShown, whySecret, type BindRules } from './bind-rules.ts'

/** A program that stays and is talked to: an MCP server of somebody else's. */
export interface StdioServerProgram {
  argv: readonly string[]
  env: Readonly<Record<string, string>>
  /** What it takes to run it: its own files. */
  parts: readonly string[]
  /** Folders the person lets it read, and change. */
  reads: readonly string[]
  writes: readonly string[]
  network: boolean
  /** The person lets it run as it is. */
  unconfined: boolean
  /** Words it is given that nobody shall see. */
  secrets: readonly string[]
}

export interface StdioServer {
  readonly stdin: Writable
  /** Ends it with all it started; settles once nothing of it is left. */
  end(why: string): Promise<void>
  /** How it ended, in words, with the last it said on stderr. */
  readonly gone: Promise<string>
}

export interface StdioServerHost {
  open(program: StdioServerProgram, onOutput: (chunk: Buffer) => void): Promise<StdioServer>
  /** Ends those that are left. */
  close(): Promise<void>
}

/** The longest a timer can wait: it has no deadline. */
const noDeadlineMs = 2_147_483_647
const errorBytes = 4_000

export function openStdioServers(given: {
  parts: ServerParts
  bindRules: () => BindRules
  probed: () => Promise<Probe>
  /** Variables every program gets. */
  env: () => Record<string, string>
  place: () => string
}): StdioServerHost {
  const { parts, bindRules } = given
  const project = parts.project.path
  const open = new Set<StdioServer>()

  const mayShow = (paths: readonly string[]): void => {
    for (const path of paths) {
      const why = path === project ? undefined : (whyNotShown(path, bindRules()) ?? whySecret(path))
      if (why !== undefined || !existsSync(path))
        throw new Fault('unsupported', `A mounted server may not be shown ${path}: ${why ?? 'it is not there'}`, {
          hint: 'Name the very folder it works on in reads or writes of the setting mounts.',
        })
    }
  }

  /** What it sees besides the system: outer folders first, so that one inside another can be changed. */
  const shownTo = ({ reads, writes }: StdioServerProgram): Shown[] =>
    [...reads.map((at) => ({ from: at, at, writes: false })), ...writes.map((at) => ({ from: at, at, writes: true }))].sort(
      (one, other) => one.at.length - other.at.length,
    )

  const confined = async (
    found: Probe & { confined: true },
    program: StdioServerProgram,
    folder: string,
    hear: Hear,
  ): Promise<Started> => {
    const shows = shownTo(program)
    const outside = [...program.reads, ...program.writes, ...program.parts].filter((path) => !holds(project, path))
    const asked = {
      argv: program.argv,
      cwd: '',
      timeoutMs: noDeadlineMs,
      outputBytes: 0,
      reads: program.parts,
      network: program.network,
      env: program.env,
    }
    const hiddenView = parts.hiddenViewOf({ ...asked, reads: outside })
    const hides = await hiddenView.scan()
    const sees = shows.map(({ at }) => at)
    const isSeen = (one: { at: { toString(): string } }): boolean =>
      [...sees, ...program.parts].some((path) => holds(path, one.at.toString()))
    const covers = hides.filter(isSeen)
    let stdin: Writable | undefined
    let end = (_why: string): void => undefined
    const running = prepareSandbox(found.means, {
      folder,
      layers: undefined,
      limits: parts.limits,
      onInput: (pipe) => (stdin = pipe),
    }).run({
      program: asked,
      view: () => ({
        ...parts.viewOf(found, asked, { folder, shows, hides: covers }),
        cwd: sees.includes(project) ? project : (program.writes[0] ?? '/tmp'),
      }),
      written: [folder],
      lookEveryMs: 500,
      onStarted: (way) => (end = way),
      ...hear,
    })
    const unguard = guardHidden(
      guardOnly(hiddenView, isSeen),
      covers,
      '',
      ({ says }) => end(`${says}, and it must not see that`),
      true,
    )
    return { stdin: stdin as unknown as Writable, end: (why) => end(why), over: running.finally(unguard) }
  }

  /** In a group of its own, with an environment and a home of its own: all that can be done without namespaces. */
  const unconfined = (program: StdioServerProgram, folder: string, hear: Hear): Started => {
    const home = join(folder, 'home')
    mkdirSync(home, { mode: 0o700 })
    let stdin: Writable | undefined
    let end = (_why: string): void => undefined
    const over = runProcess({
      file: '/bin/sh',
      args: ['-c', `${parentDeathWatchdog}\nexec "$@" 3<&-`, 'run', ...program.argv],
      cwd: program.writes[0] ?? program.reads[0] ?? home,
      env: { ...given.env(), TMPDIR: home, HOME: home, ...program.env },
      timeoutMs: noDeadlineMs,
      mark: folder,
      onInput: (pipe) => (stdin = pipe),
      onStarted: (_pid, way) => (end = way),
      onFacts: () => undefined,
      ...hear,
    })
    return { stdin: stdin as unknown as Writable, end: (why) => end(why), over }
  }

  return {
    async open(program, onOutput) {
      mayShow([...program.reads, ...program.writes])
      const found = await given.probed()
      if (!found.confined && !program.unconfined)
        throw new Fault('unsupported', `A mounted server is run confined, or as you say. ${found.says}`, {
          hint: '`"unconfined": true` in its entry of the setting mounts lets it run as it is. `handrail doctor` says what is missing to confine it.',
        })
      const folder = join(found.confined ? found.place : given.place(), nameStage())
      mkdirSync(folder, { mode: 0o700 })
      const errors = captureBothEnds(errorBytes, program.secrets, 0)
      const hear: Hear = { onOutput, onErrors: (chunk) => errors.add(chunk) }
      try {
        const started =
          found.confined && !program.unconfined ? await confined(found, program, folder, hear) : unconfined(program, folder, hear)
        const gone = started.over.then(
          (how) => inWords(how, errors.end().text),
          (fault: Error) => `it could not be started: ${fault.message}`,
        )
        const server: StdioServer = {
          stdin: started.stdin,
          async end(why) {
            started.end(why)
            await gone
          },
          gone: gone.finally(() => {
            open.delete(server)
            removeStage(folder)
          }),
        }
        open.add(server)
        return server
      } catch (fault) {
        removeStage(folder)
        throw fault
      }
    },
    async close() {
      await Promise.all([...open].map((one) => one.end('Handrail closed')))
    },
  }
}

interface Hear {
  onOutput: (chunk: Buffer) => void
  onErrors: (chunk: Buffer) => void
}

interface Started {
  stdin: Writable
  end(why: string): void
  over: Promise<LaunchEnd | Awaited<ReturnType<typeof runProcess>>>
}

function inWords(end: Parameters<typeof howItEnded>[0], errors: string): string {
  const { ended, signal, exitCode } = howItEnded(end, { argv: [], cwd: '', timeoutMs: noDeadlineMs, outputBytes: 0 })
  const how = ended ?? (signal === undefined ? `exit code ${exitCode}` : signal)
  const said = errors.trim()
  return said === '' ? how : `${how}; it said: ${said}`
}

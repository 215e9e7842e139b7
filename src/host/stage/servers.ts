import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Program, ProgramResult } from '../../contracts/stage.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { captureBothEnds } from '../output.ts'
import { mustHaveStarted } from './launch.ts'
import type { Mirror } from './mirror.ts'
import { removeStage } from './places.ts'
import type { KnownPort } from './port-forwarder.ts'
import type { Confined, Probe } from './probe.ts'
import { nameStage, writeRecord, type StageOrigin } from './records.ts'
import { follow, type ServerRecords } from './server-records.ts'
import { answer, closing, farewell, nameOf, nothing, stopped, supervise, untilReady, whyNot } from './server.ts'
import type { Server, ServerParts } from './server.ts'

/**
 * Programs that keep running: one at a time, seen by nobody but this machine, gone with Handrail. They go on when the settings change, under
 * those they were started with.
 */
export interface Servers {
  /** Starts it, or finds it running, or ends it, as the program says. */
  run(found: Probe, parts: ServerParts, program: Program, origin: StageOrigin, signal?: AbortSignal): Promise<ProgramResult>
  /** The settings are others now: what runs and sees something that these hide is ended. */
  recheck(parts: ServerParts): Promise<void>
  stop(why: string): Promise<void>
  /** The names, with their ports, under which the pages of what runs are shown. */
  hosts(): readonly string[]
  /** Settles once nothing runs that was started with these parts. */
  over(parts: ServerParts): Promise<void>
  close(): Promise<void>
}

export function openServers(records: ServerRecords): Servers {
  let current: Server | undefined
  const knownPorts = new Map<number, KnownPort>()
  const inTurn = openSerialQueue()
  let closed = false
  const ending = new AbortController()
  let stops = 0

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
    if (closed) throw isClosing()
    const before = current && farewell(current, program)
    const asked = stops
    const until = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal
    const server = (current = await launchServer(records, parts, found, program, origin, knownPorts, until))
    // Somebody wanted it gone before it was there.
    if (closed || stops !== asked) {
      await server.stop(closed ? closing : stopped)
      return answer(server, program)
    }
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
    stops++
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
    recheck: (parts) =>
      inTurn(async () => {
        const server = current
        if (!server || server.end || server.ending || server.parts === parts) return
        const why = await whyNot(server, parts).catch((fault: Error) => fault.message)
        if (why !== undefined) await server.stop(`the settings are others now: ${why}`)
      }),
    async stop(why) {
      stops++
      await current?.stop(why)
    },
    hosts: () => current?.hosts() ?? [],
    async over(parts) {
      await inTurn(() => undefined)
      if (current?.parts === parts) await current.gone
    },
    async close() {
      closed = true
      ending.abort(isClosing())
      await current?.stop(closing)
      await inTurn(() => undefined)
    },
  }
}

const isClosing = (): Fault => new Fault('io', 'Handrail is closing', { hint: 'Start the server again when it is back.' })

async function launchServer(
  records: ServerRecords,
  parts: ServerParts,
  found: Confined,
  program: Program,
  origin: StageOrigin,
  knownPorts: Map<number, KnownPort>,
  signal: AbortSignal,
): Promise<Server> {
  const folder = join(found.place, nameStage())
  let mirror: Mirror | undefined
  try {
    mkdirSync(join(folder, 'door'), { recursive: true, mode: 0o700 })
    writeRecord(folder, { ...origin, confined: true })
    const hiddenView = parts.hiddenViewOf(program)
    let lostFor: string | undefined
    let lost = (why: string): void => void (lostFor ??= why)
    // Loaded when there is a server: every other start does without.
    const { openMirror } = await import('./mirror.ts')
    mirror = await openMirror({ ...parts, hiddenView, folder: join(folder, 'mirror'), onLost: (why) => lost(why), signal })
    const hides = await hiddenView.scan()
    let server: Server | undefined
    const record = records.begin(program, origin, () => void server?.stop(stopped))
    try {
      const running = (server = supervise(parts, hiddenView, found, program, folder, hides, knownPorts, mirror))
      lost = (why) => void running.stop(why)
      // It may have been lost before there was a server to end.
      if (lostFor !== undefined) lost(lostFor)
    } catch (fault) {
      record.ended({ how: (fault as Error).message, failed: true, log: '' })
      throw fault
    }
    follow(server, record)
    return server
  } catch (fault) {
    mirror?.close()
    removeStage(folder)
    throw fault
  }
}

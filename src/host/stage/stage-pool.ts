import { chmodSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Layers, PreparedSandbox } from './launch.ts'
import { recordFile, removeStage, reuseEmptied } from './places.ts'
import { nameStage, writeRecord, type StageRecord } from './records.ts'

/** A stage on which nothing has run. */
export interface IdleStage {
  folder: string
  layers: Layers
  ready: PreparedSandbox
}

/**
 * Where idle stages come from. Where one was taken a moment ago the next is set up beside the program that runs. No folder that a
 * program sees is used twice, however it looks: a time or an attribute on it would be a letter from one call to the next.
 */
export interface StagePool {
  /** With when it was taken, by the clock of its own file system. */
  take(record: StageRecord): IdleStage & { since: bigint }
  /** A program runs on one: the time to set up the next. */
  started(): void
  close(): Promise<void>
}

/** Nobody else's disk is held by a stage that nobody wants. */
export const idleMs = 60_000

export function openStagePool(
  place: string,
  project: string,
  setUp: (folder: string, layers: Layers) => PreparedSandbox,
  /** Tells one that is set up ahead what its program will see, where that can be known. */
  foretell: (stage: IdleStage) => void = () => undefined,
): StagePool {
  let next: (IdleStage & { of: string; idle: NodeJS.Timeout }) | undefined
  let closed = false
  let begun = Number.NEGATIVE_INFINITY
  const dropping = new Set<Promise<void>>()

  const make = (): IdleStage => {
    const folder = join(place, nameStage())
    reuseEmptied(folder)
    const layers = makeLayers(folder, place, project)
    try {
      return { folder, layers, ready: setUp(folder, layers) }
    } catch (fault) {
      removeStage(folder)
      throw fault
    }
  }
  const drop = ({ folder, ready }: IdleStage): void => {
    const gone = ready.drop().then(() => {
      removeStage(folder)
      dropping.delete(gone)
    })
    dropping.add(gone)
  }
  const takeNext = (): typeof next => {
    const taken = next
    next = undefined
    clearTimeout(taken?.idle)
    return taken
  }
  const dropNext = (): void => {
    const taken = takeNext()
    if (taken) drop(taken)
  }
  const prepare = (): void => {
    if (closed) return
    try {
      if (next) return
      const of = identity(project)
      next = { ...make(), of, idle: setTimeout(dropNext, idleMs).unref() }
      foretell(next)
    } catch {
      dropNext()
      // Then the next call finds out, and says so.
    }
  }

  return {
    take(record) {
      // The folder it was set up over may be another one by now, and somebody may have ended what waits.
      if (next && (next.of !== identity(project) || !next.ready.waits())) dropNext()
      const { folder, layers, ready } = takeNext() ?? make()
      try {
        writeRecord(folder, record)
        return { folder, layers, ready, since: lstatSync(join(folder, recordFile), { bigint: true }).ctimeNs }
      } catch (fault) {
        drop({ folder, layers, ready })
        throw fault
      }
    },
    started() {
      const now = performance.now()
      // After what this one is told has gone out.
      if (now - begun < idleMs) setImmediate(prepare)
      begun = now
    },
    async close() {
      closed = true
      dropNext()
      await Promise.all(dropping)
    },
  }
}

/** Which folder this is, and what its top looks like: both are fixed when a stage is set up over it. */
function identity(project: string): string {
  const stat = statSync(project, { throwIfNoEntry: false })
  return stat ? `${stat.dev} ${stat.ino} ${stat.mode}` : ''
}

/** Every stage is mounted in a namespace of its own, so that all can use the same two empty folders to mount on. */
export function makeLayers(folder: string, place: string, lower: string): Layers {
  const layers = {
    lower,
    upper: join(folder, 'upper'),
    work: join(folder, 'work'),
    merged: join(place, 'merged'),
    plainLower: join(place, 'lower'),
  }
  for (const shared of [layers.merged, layers.plainLower]) mkdirSync(shared, { recursive: true, mode: 0o700 })
  for (const own of [folder, layers.work]) mkdirSync(own, { recursive: true, mode: 0o700 })
  // New, or not at all.
  mkdirSync(layers.upper, { mode: 0o700 })
  // The top of the stage looks like the top of the project.
  chmodSync(layers.upper, statSync(lower).mode & 0o777)
  return layers
}

import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Layers, Ready } from './launch.ts'
import { removeStage } from './places.ts'
import { nameStage, recordFile, writeRecord, type StageRecord } from './records.ts'

/** A stage on which nothing has run. */
export interface Bare {
  folder: string
  layers: Layers
  ready: Ready
}

/**
 * Where bare stages come from. Where one was taken a moment ago the next is set up beside the program that runs, and one that a
 * program left as it was made is used again: most commands only read, and setting up would cost them as much as running.
 */
export interface Shelf {
  /** With when it was taken, by the clock of its own file system. */
  take(record: StageRecord): Bare & { since: bigint }
  /** No trace is left of what ran on it. */
  leave(folder: string): void
  close(): Promise<void>
}

/** Nobody else's disk is held by a stage that nobody wants. */
export const idleMs = 60_000

export function openShelf(place: string, project: string, setUp: (folder: string, layers: Layers) => Ready): Shelf {
  let emptied: string | undefined
  let next: (Bare & { of: string; idle: NodeJS.Timeout }) | undefined
  let preparing: NodeJS.Immediate | undefined
  let taken = Number.NEGATIVE_INFINITY
  const dropping = new Set<Promise<void>>()

  const takeEmptied = (): string | undefined => {
    const folder = emptied
    emptied = undefined
    if (folder === undefined || isBare(folder, project)) return folder
    return void removeStage(folder)
  }
  const make = (): Bare => {
    const again = takeEmptied()
    const folder = again ?? join(place, nameStage())
    const layers = again === undefined ? makeLayers(folder, place, project) : layersOf(folder, place, project)
    try {
      return { folder, layers, ready: setUp(folder, layers) }
    } catch (fault) {
      removeStage(folder)
      throw fault
    }
  }
  const drop = ({ folder, ready }: Bare): void => {
    const gone = ready.drop().then(() => {
      removeStage(folder)
      dropping.delete(gone)
    })
    dropping.add(gone)
  }
  const takeNext = (): Bare | undefined => {
    if (!next) return undefined
    const { idle, of, ...bare } = next
    next = undefined
    clearTimeout(idle)
    // The folder it was set up over may be another one by now, and somebody may have ended what waits.
    if (of === identity(project) && bare.ready.waits()) return bare
    return void drop(bare)
  }
  const dropNext = (): void => {
    const bare = takeNext()
    if (bare) drop(bare)
  }
  const prepare = (): void => {
    try {
      const of = identity(project)
      next ??= { ...make(), of, idle: setTimeout(dropNext, idleMs).unref() }
    } catch {
      // Then the next call finds out, and says so.
    }
  }

  return {
    take(record) {
      const bare = takeNext() ?? make()
      writeRecord(bare.folder, record)
      const since = lstatSync(join(bare.folder, recordFile), { bigint: true }).ctimeNs
      const now = performance.now()
      // Not before this one is told what to run.
      if (now - taken < idleMs) preparing = setImmediate(prepare)
      taken = now
      return { ...bare, since }
    },
    leave(folder) {
      if (emptied === undefined && isBare(folder, project)) {
        unlinkSync(join(folder, recordFile))
        emptied = folder
      } else removeStage(folder)
    },
    async close() {
      clearImmediate(preparing)
      dropNext()
      await Promise.all(dropping)
      const last = takeEmptied()
      if (last !== undefined) removeStage(last)
    },
  }
}

/** Which folder this is, and what its top looks like: both are fixed when a stage is set up over it. */
function identity(project: string): string {
  const { dev, ino, mode } = statSync(project)
  return `${dev} ${ino} ${mode}`
}

/** Every stage is mounted in a namespace of its own, so that all can use the same two empty folders to mount on. */
export function layersOf(folder: string, place: string, lower: string): Layers {
  return {
    lower,
    upper: join(folder, 'upper'),
    work: join(folder, 'work'),
    merged: join(place, 'merged'),
    plainLower: join(place, 'lower'),
  }
}

export function makeLayers(folder: string, place: string, lower: string): Layers {
  const layers = layersOf(folder, place, lower)
  for (const shared of [layers.merged, layers.plainLower]) mkdirSync(shared, { recursive: true, mode: 0o700 })
  for (const own of [folder, layers.upper, layers.work]) mkdirSync(own, { recursive: true, mode: 0o700 })
  // The top of the stage looks like the top of the project.
  chmodSync(layers.upper, statSync(lower).mode & 0o777)
  return layers
}

function isBare(folder: string, project: string): boolean {
  try {
    const upper = join(folder, 'upper')
    return readdirSync(upper).length === 0 && (lstatSync(upper).mode & 0o777) === (statSync(project).mode & 0o777)
  } catch {
    return false
  }
}

import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Layers } from './launch.ts'
import { removeStage } from './places.ts'
import { nameStage, recordFile, writeRecord, type StageRecord } from './records.ts'

/** A stage that is set up and has not run. */
export interface Bare {
  folder: string
  layers: Layers
  /** When it was set up, by the clock of its own file system. */
  since: bigint
}

/**
 * Where bare stages come from. One that a program left as it was made is used again: most commands only read, and making
 * and removing folders would cost them as much as running.
 */
export interface Shelf {
  take(record: StageRecord): Bare
  /** No trace is left of what ran on it. */
  leave(folder: string): void
  close(): void
}

export function openShelf(place: string, project: string): Shelf {
  let spare: string | undefined
  const make = (): string => {
    const folder = join(place, nameStage())
    makeLayers(folder, place, project)
    return folder
  }
  return {
    take(record) {
      const folder = spare ?? make()
      spare = undefined
      writeRecord(folder, record)
      const since = lstatSync(join(folder, recordFile), { bigint: true }).ctimeNs
      return { folder, layers: layersOf(folder, place, project), since }
    },
    leave(folder) {
      if (spare === undefined && isBare(folder, project)) {
        // An empty record is none, and costs less than taking it away.
        truncateSync(join(folder, recordFile))
        spare = folder
      } else removeStage(folder)
    },
    close() {
      if (spare !== undefined) removeStage(spare)
      spare = undefined
    },
  }
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

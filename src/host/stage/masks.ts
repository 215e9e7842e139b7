import { writeFileSync } from 'node:fs'
import type { Place } from './entries.ts'
import type { Hidden } from './hidden.ts'

/** What a program is confined with in the place of what it must not see. */
export interface Mask {
  /** Where the program would find it. */
  at: Place
  folder: boolean
  /** The file that stands in its place; an empty one by default. */
  by?: string
}

interface Moved {
  from: string
  at: string
}

/** Lays down what stands in the place of hidden files, in the folder of a stage. `moved` are folders that are shown elsewhere than they lie. */
export function writeMasks(stage: string, hidden: readonly Hidden[], moved: readonly Moved[]): Mask[] {
  return hidden.map(({ at: lies, folder, instead }, index) => {
    const at = moved.reduce(asShown, lies)
    if (instead === undefined) return { at, folder }
    const by = `${stage}/cover-${index}`
    writeFileSync(by, instead, { mode: 0o600 })
    return { at, folder, by }
  })
}

function asShown(lies: Place, { from, at }: Moved): Place {
  if (!lies.toString().startsWith(`${from}/`)) return lies
  return typeof lies === 'string'
    ? at + lies.slice(from.length)
    : Buffer.concat([Buffer.from(at), lies.subarray(Buffer.byteLength(from))])
}

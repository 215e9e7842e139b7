import { includesIn, type IncludeRow } from '../../text/files-that-run/includes.ts'
import { joined } from '../../text/files-that-run/names-in.ts'
import type { Pace } from '../../text/steps.ts'
import { readSmall } from '../small-file.ts'
import { stampOf } from './found.ts'

/** What a file takes in, in its own words. */
export interface Included {
  row: IncludeRow
  /** The file that runs by itself or on an everyday command, whoever took in what lies between. */
  starter: string
  folder: string
  words: readonly string[]
}

/** Every place that was looked at, as it was. */
export type Stamps = ReadonlyMap<string, string | undefined>

export interface Found {
  starter: string
  words: readonly string[]
  /** The folders that the words count from. */
  bases: readonly string[]
}

const deepest = 8
/** Places that are looked at behind all includes of a project. */
const mostPlaces = 1_000
const longestRead = 262_144

/** Follows files that are taken in to those which they take in themselves, as far as that goes in small steps. */
export async function followIncludes(
  root: string,
  given: readonly Included[],
  pace: Pace,
): Promise<{ found: Found[]; stamps: Stamps }> {
  const stamps = new Map<string, string | undefined>()
  const found: Found[] = []
  const read = new Set<string>()
  for (let level = given, depth = 0; level.length > 0; depth++) {
    const next: Included[] = []
    for (const { row, starter, folder, words } of level) {
      const bases = [...new Set([folder, folderOf(starter), ''])]
      found.push({ starter, words, bases })
      for (const path of row.deep && depth < deepest ? placesOf(words, bases) : []) {
        if (stamps.size >= mostPlaces) break
        if (pace.due()) await pace.turn()
        if (read.has(path)) continue
        read.add(path)
        const at = `${root}/${path}`
        stamps.set(at, stampOf(at))
        const more = stamps.get(at) === undefined ? [] : includesIn(row, readSmall(at, longestRead) ?? '')
        if (more.length > 0) next.push({ row, starter, folder: folderOf(path), words: more })
      }
      if (pace.due()) await pace.turn()
    }
    level = next
  }
  return { found, stamps }
}

/** Where the files may lie that these words name: what a variable stands for is left out. */
function* placesOf(words: readonly string[], bases: readonly string[]): Generator<string> {
  for (const one of words)
    for (const word of one.split(/[\s"'`,;:()[\]{}=]+/))
      for (const base of /[./]/.test(word) ? bases : []) {
        const path = joined(base, word.replaceAll('\\', '/').replace(/^\$\w*/, ''))
        if (path) yield path
        if (path && !/\.\w+$/.test(path)) yield `${path}.json`
      }
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPace } from '../../text/steps.ts'
import type { Hidden } from './hidden.ts'

/** More are not looked through for a file that has several names. */
const mostFiles = 20_000

/**
 * Which files lie in folders that are hidden, as `dev ino`: they may have plain names elsewhere. Nothing where that is not known: there are too many,
 * or one cannot be looked into.
 */
export async function filesBelow(hidden: readonly Hidden[]): Promise<ReadonlySet<string> | undefined> {
  const files = new Set<string>()
  const pace = openPace()
  const waiting = hidden.filter(({ folder }) => folder).map(({ at }) => at.toString())
  let looked = 0
  try {
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (++looked > mostFiles) return undefined
        const at = join(folder, entry.name)
        if (entry.isDirectory()) waiting.push(at)
        else if (entry.isFile()) {
          const stat = lstatSync(at, { bigint: true, throwIfNoEntry: false })
          if (stat && stat.nlink > 1n) files.add(`${stat.dev} ${stat.ino}`)
        }
        if (pace.due()) await pace.turn()
      }
    return files
  } catch {
    return undefined
  }
}

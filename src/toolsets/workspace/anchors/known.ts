import { createHash } from 'node:crypto'
import type { Factory } from '../../../contracts/anchors.ts'
import { canonical } from '../../../text/canonical.ts'
import { openPace } from '../../../text/steps.ts'
import type { FileAnchors } from './definitions.ts'

/** Where it is kept from one process to the next. Losing it costs time and nothing else. */
export interface KnownAnchors {
  read(name: string): string | undefined
  write(name: string, text: string): Promise<void>
}

/** Raised with what is found in a file: what another build of Handrail found is looked for again. */
const form = 'anchors-1'

interface Kept extends FileAnchors {
  stamp: string
}

/** What was found in files that have not changed since, by the project and the factories; the oldest project goes first. */
const inMemory = new Map<string, Map<string, Kept>>()
const mostInMemory = 4

/** What is known of the files of a project, by how they looked then. */
export interface Known {
  of(file: string, stamp: string): FileAnchors | undefined
  learn(file: string, stamp: string, found: FileAnchors): void
  /** Keeps what was asked for and what was learnt; files that nobody asked for are gone. */
  keep(): Promise<void>
}

export async function openKnown(
  store: KnownAnchors,
  root: string,
  factories: readonly Factory[],
  /** What was looked through, ending with a stroke: of other folders everything stays. */
  base: string,
  signal?: AbortSignal,
): Promise<Known> {
  const name = createHash('sha256')
    .update(canonical([form, root, factories]))
    .digest('hex')
    .slice(0, 32)
  const before = inMemory.get(name) ?? (await read(store.read(name), signal))
  const after = new Map([...before].filter(([file]) => !file.startsWith(base)))
  let learnt = false
  return {
    of(file, stamp) {
      const kept = before.get(file)
      if (kept?.stamp !== stamp) return undefined
      after.set(file, kept)
      return kept
    },
    learn(file, stamp, found) {
      learnt = true
      after.set(file, { ...found, stamp })
    },
    async keep() {
      inMemory.delete(name)
      inMemory.set(name, after)
      if (inMemory.size > mostInMemory) inMemory.delete(inMemory.keys().next().value as string)
      if (learnt || after.size !== before.size) await store.write(name, await written(after, signal))
    },
  }
}

/** A line for each file. */
async function written(all: ReadonlyMap<string, Kept>, signal?: AbortSignal): Promise<string> {
  const lines: string[] = []
  const pace = openPace(signal)
  for (const [file, { stamp, entries, raw, unreadable }] of all) {
    if (pace.due()) await pace.turn()
    const found = entries.length > 0 || raw.length > 0 ? [entries, raw, ...(unreadable ? [true] : [])] : []
    lines.push(JSON.stringify([file, stamp, ...found]))
  }
  return lines.join('\n')
}

async function read(text: string | undefined, signal?: AbortSignal): Promise<Map<string, Kept>> {
  const all = new Map<string, Kept>()
  const pace = openPace(signal)
  try {
    for (const line of text?.split('\n') ?? []) {
      if (pace.due()) await pace.turn()
      if (line === '') continue
      type Line = [file: string, stamp: string, entries?: Kept['entries'], raw?: Kept['raw'], unreadable?: boolean]
      const [file, stamp, entries = [], raw = [], unreadable] = JSON.parse(line) as Line
      all.set(file, { stamp, entries, raw, ...(unreadable && { unreadable }) })
    }
  } catch (cause) {
    // A file that was cut off is as good as none.
    if (!(cause instanceof SyntaxError) && !(cause instanceof TypeError)) throw cause
    return new Map()
  }
  return all
}

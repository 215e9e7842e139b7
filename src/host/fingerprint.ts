import { createHash, type Hash } from 'node:crypto'
import { lstatSync, opendirSync, type Stats } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../contracts/faults/fault.ts'
import { openPace } from '../text/steps.ts'

const mostEntries = 500_000
/** A file system tells times in ticks of a few milliseconds: what was changed within the last one might be changed again unseen. */
const tickMs = 20
const mostWalks = 4

/**
 * A fingerprint of everything below a folder: names, kinds, sizes, permissions, and the times of change, which no program can set back.
 * Whatever is written, moved, replaced or removed there makes it another word. `skip` names what stands at the top and is not ours to see.
 */
export async function fingerprint(
  folder: string,
  skip: readonly string[],
  signal?: AbortSignal,
  most = mostEntries,
): Promise<string> {
  for (let walks = 1; ; walks++) {
    const began = Date.now()
    const { word, newest } = await walk(folder, skip, most, signal)
    if (newest < began - tickMs || walks === mostWalks) return word
    await pause(tickMs * 2, undefined, { ...(signal && { signal }) })
  }
}

async function walk(
  folder: string,
  skip: readonly string[],
  most: number,
  signal?: AbortSignal,
): Promise<{ word: string; newest: number }> {
  const hash = createHash('sha256')
  const folders = [Buffer.from(folder)]
  let entries = 0
  let newest = 0
  const pace = openPace(signal)
  for (let at = folders.pop(); at; at = folders.pop()) {
    const top = entries === 0
    for (const name of namesIn(at, hash)) {
      if (top && skip.includes(name.toString('utf8'))) continue
      if (++entries > most) throw tooLarge(most)
      const path = Buffer.concat([at, slash, name])
      const stat = lookAt(path)
      hash.update(name).update(wordOf(stat))
      if (stat) newest = Math.max(newest, stat.ctimeMs)
      if (stat?.isDirectory()) folders.push(path)
      if (pace.due()) await pace.turn()
    }
  }
  return { word: hash.digest('hex'), newest }
}

const slash = Buffer.from('/')

/** One name at a time, however many there are. What cannot be read is as much a state as what can. */
function* namesIn(folder: Buffer, hash: Hash): Generator<Buffer> {
  hash.update('\0folder\0').update(folder)
  let opened
  try {
    opened = opendirSync(folder as unknown as string, { encoding: 'buffer' as never })
  } catch (cause) {
    hash.update((cause as NodeJS.ErrnoException).code ?? 'unreadable')
    return
  }
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) yield entry.name as unknown as Buffer
  } finally {
    opened.closeSync()
  }
}

function lookAt(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** A folder's own times change with every name in it, and those are told one by one. */
function wordOf(stat: Stats | undefined): string {
  if (!stat) return '\0nothing\0'
  const { dev, ino, mode, size, mtimeMs, ctimeMs } = stat
  return stat.isDirectory() ? `\0${dev} ${ino} ${mode}\0` : `\0${dev} ${ino} ${mode} ${size} ${mtimeMs} ${ctimeMs}\0`
}

function tooLarge(most: number): Fault {
  return new Fault('too-large', `The project has more than ${most} files: nobody can agree to a run on all of them`, {
    details: { most },
    hint: 'Run it without the network, on a stage, where its effect is shown afterwards; or open a smaller folder as the project.',
  })
}

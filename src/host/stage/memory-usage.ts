import { readFileSync, readdirSync } from 'node:fs'
import { readFile, readdir, stat, statfs } from 'node:fs/promises'
import { each, runInSlices } from '../../text/steps.ts'

/** What processes hold that lies in no folder: memory, and files whose name is gone. */

/**
 * Memory of some processes, each page once for all who share it. First what the system tells at once, in which what is shared
 * counts for each; only where that is too much is it counted exactly, which takes the system a walk through every page. `shared` is
 * what is known to lie in shared memory, whether anybody has it before him at the moment or not.
 */
export async function memoryOf(pids: readonly number[], most: number, shared = 0): Promise<number> {
  const rough = await runInSlices(each(pids, roughBytes))
  const sum = together(rough, shared)
  if (sum <= most) return sum
  const exact: Bytes[] = []
  for (const [index, pid] of pids.entries()) exact.push((await exactBytes(pid)) ?? (rough[index] as Bytes))
  // They are looked at one after the other. Where one ends meanwhile its part falls to those that come later, and was counted
  // already: only those count that were there all the time, whose parts cannot be more than the whole.
  const still = await runInSlices(each(pids, (pid) => hasMemory(statusOf(pid).text)))
  return together(
    exact.filter((_, index) => still[index]),
    shared,
  )
}

interface Bytes {
  own: number
  shared: number
}

function together(all: readonly Bytes[], shared: number): number {
  const sum = all.reduce((some, one) => ({ own: some.own + one.own, shared: some.shared + one.shared }), { own: 0, shared: 0 })
  return sum.own + Math.max(sum.shared, shared)
}

/** One that is ending has given its memory back, or is about to. */
const hasMemory = (status: string): boolean => status.includes('\nVmRSS:')

/** Where a process is told of: where its first thread has ended, nothing is told there, and all of it under any other of its threads. */
function statusOf(pid: number): { place: string; text: string } {
  const place = `/proc/${pid}`
  const text = textOf(`${place}/status`)
  if (hasMemory(text)) return { place, text }
  for (const thread of threadsOf(pid)) {
    const status = textOf(`${place}/task/${thread}/status`)
    if (hasMemory(status)) return { place: `${place}/task/${thread}`, text: status }
  }
  return { place, text }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Of its own, swapped out, and what it takes to keep track of it; shared with others but no file's. */
function roughBytes(pid: number): Bytes {
  const { text } = statusOf(pid)
  return {
    own: sumOf(text, /^(?:RssAnon|VmSwap|VmPTE):\s+(\d+) kB$/gm),
    shared: sumOf(text, /^RssShmem:\s+(\d+) kB$/gm),
  }
}

let walking: Promise<unknown> = Promise.resolve()

/**
 * A program decides how many pages there are to walk through, seconds' worth of them: beside the event loop, and one process at a
 * time among all programs, so that the few threads that read files for everybody stay free.
 */
function walkedText(path: string): Promise<string> {
  const text = walking.then(() => readFile(path, 'latin1').catch(() => ''))
  walking = text
  return text
}

async function exactBytes(pid: number): Promise<Bytes | undefined> {
  const { place, text: status } = statusOf(pid)
  const text = await walkedText(`${place}/smaps_rollup`)
  if (!text.includes('Pss_Shmem:')) return undefined
  return {
    own: sumOf(text, /^(?:Pss_Anon|SwapPss):\s+(\d+) kB$/gm) + sumOf(status, /^VmPTE:\s+(\d+) kB$/gm),
    shared: sumOf(text, /^Pss_Shmem:\s+(\d+) kB$/gm),
  }
}

function sumOf(text: string, pattern: RegExp): number {
  let kilobytes = 0
  for (const [, value] of text.matchAll(pattern)) kilobytes += Number(value)
  return kilobytes * 1_024
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

export interface UnlinkedUsage {
  /** Bytes of files that have no name any more and are still there. */
  bytes: number
  /** Bytes of memory that processes share, whether they have it before them or let go of it. */
  shared: number
  /** Who lets nobody see what it has open. */
  shut: number[]
  /** There is more open and mapped than was looked at. */
  tooMany: boolean
}

/** Files that are open, and mappings of what has no name, of all processes together: each costs a question to the system. */
const mostLooked = 100_000
/** Lists of mappings are long for who makes many; so much of them counts as one. */
const listBytes = 1_024

/**
 * What is open, or mapped, and has no name any more. Either alone may be all of it, so the larger one counts. `seen` is what was
 * seen of shared memory so far: what is no longer mapped of it lies there as long as any part is.
 */
export async function unlinkedUsage(pids: readonly number[], seen = new Map<string, number>()): Promise<UnlinkedUsage> {
  const open = new Map<string, number>()
  const mapped = new Map<string, number>()
  const shared = new Map<string, number>()
  const shut: number[] = []
  let looked = 0
  for (const pid of pids) {
    const { place } = statusOf(pid)
    try {
      const fds = await readdir(`${place}/fd`)
      if ((looked += fds.length) > mostLooked) break
      for (const fd of fds) {
        const found = await stat(`${place}/fd/${fd}`).catch(() => undefined)
        if (found?.isFile() && found.nlink === 0) open.set(`${found.dev} ${found.ino}`, found.blocks * 512)
      }
      const maps = await readFile(`${place}/maps`, 'latin1')
      looked += Math.floor(maps.length / listBytes)
      for (const found of maps.matchAll(gone)) largest(mapped, found[4] ?? '', extentOf(found))
      for (const found of maps.matchAll(memory)) {
        if (++looked > mostLooked) break
        const [, from = '', to = '', , name = ''] = found
        const there = await stat(`/proc/${pid}/map_files/${unpadded(from)}-${unpadded(to)}`).catch(() => undefined)
        if (there) shared.set(name, there.blocks * 512)
        else largest(shared, name, Math.max(extentOf(found), seen.get(name) ?? 0))
      }
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EACCES') shut.push(pid)
    }
    if (looked > mostLooked) break
  }
  seen.clear()
  for (const [name, bytes] of shared) seen.set(name, bytes)
  return { bytes: Math.max(total(open), total(mapped)), shared: total(shared), shut, tooMany: looked > mostLooked }
}

function largest(sizes: Map<string, number>, name: string, bytes: number): void {
  sizes.set(name, Math.max(sizes.get(name) ?? 0, bytes))
}

/** How far into its file a mapping reaches. */
function extentOf([, from = '', to = '', offset = '']: RegExpMatchArray): number {
  return Number.parseInt(offset, 16) + Number.parseInt(to, 16) - Number.parseInt(from, 16)
}

const unpadded = (address: string): string => address.replace(/^0+(?=.)/, '')

/** A mapped file without a name; not shared memory, which is written the same way and counts as memory. */
const gone = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) (\S+ \d+) +(?! |\/dev\/zero |\/SYSV).* \(deleted\)$/gm
const memory = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) (\S+ \d+) +\/dev\/zero \(deleted\)$/gm

function total(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((sum, one) => sum + one, 0)
}

/** How many names there are in the temporary folders of processes, which share them: they lie in memory, and a name takes some however little it holds. */
export async function temporaryEntries(pids: readonly number[]): Promise<number> {
  for (const pid of pids) {
    const { place } = statusOf(pid)
    const found = await Promise.all(['tmp', 'dev/shm'].map((folder) => statfs(`${place}/root/${folder}`).catch(() => undefined)))
    if (found.some(Boolean)) return found.reduce((sum, one) => sum + (one ? one.files - one.ffree : 0), 0)
  }
  return 0
}

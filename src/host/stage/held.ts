import { readFileSync } from 'node:fs'
import { readFile, readdir, stat, statfs } from 'node:fs/promises'

/** What processes hold that lies in no folder: memory, and files whose name is gone. */

/**
 * Memory of some processes, each page once for all who share it. First what the system tells at once, in which what is shared
 * counts for each; only where that is too much is it counted exactly, which takes the system a walk through every page.
 */
export function memoryOf(pids: readonly number[], most: number): number {
  const rough = pids.map(roughBytes)
  const sum = rough.reduce((all, one) => all + one, 0)
  if (sum <= most) return sum
  const exact = pids.map((pid, index) => exactBytes(pid) ?? rough[index] ?? 0)
  // They are looked at one after the other. Where one ends meanwhile its part falls to those that come later, and was counted
  // already: only those count that were there all the time, whose parts cannot be more than the whole.
  return exact.reduce((all, bytes, index) => all + (hasMemory(pids[index] as number) ? bytes : 0), 0)
}

/** One that is ending has given its memory back, or is about to. */
function hasMemory(pid: number): boolean {
  return textOf(`/proc/${pid}/status`).includes('\nVmRSS:')
}

/** Of its own, swapped out, shared with others but no file's, and what it takes to keep track of it. */
function roughBytes(pid: number): number {
  return sumOf(textOf(`/proc/${pid}/status`), /^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB$/gm)
}

function exactBytes(pid: number): number | undefined {
  const text = textOf(`/proc/${pid}/smaps_rollup`)
  if (!text.includes('Pss_Shmem:')) return undefined
  return (
    sumOf(text, /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$/gm) + sumOf(textOf(`/proc/${pid}/status`), /^VmPTE:\s+(\d+) kB$/gm)
  )
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

export interface Held {
  /** Bytes of files that have no name any more and are still there. */
  bytes: number
  /** Who lets nobody see what it has open. */
  shut: number[]
}

/** What is open, or mapped, and has no name any more. Either alone may be all of it, so the larger one counts. */
export async function heldBy(pids: readonly number[]): Promise<Held> {
  const open = new Map<string, number>()
  const mapped = new Map<string, number>()
  const shut: number[] = []
  for (const pid of pids) {
    try {
      for (const fd of await readdir(`/proc/${pid}/fd`)) {
        const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => undefined)
        if (found?.isFile() && found.nlink === 0) open.set(`${found.dev} ${found.ino}`, found.blocks * 512)
      }
      for (const [, from = '', to = '', offset = '', file = ''] of (await readFile(`/proc/${pid}/maps`, 'latin1')).matchAll(gone))
        mapped.set(
          file,
          Math.max(mapped.get(file) ?? 0, Number.parseInt(offset, 16) + Number.parseInt(to, 16) - Number.parseInt(from, 16)),
        )
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EACCES') shut.push(pid)
    }
  }
  return { bytes: Math.max(total(open), total(mapped)), shut }
}

/** A mapped file without a name; not shared memory, which is written the same way and counts as memory. */
const gone = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) (\S+ \d+) +(?! |\/dev\/zero |\/SYSV).* \(deleted\)$/gm

function total(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((sum, one) => sum + one, 0)
}

/** How many names there are in the temporary folders of a process: they lie in memory, and a name takes some however little it holds. */
export async function temporaryEntries(pid: number): Promise<number> {
  let entries = 0
  for (const folder of ['tmp', 'dev/shm']) {
    const found = await statfs(`/proc/${pid}/root/${folder}`).catch(() => undefined)
    if (found) entries += found.files - found.ffree
  }
  return entries
}

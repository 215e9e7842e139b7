import { lstat, opendir } from 'node:fs/promises'
import { runProcess } from '../process.ts'

/** What folders hold: bytes as a commit would take them, and names. */
export interface DiskUsage {
  bytes: number
  entries: number
}

export interface UsageLimits {
  diskBytes: number
  entries: number
}

/** Why a disk usage is too much; nothing where it is not. */
export function whyOverLimit({ bytes, entries }: DiskUsage, most: UsageLimits): string | undefined {
  if (bytes > most.diskBytes) return `it wrote more than ${most.diskBytes} bytes (limits.stageDiskBytes)`
  if (entries > most.entries) return `it made more than ${most.entries} files and folders (limits.stageEntries)`
  return undefined
}

/** A name that is no text is read with this in its place. */
const unreadable = '\ufffd'

/**
 * Measures folders of ours that a program writes to; it stops counting where that is too much. What cannot be looked at by name (a
 * folder nobody may read, a path longer than any, a name that is no text) is measured by the system's own `find`, in the name of a
 * root that may look at whatever is ours.
 */
export async function measureDiskUsage(
  folders: readonly string[],
  most: UsageLimits,
  unshare: string,
  enough: () => boolean = () => false,
): Promise<DiskUsage> {
  const sum: DiskUsage = { bytes: 0, entries: 0 }
  const waiting = [...folders]
  const over = (): boolean => enough() || whyOverLimit(sum, most) !== undefined
  for (let at = waiting.pop(); at !== undefined && !over(); at = waiting.pop()) {
    try {
      // A few names at a time: those of a folder with a hundred thousand, made known at once, would hold everybody up.
      for await (const entry of await opendir(at, { bufferSize: 256 })) {
        const path = `${at}/${entry.name}`
        if (entry.name.includes(unreadable)) return await measureShutFolders(folders, most, unshare)
        sum.entries++
        if (entry.isDirectory()) waiting.push(path)
        else if (entry.isFile()) sum.bytes += await bytesAt(path)
        if (over()) return sum
      }
    } catch (cause) {
      if (!isGone(cause)) return measureShutFolders(folders, most, unshare)
    }
  }
  return sum
}

/** A file with holes takes little room here, and all of it where it is committed to. */
async function bytesAt(path: string): Promise<number> {
  try {
    const { size, blocks } = await lstat(path)
    return Math.max(size, blocks * 512)
  } catch (cause) {
    if (isGone(cause)) return 0
    throw cause
  }
}

/** It went while it was counted. */
function isGone(cause: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')
}

const longestMs = 60_000

async function measureShutFolders(folders: readonly string[], most: UsageLimits, unshare: string): Promise<DiskUsage> {
  const sum: DiskUsage = { bytes: 0, entries: 0 }
  let rest = ''
  await runProcess({
    file: unshare,
    args: ['--user', '--map-root-user', '--', 'find', ...folders, '-mindepth', '1', '-printf', '%y %s %b\\n'],
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    timeoutMs: longestMs,
    onOutput(chunk) {
      const lines = (rest + chunk.toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [kind, size = '0', blocks = '0'] = line.split(' ')
        sum.entries++
        if (kind === 'f') sum.bytes += Math.max(Number(size), Number(blocks) * 512)
      }
      return whyOverLimit(sum, most) === undefined ? undefined : 'stop'
    },
  })
  return sum
}

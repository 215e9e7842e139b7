import { readFileSync, statfsSync } from 'node:fs'

const overlayfs = 0x794c7630
const freshMs = 1_000

/** Other file systems and bind mounts below a folder. The system's list is read again at most once a second. */
export interface Mounts {
  /** Whether files and folders of one mount share one device number here; a layered file system does not promise it. */
  readonly oneDevice: boolean
  /** Whether the way to this path leads onto another mount. */
  crossed(names: readonly string[]): boolean
}

export function watchMounts(root: string): Mounts {
  let readAt = Number.NEGATIVE_INFINITY
  let below = new Set<string>()
  const refresh = (): void => {
    const now = performance.now()
    if (now - readAt < freshMs) return
    readAt = now
    below = mountPointsBelow(root)
  }
  return {
    oneDevice: !isLayered(root),
    crossed(names) {
      refresh()
      return below.size > 0 && names.some((_, index) => below.has(names.slice(0, index + 1).join('/')))
    },
  }
}

function mountPointsBelow(root: string): Set<string> {
  try {
    const points = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) =>
        (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
      )
    const prefix = root === '/' ? '/' : `${root}/`
    return new Set(points.filter((point) => point.startsWith(prefix)).map((point) => point.slice(prefix.length)))
  } catch {
    return new Set()
  }
}

function isLayered(root: string): boolean {
  try {
    return statfsSync(root).type === overlayfs
  } catch {
    return true
  }
}

import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs'
import { isRootItself, lastOf, openFolder, parentOf, type Root } from './walk.ts'

const { O_NOFOLLOW, O_CLOEXEC = 0 } = constants as typeof constants & { O_CLOEXEC?: number }
/** Names a file without opening it, so that no permission is asked for. Linux only, and Node does not name it. */
const O_PATH = 0o10000000

/** A file or folder whose bits keep even its owner out, with these lent to them. */
interface RelaxedBits {
  /** The bits it has by itself. */
  mode: number
  takeBack(): void
  close(): void
}

/** Does something that needs the owner's bits; where they are missing they are given first, and stay. */
export function givingBits<T>(root: Root, names: readonly string[], act: () => T): T {
  return whereShut(root, act, () => {
    relaxBits(root, names, true)?.close()
    return act()
  })
}

/** Looks at something that its owner is kept out of by bits, its own or those of folders on the way: lent for that moment. `own` are the bits of a file that was lent some. */
export function lendingBits<T>(root: Root, names: readonly string[], look: (own?: number) => T): T {
  return whereShut(root, look, () => {
    const relaxed: RelaxedBits[] = []
    try {
      let own: number | undefined
      names.forEach((_, index) => {
        const isLast = index === names.length - 1
        const one = relaxBits(root, names.slice(0, index + 1), !isLast)
        if (one) relaxed.push(one)
        if (isLast) own = one?.mode
      })
      return look(own)
    } finally {
      for (const one of relaxed.toReversed()) {
        one.takeBack()
        one.close()
      }
    }
  })
}

function whereShut<T>(root: Root, act: () => T, otherwise: () => T): T {
  try {
    return act()
  } catch (fault) {
    const { code, cause } = fault as NodeJS.ErrnoException
    const shut =
      (code === 'EACCES' || (cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES') && root.method === 'descriptors'
    if (!shut) throw fault
    return otherwise()
  }
}

/** Nothing where there is nothing to lend: it is somebody else's, a link, gone, or open to its owner. Folders only where they are wanted open. */
function relaxBits(root: Root, names: readonly string[], folders: boolean): RelaxedBits | undefined {
  if (isRootItself(names)) return undefined
  const parent = openFolder(root, parentOf(names), { asked: names })
  let fd: number
  try {
    fd = openSync(parent.at(lastOf(names)), O_PATH | O_NOFOLLOW | O_CLOEXEC)
  } catch {
    return undefined
  } finally {
    parent.close()
  }
  const stat = fstatSync(fd)
  const wanted = stat.isDirectory() ? (folders ? 0o700 : 0) : stat.isFile() ? 0o400 : 0
  const mode = stat.mode & 0o7777
  const itself = `/proc/self/fd/${fd}`
  try {
    if (stat.uid !== process.getuid?.() || (mode & wanted) === wanted) throw new Error('nothing to lend')
    chmodSync(itself, mode | wanted)
  } catch {
    closeSync(fd)
    return undefined
  }
  return { mode, takeBack: () => chmodSync(itself, mode), close: () => closeSync(fd) }
}

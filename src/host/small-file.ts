import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/**
 * A small file that somebody else may have put there: no pipe, device or endless file behind a link keeps whoever reads it waiting.
 * Nothing where it is no plain file, or larger than that.
 */
export function readSmall(at: string, most: number, links: 'followed' | 'refused' = 'followed'): string | undefined {
  let fd: number
  try {
    fd = openSync(at, constants.O_RDONLY | constants.O_NONBLOCK | (links === 'refused' ? constants.O_NOFOLLOW : 0))
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= most ? readFileSync(fd, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    closeSync(fd)
  }
}

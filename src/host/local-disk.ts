import { statfsSync } from 'node:fs'

/** ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs, bcachefs. */
const local = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e])

/** Whether a path lies on a file system that is changed by nobody but this machine: of changes on others the system cannot tell. */
export function isOnLocalDisk(path: string): boolean {
  try {
    return local.has(statfsSync(path).type >>> 0)
  } catch {
    return false
  }
}

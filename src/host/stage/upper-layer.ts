import { chmodSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SkippedChange } from '../../contracts/stage.ts'
import type { Root } from '../walk.ts'

/** The folder a program may change must be there for it; its permissions are the project's where the project has it. */
export function makeFolder(project: Root, upper: string, changes: string): void {
  changes
    .split('/')
    .filter(Boolean)
    .forEach((_, index, names) => {
      const at = names.slice(0, index + 1).join('/')
      const there = lstatSync(join(project.path, at), { throwIfNoEntry: false })
      mkdirSync(join(upper, at))
      if (there) chmodSync(join(upper, at), there.mode & 0o777)
    })
}

/** Permissions of the project's own folder are nobody's to change, and a stage that nobody may enter could not be read. */
export function restoreTop(project: Root, upper: string): SkippedChange[] {
  const bits = statSync(project.path).mode & 0o777
  if ((lstatSync(upper).mode & 0o777) === bits) return []
  chmodSync(upper, bits)
  return [{ path: '.', why: 'the permissions of the project’s own folder are yours' }]
}

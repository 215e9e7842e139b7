import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageManagers, type PackageManager, type WorkspaceFacts } from '../contracts/bridge.ts'
import { declaredManager, lockFiles } from '../text/package-managers.ts'
import { readSmall } from './small-file.ts'

const largest = 1 << 20

/** Where the workspace of a folder begins, and its package manager: by names that are there and one field, no program is asked. */
export function workspaceFacts(folder: string): WorkspaceFacts {
  const repoRoot = above(folder).find((at) => isThere(join(at, '.git'))) ?? folder
  const within = above(folder).slice(0, above(folder).indexOf(repoRoot) + 1)
  const named = within.map(managerAt).find((name) => name !== undefined)
  const packageManager = packageManagers.find((one) => one === named) ?? 'unknown'
  return { repoRoot, packageManager, ...(isOther(named, packageManager) && { packageManagerName: named }) }
}

const isOther = (named: string | undefined, known: PackageManager): named is string => named !== undefined && known === 'unknown'

/** The folder and all above it. */
function above(folder: string): string[] {
  const folders = [folder]
  for (let at = folder; dirname(at) !== at;) folders.push((at = dirname(at)))
  return folders
}

function managerAt(folder: string): string | undefined {
  const text = readSmall(join(folder, 'package.json'), largest)
  return declaredManager(manifestIn(text)) ?? lockFiles.find(([file]) => isThere(join(folder, file)))?.[1]
}

function manifestIn(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const manifest: unknown = JSON.parse(text ?? '')
    return typeof manifest === 'object' && manifest !== null ? (manifest as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

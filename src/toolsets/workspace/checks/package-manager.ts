import { declaredManager, lockFiles } from '../../../text/package-managers.ts'
import { manifestOf, type Place } from './plan.ts'

export interface PackageManager {
  /** As seed 003 §2.2 names them. */
  name: 'pnpm' | 'npm' | 'yarn' | 'unknown'
  /** What it really is, where that has no name there. */
  real?: string
  /** Locks of several managers lie side by side and nothing says which one counts. */
  conflict?: string[]
}

/** From the inside out: what package.json says, else which lock lies beside it; times are not looked at. */
export function packageManagerOf(places: readonly Place[]): PackageManager {
  for (const at of places) {
    const manifest = manifestOf(at)
    const said = declaredManager(manifest)
    if (said) return named(said)
    const found = [...new Set(lockFiles.filter(([file]) => stands(at, file)).map(([, name]) => name))]
    if (found.length > 0) return { ...named(found[0] as string), ...(found.length > 1 && { conflict: found }) }
  }
  return { name: 'unknown' }
}

function named(name: string): PackageManager {
  return name === 'pnpm' || name === 'npm' || name === 'yarn' ? { name } : { name: 'unknown', real: name.slice(0, 40) }
}

/** Whether it is there; a lock is larger than what is read. */
function stands({ files, folder }: Place, name: string): boolean {
  try {
    files.readPart(folder === '' ? name : `${folder}/${name}`, () => ({ start: 0, end: 0 }))
    return true
  } catch {
    return false
  }
}

/** How a person runs a tool of the project's packages. */
export function execWords({ name, real }: PackageManager): string[] {
  return name === 'pnpm' ? ['pnpm', 'exec'] : name === 'yarn' ? ['yarn'] : real === 'bun' ? ['bunx'] : ['npx']
}

/** How a person runs a script of package.json. */
export function scriptCommand({ name, real }: PackageManager, script: string): string {
  return `${name === 'unknown' ? (real === 'bun' ? 'bun' : 'npm') : name} run ${script}`
}

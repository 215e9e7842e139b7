import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Whether this copy came from the registry under its own name. Whoever is told to start `handrail@VERSION` gets it from there, and
 * what nobody has published yet is anybody's to publish; so npm must say that it took these bytes from that place.
 */
export function isPublished(program: string, version: string): boolean {
  const folder = dirname(dirname(program))
  if (basename(folder) !== 'handrail' || basename(dirname(folder)) !== 'node_modules') return false
  try {
    const lock = JSON.parse(readFileSync(join(dirname(folder), '.package-lock.json'), 'utf8')) as {
      packages?: Record<string, { version?: string; resolved?: string; integrity?: string }>
    }
    const found = lock.packages?.['node_modules/handrail']
    const archive = new RegExp(`^https?://.+/handrail/-/handrail-${version.replaceAll('.', String.raw`\.`)}\\.tgz$`)
    return found?.version === version && found.integrity !== undefined && archive.test(found.resolved ?? '')
  } catch {
    // No such file, or not npm's: then it is not known, and this copy itself is started.
    return false
  }
}

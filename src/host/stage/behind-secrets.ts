import { isUtf8 } from 'node:buffer'
import { opendirSync, realpathSync, statSync } from 'node:fs'
import { secretsIn } from '../../text/secret-files.ts'
import { below, type Place } from './entries.ts'
import { isCertificate } from './classify-entry.ts'
import { isOnlyCertificates } from './content-checks.ts'
import { holds } from './bind-rules.ts'

interface Found {
  path: string
  at: Place
  folder: boolean
}

/**
 * What a link that is called like a secret leads to: that is the secret, whatever its own name. Nothing where it leads nowhere, or to a
 * folder that all of `root` lies in.
 */
export function behindLink(at: Place, root: string): Found[] {
  try {
    const bytes = realpathSync.native(at, { encoding: 'buffer' })
    const real = isUtf8(bytes) ? bytes.toString('utf8') : bytes
    const path = bytes.toString('utf8')
    const stat = statSync(real)
    if (holds(path, root) || !(stat.isFile() || stat.isDirectory())) return []
    if (stat.isFile() && isCertificate(at.toString()) && isOnlyCertificates(real, stat.size)) return []
    return [{ path: path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path, at: real, folder: stat.isDirectory() }]
  } catch {
    return []
  }
}

/** A link that is called like a secret; of one to a folder in which only some names are secrets, those. */
export function asSecrets(name: string, at: Place): Place[] {
  const inside = secretsIn([name])
  return inside.length ? inside.map((one) => below(at, { name: one })) : [at]
}

const mostInside = 1_000

/** The first thousand links right in a folder. */
export function linksIn(at: Place): Place[] {
  const found: Place[] = []
  try {
    const opened = opendirSync(at as string, { bufferSize: 256 })
    try {
      let looked = 0
      for (let entry = opened.readSync(); entry && looked < mostInside; entry = opened.readSync(), looked++)
        if (entry.isSymbolicLink()) found.push(below(at, entry))
    } finally {
      opened.closeSync()
    }
  } catch {
    // Nobody may look, or it is gone.
  }
  return found
}

/** Each place once, and none below a folder that is hidden whole: nothing can be covered in there. */
export function outermost<T extends Found & { instead?: string }>(found: readonly T[]): T[] {
  const placeOf = ({ at }: T): string => Buffer.from(at as string).toString('latin1')
  const folders = new Set(found.flatMap((one) => (one.folder ? [placeOf(one)] : [])))
  const places = new Map<string, T>()
  for (const one of found) {
    const place = placeOf(one)
    let above = place.lastIndexOf('/')
    while (above > 0 && !folders.has(place.slice(0, above))) above = place.lastIndexOf('/', above - 1)
    const before = places.get(place)
    // What is hidden whole for one reason is not shown in part for another.
    if (above <= 0 && (!before || before.instead !== undefined)) places.set(place, one)
  }
  return [...places.values()]
}

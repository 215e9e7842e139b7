import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning, ownName } from './running.ts'

/**
 * Ports of this machine at which a Handrail of this user listens, whichever process and project it is for. No page is led to those that are
 * Handrail's own; and to what it serves of a project (a preview, a dev server) no page of another project.
 */

/** Whose it is: Handrail's own, or a project's. */
type Owner = string
const own: Owner = 'own'
const ownerOf = (project: string | undefined): Owner =>
  project === undefined ? own : createHash('sha256').update(project).digest('hex').slice(0, 16)

/** Other processes of the same project say where they serve pages in its state. Some are known only to whoever is asked. */
const ours = new Set<() => readonly number[]>()

/** Returns how to take it back. */
export function claimPorts(ports: () => readonly number[]): () => void {
  ours.add(ports)
  return () => void ours.delete(ports)
}

const claimed = new Set<{ port: number; owner: Owner }>()
let count = 0

/** Tells every Handrail of this user; of a project's own port its pages may make use. Returns how to take it back. */
export function claimPort(port: number, project?: string): () => void {
  const claim = { port, owner: ownerOf(project) }
  claimed.add(claim)
  const record = write(claim)
  return () => {
    claimed.delete(claim)
    if (record !== undefined) rmSync(record, { force: true })
  }
}

/** Whether a page of this project, or of none, must not be led to a port of this machine. */
export function isOwnPort(port: number, project?: string): boolean {
  const mayNot = (owner: Owner): boolean => owner === own || (project !== undefined && owner !== ownerOf(project))
  if ([...ours].some((ports) => ports().includes(port))) return true
  if ([...claimed].some((claim) => claim.port === port && mayNot(claim.owner))) return true
  return records().some((name) => {
    const [who = '', at, owner = ''] = name.split('.')
    return Number(at) === port && who !== ownName() && mayNot(owner) && isRunning(who)
  })
}

/**
 * Where that is written down: a place that is the same for every process of a user, whatever its environment and wherever it keeps its state. One empty
 * file for each port, which says all by its name: process, port, whose. Nothing where there is no such place that is ours alone.
 */
function place(): string | undefined {
  if (process.platform === 'win32') return open(join(tmpdir(), 'handrail-ports'))
  const uid = process.getuid?.() ?? 0
  const session = `/run/user/${uid}`
  return (isOurs(session) ? open(`${session}/handrail-ports`) : undefined) ?? open(`/tmp/handrail-ports-${uid}`)
}

function open(folder: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch {
    // Somebody else's, or no such place.
  }
  return isOurs(folder) ? folder : undefined
}

/** Nobody else writes there. */
function isOurs(folder: string): boolean {
  try {
    const stat = lstatSync(folder)
    return stat.isDirectory() && (process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o022) === 0))
  } catch {
    return false
  }
}

/** What stood in the folder when it was looked at last. Every request of a page asks; the folder says itself when it has changed. */
let seen: { folder: string; changed: bigint; names: string[] } | undefined
/** Two changes in one tick of the system's clock look like one: what changed just now is looked at again. */
const tickNs = 1_000_000_000n

function records(): string[] {
  const folder = place()
  if (folder === undefined) return []
  try {
    const { mtimeNs: changed } = lstatSync(folder, { bigint: true })
    if (seen?.folder === folder && seen.changed === changed) return seen.names
    const now = BigInt(Date.now()) * 1_000_000n
    const names = readdirSync(folder)
    seen = now - changed > tickNs ? { folder, changed, names } : undefined
    return names
  } catch {
    return []
  }
}

function write({ port, owner }: { port: number; owner: Owner }): string | undefined {
  const folder = place()
  if (folder === undefined) return undefined
  // What processes left that were killed.
  for (const name of records()) if (!isRunning(name.split('.', 1)[0] as string)) rmSync(join(folder, name), { force: true })
  const record = join(folder, `${ownName()}.${port}.${owner}.${count++}`)
  try {
    writeFileSync(record, '', { mode: 0o600, flag: 'wx' })
    return record
  } catch {
    return undefined
  }
}

import { randomBytes } from 'node:crypto'
import { existsSync, fstatSync, statSync, type BigIntStats } from 'node:fs'
import { Fault } from '../contracts/faults/fault.ts'
import type { StateFolder } from './state-folder.ts'
import { openStateBase, projectFolderName, stateBase, type StateAsked } from './state-place.ts'
import type { Root } from './walk.ts'

/** Which folder on the disk a project is. Numbers of 64 bits, so kept as text. */
export interface Identity {
  device: string
  inode: string
  /** When it was made, in nanoseconds; nothing where the file system does not say. An inode number is given again after a removal. */
  bornAt?: string
}

/** A folder as it is found now. */
export interface Seen extends Identity {
  /** Its time of birth may be that of its last change, which older systems give in its place. Never written down. */
  unsure: boolean
}

export interface Manifest extends Identity {
  version: 1
  path: string
  createdAt: string
}

export const manifestFile = 'manifest.json'
/** Folders of the base. */
export const projectsFolder = 'projects'

/** The state of one project, held open. */
export interface ProjectState {
  readonly base: StateFolder
  readonly folder: StateFolder
  readonly manifest: Manifest
  /** Set where the project was found on another device than before: a disk gets another number when it is mounted again. */
  readonly remounted: { from: string; to: string } | undefined
  close(): void
}

/** Opens a project's state, made where there is none. Where the project's folder is another one than the state was made for, nothing is read or written. */
export function openProjectState(root: Root, asked: StateAsked): ProjectState {
  const base = openStateBase(stateBase(asked), root)
  try {
    const folder = base.sub(projectsFolder).sub(projectFolderName(root.path), '')
    const { unsure, ...now } = identityOf(root, [folder.path, base.path])
    const found = readManifest(folder) ?? firstManifest(folder, root.path, now)
    mustFit(found, root.path, { ...now, unsure }, folder.path)
    const remounted = found.device === now.device ? undefined : { from: found.device, to: now.device }
    const learnt = found.bornAt === undefined && now.bornAt !== undefined
    const manifest = remounted || learnt ? { ...found, ...now } : found
    if (manifest !== found) folder.replace(manifestFile, encode(manifest))
    return { base, folder, manifest, remounted, close: () => base.close() }
  } catch (fault) {
    base.close()
    throw fault
  }
}

/** `witnesses`: folders that have surely changed since they were made, by which it shows whether this system keeps births at all. */
export function identityOf({ fd }: Pick<Root, 'fd'>, witnesses: readonly string[] = []): Seen {
  const stat = fstatSync(fd, { bigint: true })
  return identify(stat, () => witnesses.some((path) => keepsBirths(path, stat.dev)))
}

export function identify(stat: BigIntStats, keepsBirths: () => boolean = () => false): Seen {
  const { birthtimeNs: born, ctimeNs: changed, dev, ino } = stat
  // Of a folder that is new both are the same, too.
  const unsure = born === changed && !keepsBirths()
  return { device: String(dev), inode: String(ino), ...(born > 0n && { bornAt: String(born) }), unsure }
}

function keepsBirths(path: string, device: bigint): boolean {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (!stat || stat.birthtimeNs <= 0n || stat.birthtimeNs === stat.ctimeNs) return false
  // Linux says so for each file, and gives nothing where there is none; elsewhere it may be another on the next disk.
  return process.platform === 'linux' || stat.dev === device
}

/** Whether a folder is the one that was known, its device left aside. */
export function isSameFolder(known: Identity, now: Seen): boolean {
  if (known.inode !== now.inode) return false
  return known.bornAt === undefined || now.bornAt === undefined || known.bornAt === now.bornAt || now.unsure
}

/** What a folder says of its project; nothing where it says nothing yet. */
export function readManifest(folder: StateFolder): Manifest | undefined {
  let text = folder.read(manifestFile)?.toString('utf8')
  if (text === undefined) {
    if (folder.names().every((name) => name.startsWith(`${manifestFile}.`))) return undefined
    // It is the first of all names: whoever made the others just now made it before them.
    text = folder.read(manifestFile)?.toString('utf8')
  }
  if (text === undefined) throw unknown(folder.path, 'its manifest is missing')
  const manifest = parse(text)
  if (!manifest) throw unknown(folder.path, 'its manifest cannot be read')
  return manifest
}

/** Atomic among processes that open a new project at once: all but one find the manifest of the first. */
function firstManifest(folder: StateFolder, path: string, now: Identity): Manifest {
  const manifest: Manifest = { version: 1, path, ...now, createdAt: new Date().toISOString() }
  const draft = `${manifestFile}.${randomBytes(6).toString('hex')}`
  folder.create(draft, encode(manifest))
  try {
    if (!folder.link(draft, manifestFile)) folder.replace(manifestFile, encode(manifest))
  } finally {
    folder.remove(draft)
  }
  return readManifest(folder) ?? manifest
}

export function encode(manifest: Manifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
}

function parse(text: string): Manifest | undefined {
  try {
    const found = JSON.parse(text) as Partial<Manifest> | null
    const texts = [found?.path, found?.device, found?.inode, found?.createdAt]
    const fits =
      found?.version === 1 && texts.every((one) => typeof one === 'string') && /^(string|undefined)$/.test(typeof found.bornAt)
    return fits ? (found as Manifest) : undefined
  } catch {
    return undefined
  }
}

function mustFit(found: Manifest, path: string, now: Seen, folder: string): void {
  if (found.path !== path) throw unknown(folder, `it was made for another project (${found.path})`)
  if (isSameFolder(found, now)) return
  throw new Fault('conflict', `${path} is another folder than the one Handrail knows by that name`, {
    details: { path, state: folder, knownInode: found.inode, inode: now.inode },
    hint:
      'It was removed and made again, or moved here. If it is the same project, `handrail state adopt` keeps its history; ' +
      '`handrail state reset` starts anew and sets the old state aside.',
  })
}

function unknown(folder: string, why: string): Fault {
  return new Fault('conflict', `The state in ${folder} is not that of this project: ${why}`, {
    details: { state: folder },
    hint: '`handrail state reset` sets it aside and starts anew.',
  })
}

/** Whether a project brings the folder in which older versions kept state. Nothing in it is ever believed. */
export function bringsOldState(project: string): boolean {
  return existsSync(`${project}/.handrail`)
}

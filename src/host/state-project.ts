import { randomBytes } from 'node:crypto'
import { existsSync, fstatSync, type BigIntStats } from 'node:fs'
import { ToolError } from '../contracts/errors.ts'
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
    const now = identityOf(root)
    const found = readManifest(folder) ?? firstManifest(folder, root.path, now)
    mustFit(found, root.path, now, folder.path)
    const remounted = found.device === now.device ? undefined : { from: found.device, to: now.device }
    const manifest = remounted ? { ...found, ...now } : found
    if (remounted) folder.replace(manifestFile, encode(manifest))
    return { base, folder, manifest, remounted, close: () => base.close() }
  } catch (fault) {
    base.close()
    throw fault
  }
}

export function identityOf({ fd }: Pick<Root, 'fd'>): Identity {
  return identify(fstatSync(fd, { bigint: true }))
}

export function identify(stat: BigIntStats): Identity {
  // Where a file system keeps no time of birth, Node gives nothing or the time of the last change.
  const born = stat.birthtimeNs > 0n && stat.birthtimeNs !== stat.ctimeNs ? { bornAt: String(stat.birthtimeNs) } : {}
  return { device: String(stat.dev), inode: String(stat.ino), ...born }
}

/** Whether two identities are of the same folder, its device left aside. */
export function isSameFolder(a: Identity, b: Identity): boolean {
  return a.inode === b.inode && (a.bornAt === undefined || b.bornAt === undefined || a.bornAt === b.bornAt)
}

/** What a folder says of its project; nothing where it says nothing yet. */
export function readManifest(folder: StateFolder): Manifest | undefined {
  const text = folder.read(manifestFile)?.toString('utf8')
  if (text === undefined) {
    if (folder.names().every((name) => name.startsWith(`${manifestFile}.`))) return undefined
    throw unknown(folder.path, 'its manifest is missing')
  }
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

function mustFit(found: Manifest, path: string, now: Identity, folder: string): void {
  if (found.path !== path) throw unknown(folder, `it was made for another project (${found.path})`)
  if (isSameFolder(found, now)) return
  throw new ToolError('E_CONFLICT', `${path} is another folder than the one Handrail knows by that name`, {
    details: { path, state: folder, knownInode: found.inode, inode: now.inode },
    hint:
      'It was removed and made again, or moved here. If it is the same project, `handrail state adopt` keeps its history; ' +
      '`handrail state reset` starts anew and sets the old state aside.',
  })
}

function unknown(folder: string, why: string): ToolError {
  return new ToolError('E_CONFLICT', `The state in ${folder} is not that of this project: ${why}`, {
    details: { state: folder },
    hint: '`handrail state reset` sets it aside and starts anew.',
  })
}

/** Whether a project brings the folder in which older versions kept state. Nothing in it is ever believed. */
export function bringsOldState(project: string): boolean {
  return existsSync(`${project}/.handrail`)
}

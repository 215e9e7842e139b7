import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kind } from './classify-entry.ts'
import type { Hidden } from './hidden.ts'
import { show, type Brought, type Mirrored } from './mirror-files.ts'

/** One folder of the project, and what is shown of it. */
export interface Shadow {
  readonly names: readonly string[]
  readonly at: string
  readonly kind: Kind
  readonly folders: Map<string, Shadow>
  readonly files: Map<string, Mirrored>
  readonly links: Set<string>
  /** Files that are to be shown; those that are `judged` without what they must not say. */
  wanted: ReadonlyMap<string, 'file' | 'judged'>
  gone: boolean
}

/** What lies in a mirror, counted. */
export interface MirrorTree {
  readonly top: Shadow
  shownAt(shadow: Shadow, name: string): string
  /** A place for something on its way. */
  incoming(): string
  /** Bytes there is room for, beside what lies there and what is kept for files on their way. */
  room(): number
  /** Keeps room for a file on its way, until it is shown or not; throws where there is none, or no time. */
  reserve(bytes: number): void
  release(bytes: number): void
  /** Throws where so much would not fit. */
  mustFit(entries: number, bytes: number): void
  /** Throws where it has taken too long by now. */
  mustBeInTime(): void
  /** The folder that a place of the project lies in, where it is shown. */
  parentOf(at: Hidden['at']): Shadow | undefined
  enter(above: Shadow, name: string, kind: Kind): Shadow
  addLink(shadow: Shadow, name: string): void
  place(shadow: Shadow, name: string, brought: Brought): void
  /** With all that is in it. */
  remove(shadow: Shadow, name: string): Promise<void>
  /** From here on a slow disk is no reason to give up. */
  begun(): void
}

/** A larger project is shown as it is. */
const mostEntries = 50_000
const mostBytes = 1_073_741_824
/** Nor is a server kept waiting for a slow disk. */
const mostMs = 10_000

export class TooLarge extends Error {
  constructor(message = 'the project has become too large to be copied') {
    super(message)
  }
}

export function openTree(home: string, project: string, onForget: (shadow: Shadow) => void): MirrorTree & { folder: string } {
  const folder = join(home, 'project')
  const aside = join(home, 'incoming')
  for (const one of [folder, aside]) mkdirSync(one, { recursive: true, mode: 0o700 })
  const free = statfsSync(home)
  const room = Math.min(mostBytes, (free.bavail * free.bsize) / 2)
  const top = shadowAt([], project, 'plain')
  let [entries, bytes, reserved, number] = [0, 0, 0, 0]
  let until = performance.now() + mostMs

  const mustBeInTime = (): void => {
    if (performance.now() > until) throw new TooLarge('it takes too long to be copied')
  }
  const count = (more: number, moreBytes: number): void => {
    entries += more
    bytes += moreBytes
    mustBeInTime()
    if ((more > 0 && entries > mostEntries) || (moreBytes > 0 && bytes > room)) throw new TooLarge()
  }
  const forget = (shadow: Shadow): void => {
    shadow.gone = true
    onForget(shadow)
    for (const { bytes: size } of shadow.files.values()) count(-1, -size)
    count(-1 - shadow.links.size, 0)
    for (const one of shadow.folders.values()) forget(one)
  }
  const shownAt = (shadow: Shadow, name: string): string => join(folder, ...shadow.names, name)

  return {
    folder,
    top,
    shownAt,
    incoming: () => join(aside, String(number++)),
    room: () => room - bytes - reserved,
    reserve(more) {
      mustBeInTime()
      reserved += more
    },
    release: (less) => void (reserved -= less),
    mustFit(more, moreBytes) {
      mustBeInTime()
      if (more > mostEntries || moreBytes > room) throw new TooLarge()
    },
    mustBeInTime,
    parentOf(at) {
      if (typeof at !== 'string' || !at.startsWith(`${project}/`)) return undefined
      const names = at.slice(project.length + 1).split('/')
      return names.slice(0, -1).reduce<Shadow | undefined>((shadow, name) => shadow?.folders.get(name), top)
    },
    enter(above, name, kind) {
      const below = shadowAt([...above.names, name], `${above.at}/${name}`, kind)
      count(1, 0)
      mkdirSync(shownAt(above, name), { recursive: true, mode: 0o755 })
      above.folders.set(name, below)
      return below
    },
    addLink(shadow, name) {
      if (!shadow.links.has(name)) count(1, 0)
      shadow.links.add(name)
    },
    place(shadow, name, brought) {
      const known = shadow.files.get(name)
      const { file, is, bytes: size, mode } = brought
      count(known ? 0 : 1, size - (known?.bytes ?? 0))
      show(brought, shownAt(shadow, name), known)
      shadow.files.set(name, { file, is, bytes: size, mode })
    },
    async remove(shadow, name) {
      const below = shadow.folders.get(name)
      const file = shadow.files.get(name)
      if (!below && !file && !shadow.links.has(name)) return
      if (below) forget(below)
      else count(-1, -(file?.bytes ?? 0))
      shadow.folders.delete(name)
      shadow.files.delete(name)
      shadow.links.delete(name)
      if (below) await rm(shownAt(shadow, name), { recursive: true, force: true })
      else rmSync(shownAt(shadow, name), { force: true })
    },
    begun: () => void (until = Number.POSITIVE_INFINITY),
  }
}

function shadowAt(names: readonly string[], at: string, kind: Kind): Shadow {
  return { names, at, kind, folders: new Map(), files: new Map(), links: new Set(), wanted: new Map(), gone: false }
}

export const namesShown = (shadow: Shadow): string[] => [...shadow.folders.keys(), ...shadow.files.keys(), ...shadow.links]

export function everyFolder(shadow: Shadow): Shadow[] {
  return [shadow, ...[...shadow.folders.values()].flatMap(everyFolder)]
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { folderIdentity, openFolder, type Root } from '../walk.ts'
import type { Shown } from './confine.ts'
import type { Hidden } from './hidden.ts'
import type { Layers, Pinned } from './launch.ts'
import type { LiveFolder, Mirror } from './mirror.ts'
import { relaySocketInside } from './relay.ts'
import { makeLayers } from './stage-pool.ts'
import { holds } from './bind-rules.ts'

/** What a program that keeps running sees of the project. */
export interface ServerView {
  shows: Shown[]
  /** What it may write to: many servers keep a cache in `node_modules` and do not start without it. */
  layers: Layers | undefined
  /** Folders that must be the ones that were judged: a link that was put in the place of one would lead anywhere. */
  pinned: Pinned[]
  /** What is shown as it is: there covers are laid over what is hidden, and watched. Of all else only what was judged is there. */
  isLive(one: Pick<Hidden, 'at'>): boolean
}

export function serverView(root: Root, mirror: Mirror | undefined, stage: string, place: string, door: string): ServerView {
  const project = root.path
  const modules = join(project, 'node_modules')
  const live = mirror?.live.map(({ at }) => at) ?? [project]
  const pinned = (mirror?.live ?? modulesOf(root)).map(({ at, is }, index) => ({
    from: at,
    is,
    at: join(stage, 'live', String(index)),
  }))
  for (const { at } of pinned) mkdirSync(at, { recursive: true, mode: 0o755 })
  const lower = pinned.find(({ from }) => from === modules)?.at
  const layers = lower === undefined ? undefined : makeLayers(stage, place, lower)
  return {
    layers,
    pinned,
    shows: [
      { from: mirror?.folder ?? project, at: project, writes: false },
      ...pinned.filter(({ from }) => from !== modules).map(({ from, at }) => ({ from: at, at: from, writes: false })),
      ...(layers ? [{ from: layers.merged, at: modules, writes: true }] : []),
      { from: door, at: relaySocketInside, writes: true },
    ],
    isLive: ({ at }) => !holds(project, at.toString()) || live.some((folder) => holds(folder, at.toString())),
  }
}

function modulesOf(project: Root): LiveFolder[] {
  const top = openFolder(project, [])
  try {
    const is = folderIdentity(top, 'node_modules')
    return is === undefined ? [] : [{ at: join(project.path, 'node_modules'), is }]
  } finally {
    top.close()
  }
}

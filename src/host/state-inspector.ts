import { existsSync, lstatSync, readdirSync, renameSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import { keptRowOf } from '../contracts/kept.ts'
import type { StateAdmin, StateView } from '../contracts/state.ts'
import { headName, headsFolder } from './heads.ts'
import { openStateFolder, type StateFolder } from './state-folder.ts'
import { openStateBase, projectFolderName, stateBase, willBe, type StateAsked } from './state-place.ts'
import {
  bringsOldState,
  encode,
  identify,
  identityOf,
  isSameFolder,
  manifestFile,
  projectsFolder,
  readManifest,
  type Manifest,
  type Seen,
} from './state-project.ts'
import { bytesBelow } from './state-size.ts'
import type { Root } from './walk.ts'

const mostListed = 20
const mostLookedAt = 2_000
const setAsideFolder = 'set-aside'

export type StateInspector = Pick<StateAdmin, 'show' | 'adoption' | 'adopt' | 'reset' | 'close'>

/** Looks at and moves the state of a project without opening what is in it. */
export function openStateInspector(root: Root, asked: StateAsked): StateInspector {
  const base = openStateBase(stateBase(asked), root)
  const projects = base.sub(projectsFolder)
  const name = projectFolderName(root.path)
  const now = identityOf(root, [projects.at(name), projects.path, base.path])
  const { unsure: _, ...identity } = now
  const heads = base.sub(headsFolder)
  /** The log's head goes where its log goes. */
  const moveHead = (project: string, to: string): void => {
    const from = heads.at(headName(project))
    if (from !== to && existsSync(from)) renameSync(from, to)
  }

  const found = (folder: string): Manifest | string | undefined => {
    if (!lstatSync(projects.at(folder), { throwIfNoEntry: false })) return undefined
    try {
      return within(projects.at(folder), readManifest)
    } catch (fault) {
      return (fault as Error).message
    }
  }
  const others = (): { folder: string; manifest: Manifest }[] =>
    projects
      .names()
      .filter((one) => one !== name)
      .slice(0, mostLookedAt)
      .flatMap((folder) => {
        const manifest = found(folder)
        return typeof manifest === 'object' ? [{ folder, manifest }] : []
      })
  const movedHere = (): { folder: string; manifest: Manifest }[] =>
    others().filter(({ manifest }) => isSameFolder(manifest, now) && !livesAt(manifest))

  return {
    async show() {
      const own = found(name)
      const folder = `${projects.path}/${name}`
      const sizes = await bytesBelow(projects.at(name), kindOf)
      const whole = await bytesBelow(base.at('.'), () => 'all')
      const all = others()
      const [moved] = movedHere()
      return {
        base: base.path,
        folder,
        project: { path: root.path, device: now.device, inode: now.inode },
        ...fitOf(own, root.path, now),
        bytes: { database: 0, audit: 0, snapshots: 0, evidence: 0, other: 0, ...sizes.bytes },
        baseBytes: whole.bytes['all'] ?? 0,
        atLeast: sizes.atLeast || whole.atLeast,
        others: all.slice(0, mostListed).map(({ folder: at, manifest }) => ({
          path: manifest.path,
          folder: `${projects.path}/${at}`,
          gone: !livesAt(manifest),
        })),
        moreOthers: Math.max(0, all.length - mostListed),
        setAside: existsSync(base.at(setAsideFolder)) ? readdirSync(base.at(setAsideFolder)).length : 0,
        oldState: bringsOldState(root.path),
        ...(moved && { movedFrom: moved.manifest.path }),
      }
    },
    adoption(from) {
      const to = `${projects.path}/${name}`
      const own = found(name)
      if (typeof own === 'string')
        throw new Fault('conflict', own, { hint: '`handrail state reset` sets it aside and starts anew.' })
      if (own && (from === undefined || own.path === from)) {
        if (own.path === root.path && isSameFolder(own, now)) throw nothing('The state here is this project’s already')
        return { from: own.path, folder: name, to, moved: false }
      }
      if (own)
        throw new Fault('conflict', `${root.path} has state of its own already`, {
          hint: '`handrail state reset` sets it aside; then adopt the other.',
        })
      if (from !== undefined) {
        const wanted = [...new Set([from, resolve(from), willBe(resolve(from))])]
        for (const path of wanted) {
          const manifest = found(projectFolderName(path))
          if (typeof manifest !== 'object' || manifest.path !== path) continue
          if (livesAt(manifest))
            throw new Fault('conflict', `${path} is still there, and its state is its own`, {
              hint: 'Only the state of a project that was moved or removed can be taken over.',
            })
          return { from: path, folder: projectFolderName(path), to, moved: true }
        }
        throw nothing(`No state of ${from} is kept below ${base.path}`)
      }
      const [moved, ...more] = movedHere()
      if (!moved) throw nothing('Nothing to take over: no state of a project that was moved here is found')
      if (more.length)
        throw new Fault('conflict', 'More than one former place of this folder is known', {
          details: { from: [moved, ...more].slice(0, mostListed).map(({ manifest }) => manifest.path) },
          hint: 'Name one with --from PATH.',
        })
      return { from: moved.manifest.path, folder: moved.folder, to, moved: true }
    },
    adopt({ folder }) {
      const manifest = found(folder)
      if (typeof manifest !== 'object') throw nothing('It is gone by now')
      // In this order: stopped between the two, the folder is refused as another project's, and adopting again mends it.
      if (folder !== name) renameSync(projects.at(folder), projects.at(name))
      moveHead(manifest.path, heads.at(headName(root.path)))
      within(projects.at(name), (own) =>
        own.replace(manifestFile, encode({ version: 1, path: root.path, ...identity, createdAt: manifest.createdAt })),
      )
    },
    reset() {
      if (!lstatSync(projects.at(name), { throwIfNoEntry: false })) return undefined
      const aside = base.sub(setAsideFolder)
      const clock = new Date().toISOString().replace(/[-:.]/g, '')
      renameSync(projects.at(name), aside.at(`${name}-${clock}`))
      moveHead(root.path, aside.at(`${name}-${clock}/${headName(root.path)}`))
      return `${aside.path}/${name}-${clock}`
    },
    close: () => base.close(),
  }
}

function fitOf(own: Manifest | string | undefined, path: string, now: Seen): Pick<StateView, 'fits' | 'why'> {
  if (own === undefined) return { fits: 'none yet' }
  if (typeof own === 'string') return { fits: 'unknown', why: own }
  if (own.path !== path) return { fits: 'unknown', why: `it was made for ${own.path}` }
  return isSameFolder(own, now)
    ? { fits: 'yes' }
    : { fits: 'another folder', why: 'the folder was removed and made again, or moved here' }
}

/** Whether the folder a manifest speaks of is still where it says. */
function livesAt(manifest: Manifest): boolean {
  try {
    const stat = statSync(manifest.path, { bigint: true, throwIfNoEntry: false })
    return stat !== undefined && isSameFolder(manifest, identify(stat))
  } catch {
    return false
  }
}

function within<T>(path: string, act: (folder: StateFolder) => T): T {
  const folder = openStateFolder(path)
  try {
    return act(folder)
  } finally {
    folder.close()
  }
}

function kindOf(path: readonly string[]): string {
  return keptRowOf(path.join('/'))?.kind ?? 'other'
}

function nothing(says: string): Fault {
  return new Fault('not-found', says, {
    hint: '`handrail state` shows what there is; --from PATH names where the project was.',
  })
}

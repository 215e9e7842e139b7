import { opendirSync } from 'node:fs'
import { Fault } from '../../contracts/faults/fault.ts'
import { quotedName } from '../../text/printable.ts'
import type { Steps } from '../../text/steps.ts'
import { sha256 } from '../files.ts'
import { splitPath, type PathRules } from '../paths.ts'
import { contentAt, pathStateAt, pathStateInSteps, type PathState } from '../path-state.ts'
import { openFolder, type Root } from '../walk.ts'

/** A file of the project that a new link gives another name to, and so a meaning it did not have. */
export interface TargetFile {
  path: string
  standing: PathState
  content: () => Buffer
}

export interface LinkTargets {
  files: TargetFile[]
  /** Nothing stands there. */
  nothing?: true
  /** What of it cannot be shown. */
  why?: string
}

/**
 * What stands in the project where a link leads: the file, or every file of the folder. `known` are paths that the program changed: they
 * are on the card by themselves. Links in there are not followed, and what tools may not read is not read here either.
 */
export function* linkTargetsAt(
  project: Root,
  rules: PathRules,
  at: string,
  known: (path: string) => boolean,
  most: number,
): Steps<LinkTargets> {
  if (at === '') return { files: [], why: 'the whole project, which it leads to' }
  const files: TargetFile[] = []
  const waiting = [at]
  let entries = 0
  let why: string | undefined
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    yield
    if (known(path) && path !== at) continue
    try {
      const names = splitPath(path, rules)
      const pathState = yield* pathStateInSteps(project, names)
      if (pathState?.form === 'file') {
        if (!known(path))
          files.push({ path, standing: pathState, content: () => asSeen(contentAt(project, names), pathState, path) })
      } else if (pathState?.form === 'link') why ??= `where ${quotedName(path)} leads, which is a link as well`
      else if (pathState) {
        const inside = namesIn(project, names, most - entries)
        if (!inside) return { files: [], why: 'what it leads to, which is very much' }
        entries += inside.length
        waiting.push(...inside.map((name) => `${path}/${name}`).toReversed())
      } else if (path === at) return { files, nothing: true }
      else why ??= `${quotedName(path)}, which is no file`
    } catch {
      why ??= `${quotedName(path)}, which tools may not read`
    }
  }
  return { files, ...(why !== undefined && { why }) }
}

/** A file of the project that tools may read; nothing where there is none. */
export function fileAt(project: Root, rules: PathRules, path: string): PathState | undefined {
  try {
    const pathState = pathStateAt(project, splitPath(path, rules))
    return pathState?.form === 'file' ? pathState : undefined
  } catch {
    return undefined
  }
}

function asSeen(content: Buffer, pathState: PathState, path: string): Buffer {
  if (sha256(content) === pathState.sha256) return content
  throw targetMoved(path)
}

export function targetMoved(path: string): Fault {
  return new Fault('conflict', `${path} was changed while what a link leads to was being shown`, {
    details: { path },
    hint: 'Nothing was applied. Make the call again.',
  })
}

/** Nothing where there are more. */
function namesIn(project: Root, names: readonly string[], most: number): string[] | undefined {
  const folder = openFolder(project, names)
  try {
    const opened = opendirSync(folder.at('.'))
    try {
      const found: string[] = []
      for (let entry = opened.readSync(); entry; entry = opened.readSync()) if (found.push(entry.name) > most) return undefined
      return found.sort()
    } finally {
      opened.closeSync()
    }
  } finally {
    folder.close()
  }
}

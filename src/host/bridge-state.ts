import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { DevServerState } from '../contracts/bridge.ts'
import { bridgeProtocol } from '../contracts/bridge.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { sha256 } from './files.ts'
import { openLock } from './lock.ts'
import { isRunning, ownName } from './running.ts'
import { readSmall } from './small-file.ts'
import { openStateFolder } from './state-folder.ts'
import { stateBase, willBe } from './state-place.ts'

/** Where a bridge says how it is reached, for other programs of the same user. */
export interface BridgeStateFile {
  readonly path: string
  /** What stands there of a server that runs; what one that was killed left is taken away. */
  read(): { state: DevServerState } | { gone: 'missing' | 'stale' | 'foreign'; pid?: number }
  /** Claims it for this process; a server that runs keeps it. Returns how to take it back. */
  claim(state: Omit<DevServerState, 'process'>): () => void
}

type Environment = Record<string, string | undefined>

const largest = 1 << 16
const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** `named` is a file that the person chose; else one for each project, in a folder of this user alone. */
export function openBridgeState(project: string, environment: Environment, named?: string): BridgeStateFile {
  const folder = (): string => placeOf(environment)
  const path =
    named === undefined || named === '' ? join(folder(), `${sha256(willBe(project)).slice(0, 16)}.json`) : resolve(named)
  const read: BridgeStateFile['read'] = () => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (!stat) return { gone: 'missing' }
    // A token in a file that somebody else wrote, or could have, is no token of ours.
    const us = process.geteuid?.()
    if (!stat.isFile() || (us !== undefined && (stat.uid !== us || (stat.mode & 0o022) !== 0))) return { gone: 'foreign' }
    const state = stateIn(readSmall(path, largest, 'refused'))
    if (!state) return { gone: 'foreign' }
    return isRunning(state.process ?? String(state.pid)) ? { state } : { gone: 'stale', pid: state.pid }
  }
  /** One at a time among all processes of this user: who looks and then writes is not overtaken. */
  const alone = <T>(act: () => T): T => {
    const place = openStateFolder(folder())
    const lock = openLock(place.file('lock'))
    try {
      return lock.holdNow(act)
    } finally {
      lock.close()
      place.close()
    }
  }
  return {
    path,
    read,
    claim(given) {
      const state: DevServerState = { ...given, process: ownName() }
      alone(() => {
        const found = read()
        if ('state' in found)
          throw new Fault('conflict', `A dev server runs for this already: ${found.state.url}, process ${found.state.pid}`, {
            hint: 'Use it, end it with `handrail devserver stop`, or give another --stateFile.',
          })
        if (found.gone === 'foreign')
          throw new Fault('conflict', `${path} is not a state file of this user`, {
            hint: 'Remove it, or give another --stateFile.',
          })
        write(path, `${JSON.stringify(state)}\n`)
      })
      return () =>
        alone(() => {
          const found = stateIn(readSmall(path, largest, 'refused'))
          if (found?.process === state.process && found?.port === state.port) remove(path)
        })
    },
  }
}

/** The user's runtime folder, where there is one that is theirs alone; else their state folder. */
function placeOf(environment: Environment): string {
  const runtime = environment['XDG_RUNTIME_DIR'] ?? ''
  const base = isAbsolute(runtime) && isPrivate(runtime) ? join(runtime, 'handrail') : stateBase({ environment })
  mkdirSync(dirname(base), { recursive: true, mode: 0o700 })
  openStateFolder(base).close()
  const folder = openStateFolder(join(base, 'devserver'))
  folder.close()
  return folder.path
}

function isPrivate(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  const us = process.geteuid?.()
  return stat?.isDirectory() === true && us !== undefined && stat.uid === us && (stat.mode & 0o077) === 0
}

function stateIn(text: string | undefined): DevServerState | undefined {
  try {
    const state = JSON.parse(text ?? '') as Partial<DevServerState>
    const fits =
      state.kind === 'DevServerState' &&
      state.protocol === bridgeProtocol &&
      Number.isInteger(state.pid) &&
      Number.isInteger(state.port)
    return fits && typeof state.url === 'string' && typeof state.cwd === 'string' ? (state as DevServerState) : undefined
  } catch {
    return undefined
  }
}

/** Whole or not at all, and never readable for anybody else, not for a moment. */
function write(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      fchmodSync(fd, 0o600)
      writeSync(fd, text)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
  } catch (cause) {
    remove(temporary)
    throw new Fault('io', `The state file cannot be written (${(cause as NodeJS.ErrnoException).code}): ${path}`, {
      hint: 'Its folder must be there and yours. Give another --stateFile.',
      cause,
    })
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It is not there.
  }
}

import { closeSync, constants, existsSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Fault } from '../../contracts/faults/fault.ts'
import { secretOn } from '../../text/secret-files.ts'
import type { Files } from '../files.ts'
import { readSmall } from '../small-file.ts'

const largestAbout = 65_536

/** The program that plays a game: `index.html` and what it loads. */
export interface Engine {
  /** Where it comes from, for people. */
  readonly about: string
  /** It lies beside the game. */
  readonly own?: true
  readPart: Files['readPart']
}

/** What an exported game has besides `game/`; nothing else of the project is shown as part of an engine. */
const ofAnExport = /^(index\.html|manifest\.json|webgal-engine\.json|(assets|icons)\/.+)$/

/** The engine the settings name, else the project's own, else the package, as the project or Handrail has it. */
export function findEngine(files: Files, game: string, setting: string): Engine {
  const beside = besideGame(game)
  if (setting !== '') {
    const folder = isAbsolute(setting) ? setting : join(files.root, setting)
    if (isEngine(folder)) return folderEngine(folder, `the setting preview.engine (${setting})`)
    throw noEngine(`preview.engine names no WebGAL engine: ${setting}`)
  }
  if (hasFile(files, `${beside}index.html`) && isFolder(files, `${beside}assets`)) return ownEngine(files, beside)
  const found = packagedEngine(files)
  if (found) return found
  throw noEngine('There is no WebGAL engine to show the game with')
}

/** The package, for a game whose own engine cannot be told where to go. */
export function packagedEngine(files: Files): Engine | undefined {
  const found = packaged(join(files.root, 'package.json')) ?? packaged(fileURLToPath(import.meta.url))
  return found === undefined ? undefined : folderEngine(found, `the package webgal-engine${versionIn(found)}`)
}

function versionIn(folder: string): string {
  try {
    const { version } = JSON.parse(readSmall(join(dirname(folder), 'package.json'), largestAbout) ?? '') as { version?: unknown }
    return typeof version === 'string' && /^[\w.+-]{1,40}$/.test(version) ? ` ${version}` : ''
  } catch {
    return ''
  }
}

function noEngine(message: string): Fault {
  return new Fault('preview', message, {
    hint: 'Run `npm install webgal-engine` in the project, or set preview.engine to the folder of an engine (the one with index.html and assets/), or start WebGAL Terre.',
  })
}

/** The folder a game lies in, as the start of a path: there an exported game has its engine. */
export function besideGame(game: string): string {
  return game.slice(0, game.lastIndexOf('/') + 1)
}

function ownEngine(files: Files, beside: string): Engine {
  return {
    about: 'the engine in the project',
    own: true,
    readPart(path, choose) {
      if (!ofAnExport.test(path)) throw notFound(path)
      return files.readPart(beside + path, choose)
    },
  }
}

/** The folder of the package, where it is what it says it is: a link to some other folder is not. */
function packaged(from: string): string | undefined {
  try {
    const about = realpathSync(installedAt(from))
    const { name } = JSON.parse(readSmall(about, largestAbout) ?? '') as { name?: unknown }
    const folder = join(dirname(about), 'dist')
    const isOwn = realpathSync(folder) === folder
    // A project that calls itself so would be resolved as well.
    const isInstalled = dirname(about).endsWith(join(sep, 'node_modules', 'webgal-engine'))
    return name === 'webgal-engine' && isInstalled && isOwn && isEngine(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

/** As Node would look for it, save that nothing on the way is read: what stands there may have been put there to be read for ever. */
function installedAt(from: string): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const at = join(folder, 'node_modules', 'webgal-engine', 'package.json')
    if (existsSync(at) || dirname(folder) === folder) return at
  }
}

function isEngine(folder: string): boolean {
  try {
    return statSync(join(folder, 'index.html')).isFile() && statSync(join(folder, 'assets')).isDirectory()
  } catch {
    return false
  }
}

/** Reads inside one folder. Package managers fill it with hard links, so unlike in the project a second name is no reason to refuse. */
function folderEngine(folder: string, about: string): Engine {
  const root = realpathSync(folder)
  return {
    about,
    readPart(path, choose) {
      let fd: number | undefined
      try {
        const real = realpathSync(resolve(root, path))
        if (!real.startsWith(root + sep)) throw notFound(path)
        // A pipe is not waited for, and what holds secrets is no part of any engine.
        if (secretOn(relative(root, real).split(sep)) !== undefined) throw notFound(path)
        fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK)
        const stat = fstatSync(fd)
        if (!stat.isFile()) throw notFound(path)
        const { start, end } = choose(stat.size)
        const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(end, stat.size) - start))
        const filled = readSync(fd, bytes, 0, bytes.length, start)
        return { size: stat.size, bytes: bytes.subarray(0, filled) }
      } catch (fault) {
        throw fault instanceof Fault ? fault : notFound(path)
      } finally {
        if (fd !== undefined) closeSync(fd)
      }
    },
  }
}

function notFound(path: string): Fault {
  return new Fault('not-found', `Not part of the engine: ${path}`, { hint: 'Check the engine.' })
}

function hasFile(files: Files, path: string): boolean {
  try {
    files.readPart(path, () => ({ start: 0, end: 0 }))
    return true
  } catch {
    return false
  }
}

function isFolder(files: Files, path: string): boolean {
  try {
    return files.isFolder(path)
  } catch {
    return false
  }
}

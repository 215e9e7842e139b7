import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Client, ClientConfigs, ConfigChange, Platform } from '../contracts/clients.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { putJson, showJson, takeJson } from './client-config-json.ts'
import { putToml, showToml, takeToml } from './client-config-toml.ts'
import { decodeText, encodeText, tooLarge } from './files.ts'
import { sha256 } from './files.ts'

const largest = 8 << 20

/** The clients' settings files of this user. */
export function openClientConfigs(machine: {
  platform: string
  home: string
  environment: Record<string, string | undefined>
}): ClientConfigs {
  const edit = {
    json: { put: putJson, take: takeJson, show: showJson },
    toml: { put: putToml, take: takeToml, show: showToml },
  }
  return {
    locate: (client, project) => locate(client, project, machine),
    snippet: (client, name, entry) =>
      edit[client.format].put({ text: '', client, name, file: 'a new file', shipped: false }, entry),
    propose({ client, file, name, project, entry, within }) {
      const realFile = followLink(file, within)
      const found = readConfig(realFile, file)
      const { put, take, show } = edit[client.format]
      const usual = client.scope === 'user' && file === locate(client, project, machine)
      const shipped = client.scope === 'project' || (!usual && isBelow(realPathOf(project), realFile))
      const place = { text: found ?? '', client, name, file, shipped }
      const after = entry ? put(place, entry) : take(place)
      const whole = entry && show(place) !== undefined ? show({ ...place, text: after }) : undefined
      return {
        file,
        realFile,
        before: found,
        after: found === undefined && !entry ? '' : after,
        ...(whole !== undefined && { whole }),
      }
    },
    write,
    mustBeFolder(path) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
      throw new Fault('not-found', `No such folder: ${path}`, {
        details: { path },
        hint: 'Give the folder the agent may work on with --project.',
      })
    },
  }
}

function locate(client: Client, project: string, machine: Parameters<typeof openClientConfigs>[0]): string {
  const system: Platform = machine.platform === 'darwin' || machine.platform === 'win32' ? machine.platform : 'linux'
  for (const template of client.files[system]) {
    const [, variable] = /^\$(\w+)/.exec(template) ?? []
    const value = variable === undefined ? undefined : machine.environment[variable]
    // A relative folder in a variable is as good as none: it would mean another file in every folder one stands in.
    if (variable !== undefined && !(value && isAbsolute(value))) continue
    return resolve(
      project,
      template.replace(/^\$\w+/, () => value ?? '').replace(/^~(?=\/)/, () => machine.home),
    )
  }
  throw new Fault('unsupported', `It is not known where ${client.title} keeps its settings on this system`, {
    hint: 'Name the file with --config.',
  })
}

/** Where the bytes are or will be. A file that is no regular one is refused, as is a link that leads out of `within` or nowhere. */
function followLink(file: string, within: string | undefined): string {
  const real = realPathOf(file)
  if (within !== undefined && !isBelow(realPathOf(within), real))
    throw new Fault('path-denied', `A link leads out of the project: ${file} is ${real}`, {
      details: { file, realFile: real },
      hint: 'Where that is what you want, name the real file with --config.',
    })
  return real
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Like `realpath`, also for a file whose last names do not exist yet. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw fault(path, cause)
    if (lstatSync(path, { throwIfNoEntry: false }))
      throw new Fault('io', `A link that leads nowhere: ${path}`, {
        details: { file: path },
        hint: 'Remove the link, or make the file it leads to.',
        cause,
      })
    return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path))
  }
}

/** The text of a settings file, or nothing where there is none. */
function readConfig(realFile: string, file: string): string | undefined {
  let fd: number
  try {
    fd = openSync(realFile, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw fault(file, cause)
  }
  try {
    const stat = fstatSync(fd)
    refuseOdd(stat, file)
    if (stat.size > largest) throw tooLarge(file, stat.size, largest)
    return decodeText(readFileSync(fd), file)
  } catch (cause) {
    throw fault(file, cause)
  } finally {
    closeSync(fd)
  }
}

function refuseOdd(stat: Stats, file: string): void {
  const why = !stat.isFile()
    ? 'it is not a regular file'
    : stat.nlink > 1
      ? 'it has a second name (a hard link), which would keep the old content'
      : undefined
  if (why)
    throw new Fault('io', `Cannot be changed: ${file}: ${why}`, {
      details: { file },
      hint: '`--print` shows what to put in by hand.',
    })
}

/** Puts the new text in place of the old by rename; mode and owner stay, and so does a link that leads here. */
function write({ file, realFile, before, after }: ConfigChange): void {
  const made = makeFolders(dirname(realFile))
  const temporary = join(dirname(realFile), `.${basename(realFile)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const stat = lstatSync(realFile, { throwIfNoEntry: false })
    if (digest(readConfig(realFile, file)) !== digest(before))
      throw new Fault('conflict', `${file} changed while you were looking at it`, {
        details: { file },
        hint: 'Nothing was written. Run it again to see the change on what stands there now.',
      })
    if (stat) mustBeWritable(realFile, file, stat)
    writeBeside(temporary, encodeText(after, file), stat)
    renameSync(temporary, realFile)
    flushFolder(dirname(realFile))
  } catch (cause) {
    removeIfThere(temporary)
    for (const folder of made.toReversed()) removeIfEmpty(folder)
    throw fault(file, cause)
  }
}

const digest = (text: string | undefined): string | undefined => (text === undefined ? undefined : sha256(text))

/** A rename asks for no right on the file itself, so what a person locked is asked for here. */
function mustBeWritable(realFile: string, file: string, stat: Stats): void {
  try {
    accessSync(realFile, constants.W_OK)
    if ((stat.mode & 0o222) !== 0) return
  } catch {
    // Refused below.
  }
  throw new Fault('io', `Read-only: ${file}`, {
    details: { file },
    hint: 'Nothing was written. Make the file writable, or put in by hand what `--print` shows.',
  })
}

function writeBeside(path: string, bytes: Uint8Array, like: Stats | undefined): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const mode = like ? like.mode & 0o7777 : 0o666
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    for (let done = 0; done < bytes.byteLength;) done += writeSync(fd, bytes, done)
    if (like) {
      if (process.getuid?.() === 0) fchownSync(fd, like.uid, like.gid)
      fchmodSync(fd, mode)
    }
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Makes what is missing of a folder's path, and says what it made, outermost first. */
function makeFolders(path: string): string[] {
  try {
    const first = mkdirSync(path, { recursive: true })
    if (first === undefined) return []
    const below = relative(first, path).split(sep).filter(Boolean)
    return [first, ...below.map((_, index) => join(first, ...below.slice(0, index + 1)))]
  } catch (cause) {
    throw fault(path, cause)
  }
}

function flushFolder(path: string): void {
  // Windows has no such call.
  if (process.platform === 'win32') return
  const fd = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It never came to be, or has its place already.
  }
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Somebody else put something in: it stays.
  }
}

function fault(file: string, cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const { code = 'unknown' } = cause as NodeJS.ErrnoException
  return new Fault('io', `The system refused (${code}): ${file}`, {
    details: { file, errno: code },
    hint: 'Nothing was written. Check the permissions of the file and its folder; `--print` shows what to put in by hand.',
    cause,
  })
}

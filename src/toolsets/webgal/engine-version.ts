import { Fault } from '../../contracts/faults/fault.ts'
import type { Files } from '../../host/files.ts'
import { versionShape } from './grammar/version.ts'

/** Which engine plays a game, and what says so. */
export interface EngineVersion {
  version: string
  /** A setting, or a file of the project. */
  from: string
  /** Made from WebGAL, with more of its own: what it is called. */
  derivative?: string
}

const largestAbout = 65_536
/** The program of an engine is about three megabytes. */
const largestBundle = 32 << 20

/** The official builds, by the name of their program. */
const official: Readonly<Record<string, string>> = {
  '6863a3b8': '4.5.18',
  MdzLVmuf: '4.5.19',
  'C-qIUAWt': '4.5.20',
  D_U02h3J: '4.6.0',
  eHBihDHv: '4.6.1',
  R1tKotR6: '4.6.4',
  'CC7KTie-': '4.6.5',
  Dcp3ZA1M: '4.6.6',
}

/** Looks beside the game, from the surest sign to the weakest. Nothing where nothing says it: a project of Terre holds only `game/`. */
export async function findEngineVersion(files: Files, game: string): Promise<EngineVersion | undefined> {
  if (game === '') return undefined
  const beside = game.slice(0, game.lastIndexOf('/') + 1)
  return (
    fromManifest(files, `${beside}webgal-engine.json`) ??
    (await fromProgram(files, beside)) ??
    fromPackage(files, beside.replace(/public\/$/, '')) ??
    (beside === '' ? undefined : fromPackage(files, ''))
  )
}

const version = new RegExp(`^${versionShape}$`)

function fromManifest(files: Files, path: string): EngineVersion | undefined {
  const about = jsonOf(files, path)
  const base = about?.['webgalVersion'] ?? (about?.['type'] === 'official' ? about['version'] : undefined)
  if (typeof base !== 'string' || !version.test(base)) return undefined
  const { type, name } = about ?? {}
  const isOwn = typeof type === 'string' && type !== 'official'
  return { version: base, from: path, ...(isOwn && { derivative: typeof name === 'string' && name !== '' ? name : type }) }
}

/** What `index.html` loads, else what looks like it: the version is written in it, and the official ones are known by name. */
async function fromProgram(files: Files, beside: string): Promise<EngineVersion | undefined> {
  const page = textOf(files, `${beside}index.html`, largestAbout)
  const named = /\bsrc="(?:\.?\/)?(assets\/index[.-][\w.-]+\.js)"/.exec(page ?? '')?.[1]
  const programs = named === undefined ? await programsIn(files, `${beside}assets`) : [named]
  for (const name of programs) {
    const path = beside + name
    const found = versionIn(files, path) ?? official[/index[.-]([\w-]+)\.js$/.exec(name)?.[1] ?? '']
    if (found !== undefined) return { version: found, from: path }
  }
  return undefined
}

async function programsIn(files: Files, folder: string): Promise<string[]> {
  if (!files.hasFolder(folder)) return []
  const { entries } = await files.list(folder)
  return entries
    .filter(({ name, kind }) => kind === 'file' && /^index[.-].*\.js$/.test(name) && !name.startsWith('index.es'))
    .slice(0, 8)
    .map(({ name }) => `assets/${name}`)
}

/** Programs that were read before, by name and size: their names change with what is in them. */
const read = new Map<string, string | undefined>()
const mostRead = 64

function versionIn(files: Files, path: string): string | undefined {
  try {
    const { size } = files.readPart(path, () => ({ start: 0, end: 0 }))
    const key = `${files.root}\0${path}\0${size}`
    if (read.has(key)) return read.get(key)
    const { bytes } = files.readPart(path, () => ({ start: 0, end: Math.min(size, largestBundle) }))
    const found = versionOfProgram(bytes.toString('latin1'))
    if (read.size >= mostRead) read.clear()
    read.set(key, found)
    return found
  } catch (fault) {
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

const before = new RegExp(String.raw`([\w$]+)="(${versionShape})",([\w$]+)=$`)
const after = /^([\w$]{1,20})[,}]/
const written = new RegExp(`^"WebGAL v?(${versionShape})"`)

/**
 * `x="4.6.1",y={version:x,…}` and somewhere `WebGAL v${y.version}`; before 4.5.13 `{version:"WebGAL 4.5.12",…}`. Found without a search that
 * looks at every place twice.
 */
export function versionOfProgram(program: string): string | undefined {
  const mark = '{version:'
  for (let at = program.indexOf(mark); at >= 0; at = program.indexOf(mark, at + 1)) {
    const rest = program.slice(at + mark.length, at + mark.length + 80)
    const plain = written.exec(rest)?.[1]
    if (plain !== undefined) return plain
    const name = after.exec(rest)?.[1]
    const [, variable, found, object] = name === undefined ? [] : (before.exec(program.slice(Math.max(0, at - 120), at)) ?? [])
    if (found !== undefined && variable === name && program.includes(`WebGAL v\${${object}.version}`)) return found
  }
  // The oldest say it only in words.
  const said = new RegExp(`WebGAL (${versionShape})(?=["'\`<\\s])`).exec(program)?.[1]
  return said
}

/** A project that is made with the package of the engine, or the engine's own source. */
function fromPackage(files: Files, beside: string): EngineVersion | undefined {
  const path = `${beside}package.json`
  const about = jsonOf(files, path)
  if (!about) return undefined
  const own = about['version']
  if (typeof own === 'string' && version.test(own) && (about['name'] === 'webgal-engine' || beside === 'packages/webgal/'))
    return { version: own, from: path }
  for (const kind of ['dependencies', 'devDependencies']) {
    const wanted = (about[kind] as Record<string, unknown> | undefined)?.['webgal-engine']
    const base = typeof wanted === 'string' ? /^[~^=v]*(\d[\w.-]*)$/.exec(wanted)?.[1] : undefined
    if (base !== undefined && version.test(base)) return { version: base, from: path }
  }
  return undefined
}

function jsonOf(files: Files, path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(textOf(files, path, largestAbout) ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function textOf(files: Files, path: string, most: number): string | undefined {
  try {
    return files.readPart(path, (size) => ({ start: 0, end: Math.min(size, most) })).bytes.toString('utf8')
  } catch (fault) {
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

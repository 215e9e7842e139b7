import { closeSync, lstatSync, opendirSync, readSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { Fault, asFault } from '../contracts/faults/fault.ts'
import { templatesInProject } from '../contracts/project-templates.ts'
import { sha256 } from './files.ts'
import { stampOf } from './settings-file.ts'
import { readSmall } from './small-file.ts'
import { openFile, openFolder, type Folder, type Root } from './walk.ts'

export interface TemplateText {
  name: string
  text: string
  /** SHA-256 of its bytes. */
  digest: string
}

/** A file of the project, or why it is none that can be used. */
export type ProjectText = TemplateText | { name: string; why: string }

const mostFiles = 200
/** A template is a page of text: nothing longer is read. */
export const longestTemplate = 262_144
/** All that is read of a project's folder: it is somebody else's, and is looked at again whenever it changed. */
const mostOfProject = 1_048_576

/** Where the person's own lie: beside their settings, which no tool reaches. */
export function templatesFolder(environment: Record<string, string | undefined>): string {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = environment
  const base = isAbsolute(config) ? config : join(isAbsolute(home) ? home : homedir(), '.config')
  return join(base, 'handrail', 'templates')
}

/** The files of a folder that may be templates; the same list as long as none of them changed. */
export function openTemplateFiles(folder: string): () => readonly TemplateText[] {
  return unlessSame(
    unlessFolderSame(folder, () => namesIn(folder) ?? []),
    (names) => stampOf(names.map((name) => join(folder, name))),
    (names) =>
      names.map((name) => {
        // A link may lead to where agents write.
        const text = readSmall(join(folder, name), longestTemplate, 'refused') ?? ''
        return { name, text, digest: sha256(text) }
      }),
  )
}

/**
 * The files that a project brings as templates; the same list as long as none of them changed. The folder is walked without following a
 * link, and a file is read once: the text is made from the very bytes that the digest is of.
 */
export function openProjectTemplates(project: Root): () => readonly ProjectText[] {
  const whole = templatesInProject.join('/')
  let why = ''
  const [first] = templatesInProject
  const within = <T>(act: (folder: Folder) => T, none: T): T => {
    let folder: Folder
    try {
      // Most projects have none, and are asked each time something is handed in: that costs one look.
      if (!lstatSync(openFolder(project, []).at(first), { throwIfNoEntry: false })) return none
      folder = openFolder(project, templatesInProject)
    } catch (thrown) {
      const fault = asFault(thrown)
      if (fault.reason !== 'not-found') why = fault.message
      return none
    }
    try {
      return act(folder)
    } finally {
      folder.close()
    }
  }
  return unlessSame(
    () => {
      why = ''
      const names = within((folder) => namesIn(folder.at('.')), [])
      if (!names) why = `it has more than ${mostEntries} entries`
      return names ?? []
    },
    (names) => `${why} ${names.length === 0 ? '' : within((folder) => stampOf(names.map(folder.at)), '')}`,
    (names) => {
      if (why !== '') return [{ name: whole, why }]
      let room = mostOfProject
      return within(
        (folder) =>
          names.map((name): ProjectText => {
            try {
              const bytes = readAt(project, folder, name, Math.min(room, longestTemplate))
              room -= bytes.length
              return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), digest: sha256(bytes) }
            } catch (thrown) {
              return { name, why: thrown instanceof Fault ? thrown.message : 'it is not UTF-8 text' }
            }
          }),
        [] as ProjectText[],
      )
    },
  )
}

function readAt(project: Root, folder: Folder, name: string, most: number): Buffer {
  const { fd } = openFile(project, folder, [...templatesInProject, name])
  try {
    const bytes = Buffer.alloc(most + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, null)
    if (length <= most) return bytes.subarray(0, length)
  } finally {
    closeSync(fd)
  }
  throw new Fault(
    'too-large',
    `it has more than ${longestTemplate} bytes, or all of the project's templates together more than ${mostOfProject}`,
  )
}

/** Asks for names and their stamp each time, and reads only where one of them is another. */
function unlessSame<T>(
  list: () => string[],
  stamp: (names: string[]) => string,
  read: (names: string[]) => readonly T[],
): () => readonly T[] {
  let seen: string | undefined
  let found: readonly T[] = []
  return () => {
    const names = list()
    const now = `${names.join('/')} ${stamp(names)}`
    if (now === seen) return found
    seen = now
    return (found = read(names))
  }
}

/**
 * A folder's time may be that of the tick in which it was read, and say nothing of what came later in it. Ticks are a few milliseconds, and up to
 * two seconds where a file system keeps whole seconds only.
 */
const tickOf = (timeNs: bigint): number => (timeNs % 1_000_000_000n === 0n ? 3_000 : 100)

/** Lists a folder again where it is another one, or something was put into it or taken away. */
function unlessFolderSame(folder: string, list: () => string[]): () => string[] {
  let seen: string | undefined
  let found: string[] = []
  return () => {
    try {
      const { dev, ino, mtimeNs, ctimeNs } = statSync(folder, { bigint: true })
      const now = `${dev}:${ino}:${mtimeNs}:${ctimeNs}`
      if (now === seen) return found
      found = list()
      seen = Number(ctimeNs / 1_000_000n) < Date.now() - tickOf(ctimeNs) ? now : undefined
      return found
    } catch {
      // There is no such folder, and most people have none.
      return []
    }
  }
}

/** More than anybody keeps there; a folder of a million is not walked to its end. */
const mostEntries = 2_000

/** Nothing where the folder has more than anybody keeps there. */
function namesIn(folder: string): string[] | undefined {
  const names: string[] = []
  try {
    const open = opendirSync(folder)
    try {
      for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
        if (names.push(entry.name) > mostEntries) return undefined
      }
    } finally {
      open.closeSync()
    }
  } catch {
    // Gone in the very moment, or not ours to read.
  }
  return names
    .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    .sort()
    .slice(0, mostFiles)
}

import { closeSync, constants, fstatSync, opendirSync, openSync, readdirSync, readFileSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { asFault, Fault } from '../contracts/faults/fault.ts'
import { promptsInProject } from '../contracts/prompt.ts'
import { sha256 } from './files.ts'
import { readSmall } from './small-file.ts'
import { enterFolder, openFolder, type Folder, type Root } from './walk.ts'

/** A prompt is a page: nothing longer is read. */
const longest = 131_072
const most = 200
/** Of a folder that a project brings, however much lies in it. */
const mostEntries = 2_000

export interface PromptText {
  id: string
  text: string
  digest: string
}

/** The prompts that come with Handrail, and the digests that were committed with their versions. */
export function readShippedPrompts(folder: string): { prompts: PromptText[]; versions: Record<string, Record<string, string>> } {
  const prompts: PromptText[] = []
  const walk = (at: string, id: string): void => {
    for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name)
      if (entry.isDirectory()) walk(path, `${id}${entry.name}/`)
      else if (entry.name.endsWith('.md') && entry.name !== 'README.md') {
        const text = readSmall(path, longest, 'refused') ?? ''
        prompts.push({ id: `${id}${entry.name.slice(0, -3)}`, text, digest: sha256(text) })
      }
    }
  }
  walk(folder, '')
  return {
    prompts,
    versions: JSON.parse(readFileSync(join(folder, 'versions.json'), 'utf8')) as Record<string, Record<string, string>>,
  }
}

/** Prompts that a project would put in the place of ours; no link is followed. */
export function readProjectPrompts(project: Root): (PromptText | { id: string; why: string })[] {
  const found: (PromptText | { id: string; why: string })[] = []
  let left = mostEntries
  const walk = (folder: Folder, names: readonly string[]): void => {
    for (const entry of entriesOf(folder.at('.'), left)) {
      if (found.length >= most) return
      if (--left < 0) throw new Fault('too-large', `more than ${mostEntries} entries: what is left is not looked at`)
      const id = [...names.slice(promptsInProject.length), entry.name].join('/')
      if (entry.isDirectory() && names.length < promptsInProject.length + 3) {
        const inner = enterFolder(project, folder, [...names, entry.name])
        try {
          walk(inner, [...names, entry.name])
        } finally {
          inner.close()
        }
      } else if (entry.name.endsWith('.md')) found.push(readAt(folder.at(entry.name), id.slice(0, -3)))
    }
  }
  let folder: Folder
  try {
    folder = openFolder(project, promptsInProject)
  } catch {
    return []
  }
  try {
    walk(folder, promptsInProject)
  } catch (thrown) {
    found.push({ id: promptsInProject.join('/'), why: asFault(thrown).message })
  } finally {
    folder.close()
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The first of them and one more: whole, a folder of a million would keep everybody waiting. */
function entriesOf(path: string, count: number): Dirent[] {
  const folder = opendirSync(path, { bufferSize: 256 })
  try {
    const found: Dirent[] = []
    for (let entry = folder.readSync(); entry !== null && found.length <= count; entry = folder.readSync()) found.push(entry)
    return found
  } finally {
    folder.closeSync()
  }
}

function readAt(path: string, id: string): PromptText | { id: string; why: string } {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return { id, why: 'it cannot be opened, or is a link' }
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > longest) return { id, why: `it is no plain file of at most ${longest} bytes` }
    const bytes = readFileSync(fd)
    return { id, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), digest: sha256(bytes) }
  } catch {
    return { id, why: 'it is not UTF-8 text' }
  } finally {
    closeSync(fd)
  }
}

import {
  constants,
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { homeOf } from './state-place.ts'
import { openFolder, type Folder, type Root } from './walk.ts'

const most = { files: 20, bytes: 8_192 }

/** The root under which the agent reaches its own files, and only in a turn that is about them. */
export const identityRoot = 'identity'

/** Who the agent is, what the person likes, and what it holds to: files of the person's, in their own folder. */
export function identityFolder(environment: Record<string, string | undefined>): string {
  const config = environment['XDG_CONFIG_HOME'] ?? ''
  return join(isAbsolute(config) ? config : join(homeOf(environment), '.config'), 'handrail', identityRoot)
}

export const hasIdentity = (folder: string): boolean => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false

const first: Record<string, string> = {
  'identity.md': '# Who the agent is\n\nCareful, brief and honest. It says what it does not know.\n',
  'preferences.md': '# What you like\n\n(Nothing yet. Say so in the chat, or write it here.)\n',
  'policy.md': '# What the agent holds to\n\nIt changes as little as a task needs, and asks where it matters.\n',
}

/** Puts down the first files where there is no such folder yet, and it can be made. */
export function makeIdentity(folder: string): void {
  try {
    if (lstatSync(folder, { throwIfNoEntry: false })) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const [name, text] of Object.entries(first)) writeFileSync(join(folder, name), text, { flag: 'wx', mode: 0o600 })
  } catch {
    // Where the person's settings cannot be written, the agent is as it comes.
  }
}

/** All of it as one text; links and what is large are left out. */
export function readIdentity(folder: string): string {
  if (!hasIdentity(folder)) return ''
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, most.files)
  return names
    .map((name) => readPlain(join(folder, name)))
    .filter((text) => text !== '')
    .join('\n\n')
}

/** Where a project says what the agent shall be like there. */
export const identityInProject = ['handrail', 'identity.md'] as const

/** What a project says of it; nothing where it says nothing, or in a way that is not read: a link, too long, no text. */
export function readProjectIdentity(project: Root): string | undefined {
  let folder: Folder
  try {
    folder = openFolder(project, identityInProject.slice(0, -1))
  } catch {
    return undefined
  }
  try {
    return readPlain(folder.at(identityInProject[1])) || undefined
  } finally {
    folder.close()
  }
}

function readPlain(path: string): string {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return ''
  }
  try {
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= most.bytes ? readFileSync(fd, 'utf8').trim() : ''
  } finally {
    closeSync(fd)
  }
}

import { closeSync, constants, fstatSync, openSync, readFileSync, unwatchFile, watchFile } from 'node:fs'
import { ToolError } from '../contracts/errors.ts'

const largest = 1 << 20

/** A settings file's text, or nothing where there is none. A link in its place is refused. */
export function readSettingsFile(path: string, name: string): { name: string; text: string } | undefined {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ToolError('E_IO', `${name} cannot be read (${code})`, {
      hint: code === 'ELOOP' ? 'It must be a file, not a link.' : 'Check its permissions.',
      cause,
    })
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > largest)
      throw new ToolError('E_BAD_ARGS', `${name} is not a settings file`, { hint: 'It must be a regular file of at most 1 MB.' })
    return { name, text: readFileSync(fd, 'utf8') }
  } finally {
    closeSync(fd)
  }
}

/** Looks at the files once a second; editors replace files rather than write to them, which a watched descriptor would miss. */
export function watchSettings(paths: readonly string[], changed: () => void): () => void {
  const look = (): void => changed()
  for (const path of paths) watchFile(path, { interval: 1_000, persistent: false }, look)
  return () => {
    for (const path of paths) unwatchFile(path, look)
  }
}

import { createHash } from 'node:crypto'
import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import type { ToolContext, Touch } from '../../contracts/tool.ts'
import type { BrowserUse, UploadedFile } from './use.ts'

export const FilePath = Type.String({ minLength: 1, maxLength: 1_000, description: 'A file of the project' })

/** A file that is uploaded is read: by path and by what it holds it is judged as for any reader. */
export const filesTouched = (paths: readonly string[]): Touch[] => paths.map((path) => ({ path, access: 'read' }))

/** The file as it is now. */
export function fileToUpload(path: string, { files, trustOf }: BrowserUse, call: Pick<ToolContext, 'client'>): UploadedFile {
  if (trustOf(call.client) === 'remote')
    throw new Fault('trust-level', 'Callers from another machine upload no files of this one', {
      hint: 'Send text instead, or let somebody at this machine do it.',
    })
  const normal = files.normal(path)
  return { name: normal.split('/').at(-1) ?? normal, bytes: files.read(path) }
}

/** What a person is told of it. */
export function fileNote(path: string, { files }: BrowserUse): string {
  const bytes = files.read(path)
  const hash = createHash('sha256').update(bytes).digest('hex')
  return `the file ${JSON.stringify(files.normal(path))} (${bytes.length} bytes, SHA-256 ${hash})`
}

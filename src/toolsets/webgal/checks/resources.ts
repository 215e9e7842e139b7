import type { Finding } from '../finding.ts'
import type { Game } from '../game.ts'
import { commands, placeholders, type Folder } from '../grammar/commands.ts'
import { parseChoices, type Statement } from '../grammar/parse.ts'
import { startsWithArgument } from './contents.ts'

/** A file a statement names. */
export interface Reference {
  folder: Folder
  name: string
}

const none: Reference[] = []

/** Every file a statement names, by the table. */
export function referencesOf({ command, content, args }: Statement): Reference[] {
  const row = commands[command]
  if (!row || (args.length === 0 && row.content.is !== 'file' && row.content.is !== 'choices')) return none
  const found: Reference[] = []
  if (row.content.is === 'file' && content !== '' && content !== 'none') found.push({ folder: row.content.folder, name: content })
  if (row.content.is === 'choices')
    for (const { target } of parseChoices(content)) if (target.includes('.')) found.push({ folder: 'scene', name: target })
  for (const { key, value } of args) {
    const kind = Object.hasOwn(row.args, key) ? row.args[key] : undefined
    if (kind?.is === 'file' && typeof value === 'string' && value !== '') found.push({ folder: kind.folder, name: value.trim() })
  }
  return found
}

const nothing: Finding[] = []

export function checkResources(statement: Statement, game: Game): Finding[] {
  const { command, content, line } = statement
  const row = commands[command]
  const references = referencesOf(statement)
  if (references.length === 0 && row?.content.is !== 'animation') return nothing
  const found = references.flatMap(({ folder, name }): Finding[] => {
    // Said elsewhere: a placeholder of the editor, or an argument in the place of a file.
    if (placeholders.includes(name) || (row && startsWithArgument(name, row))) return []
    const at = game.find(folder, name)
    if (at.is === 'there' || at.is === 'unknown') return []
    if (at.is !== 'missing')
      return [{ line, code: at.is, about: { file: at.file, nearest: at.nearest, folder: `game/${folder}` } }]
    return at.nearest === undefined
      ? [{ line, code: 'missing-file', about: { file: at.file } }]
      : [{ line, code: 'missing-file-near', about: { file: at.file, nearest: at.nearest } }]
  })
  if (row?.content.is === 'animation' && /^[\w-]+$/.test(content) && game.hasAnimation(content) === false)
    found.push({ line, code: 'missing-animation', about: { name: content } })
  return found
}

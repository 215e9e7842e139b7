import type { Game } from '../game.ts'
import { commands, type Folder } from '../grammar/commands.ts'
import { meaningNone, placeholders } from '../grammar/mistaken.ts'
import { parseChoices, type Statement } from '../grammar/parse.ts'
import { gluedArgument, startsWithArgument } from './contents.ts'
import type { SceneContext } from './scene-context.ts'

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

/** Whether what a statement names is there. */
export function checkResources(statement: Statement, scene: SceneContext): void {
  const { command, line } = statement
  const row = commands[command]
  const references = referencesOf(statement)
  if (references.length === 0 || !row) return
  for (const { folder, name } of references) {
    // Said elsewhere: a placeholder of the editor, or an argument in the place of a file.
    if (placeholders.has(name) || startsWithArgument(name, row) || gluedArgument(name, row) !== undefined) continue
    const at = scene.game.find(folder, name)
    if (at.is === 'there' || at.is === 'unknown') continue
    if (at.is !== 'missing')
      scene.add({ line, code: at.is, about: { file: at.file, nearest: at.nearest, folder: `game/${folder}` } })
    else if (meaningNone.has(name.toLowerCase()) && folder !== 'scene')
      scene.add({ line, code: 'use-none', about: { command, content: name } })
    else if (at.nearest === undefined) scene.add({ line, code: 'missing-file', about: { file: at.file } })
    else scene.add({ line, code: 'missing-file-near', about: { file: at.file, nearest: at.nearest } })
  }
}

/** A file that is there and whose name holds a ` -`: the engine never gets to see the whole of it. */
export function cutFileName(statement: Statement, game: Game): { file: string; cut: string; written: string } | undefined {
  const { command, content, args } = statement
  const row = commands[command]
  if (!row || args.length === 0 || !args.some(({ raw }) => raw.startsWith(' ') || raw.includes('.'))) return undefined
  const pieces = args.map(({ raw }) => raw)
  const whole = (first: string, folder: Folder, from: number): string | undefined => {
    if (first === '' || game.find(folder, first).is === 'there') return undefined
    let name = first
    for (const piece of pieces.slice(from, from + 4)) {
      name += ` -${piece}`
      if (piece.includes('.') && game.find(folder, name.trim()).is === 'there') return name.trim()
    }
    return undefined
  }
  const found =
    row.content.is === 'file'
      ? { cut: content, file: whole(content, row.content.folder, 0) }
      : pieces
          .slice(0, -1)
          .map((piece, index) => ({ cut: piece.trim(), file: whole(piece.trim(), 'vocal', index + 1) }))
          .find(({ file }) => file !== undefined)
  return found?.file === undefined ? undefined : { cut: found.cut, file: found.file, written: found.file.replaceAll(' ', '%20') }
}

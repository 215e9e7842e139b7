import type { ScriptCompletion } from '../../../contracts/script-editor.ts'
import { commands, everywhere, targets, type ContentKind, type ValueKind } from '../grammar/commands.ts'
import { argumentLine, hover } from '../grammar/describe.ts'
import { isIn } from '../language.ts'
import { labelsIn } from './symbols.ts'
import type { GameIndex } from './game-index.ts'

type Lang = 'ZH' | 'EN'
type Item = Omit<ScriptCompletion, 'range'>

/** What may stand before the cursor, and how many characters of it are written already. */
export interface Offered {
  items: Item[]
  typed: number
}

/** More than a person reads, and few enough that an editor takes them in at once; what is typed narrows them. */
const most = 2_000

/** What fits at the end of `before`, the statement up to the cursor. */
export function offered(before: string, scene: string, index: GameIndex, lang: Lang): Offered {
  const some = choose(before, scene, index, lang)
  const typed = some.typed.toLowerCase()
  const fitting = some.items.length > most ? some.items.filter(({ label }) => label.toLowerCase().includes(typed)) : some.items
  return { items: fitting.slice(0, most), typed: some.typed.length }
}

function choose(before: string, scene: string, index: GameIndex, lang: Lang): { items: Item[]; typed: string } {
  const nothing = { items: [], typed: '' }
  if (/(?<!\\);/.test(before)) return nothing
  const brace = /(?<!\\)\{([\p{L}\p{N}_]*)$/u.exec(before)
  const colon = before.indexOf(':')
  const head = colon < 0 ? before : before.slice(0, colon)
  const command = index.language.names.has(head.trim()) ? head.trim() : 'say'
  const isJson = ['transform', 'frames'].includes(commands[command]?.content.is ?? '')
  if (brace && !isJson) return { items: variables(index), typed: brace[1] ?? '' }
  const dash = before.lastIndexOf(' -')
  if (dash >= 0 && dash > colon - 1) return ofArgument(before.slice(dash + 2), command, index, lang)
  if (colon < 0) return { items: heads(index, lang), typed: before.trimStart() }
  const row = commands[command]
  if (!row) return nothing
  return ofContent(row.content, before.slice(colon + 1).trimStart(), scene, index)
}

function ofArgument(written: string, command: string, index: GameIndex, lang: Lang): { items: Item[]; typed: string } {
  const args: Record<string, ValueKind> = { ...commands[command]?.args, ...everywhere }
  const equals = written.indexOf('=')
  if (equals < 0) {
    const items = Object.entries(args).flatMap(([key, kind]): Item[] =>
      isIn(kind, index.language.version)
        ? [
            {
              label: `-${key}`,
              kind: 'argument',
              detail: argumentLine(key, kind, lang),
              insert: kind.is === 'flag' ? key : `${key}=`,
            },
          ]
        : [],
    )
    const voices = command === 'say' ? files('vocal', index) : []
    return { items: [...items, ...voices], typed: written }
  }
  const kind = args[written.slice(0, equals).trim()]
  const typed = written.slice(equals + 1).trimStart()
  return kind ? ofValue(kind, typed, index) : { items: [], typed: '' }
}

function ofValue(kind: ValueKind, typed: string, index: GameIndex): { items: Item[]; typed: string } {
  switch (kind.is) {
    case 'flag':
      return { items: values(['true', 'false']), typed }
    case 'one of':
      return { items: values(kind.values), typed }
    case 'file':
      return { items: files(kind.folder, index), typed }
    case 'animation':
      return { items: values(index.game.animations()), typed }
    case 'target': {
      const known = targets.filter((one) => isIn(one, index.language.version)).map(({ name }) => name)
      const ids = [...(index.words?.target ?? [])].filter((id) => id !== '*')
      return { items: values([...new Set([...known, ...ids])]), typed }
    }
    case 'expression':
      return { items: variables(index), typed: lastName(typed) }
    default:
      return { items: [], typed: '' }
  }
}

function ofContent(kind: ContentKind, typed: string, scene: string, index: GameIndex): { items: Item[]; typed: string } {
  switch (kind.is) {
    case 'file':
      return { items: [...files(kind.folder, index), ...(kind.folder === 'scene' ? [] : values(['none']))], typed }
    case 'target label':
      return { items: labels(scene, index), typed }
    case 'choices': {
      const option = /(?:^|\||->)((?:(?!\||->).)*)$/.exec(typed)?.[1] ?? ''
      if (/^\s*[([][^)\]]*$/.test(option)) return { items: variables(index), typed: lastName(option) }
      const colon = option.lastIndexOf(':')
      const target = option.slice(colon + 1).trimStart()
      return colon < 0 ? { items: [], typed: '' } : { items: [...labels(scene, index), ...files('scene', index)], typed: target }
    }
    case 'assignment':
    case 'variable':
    case 'expression':
      return { items: variables(index), typed: lastName(typed) }
    case 'animation':
      return { items: values(index.game.animations()), typed }
    case 'one of':
      return { items: values(kind.values), typed }
    default:
      return { items: [], typed: '' }
  }
}

const lastName = (text: string): string => /[\p{L}\p{N}_$.]*$/u.exec(text)?.[0] ?? ''

function heads({ language, words }: GameIndex, lang: Lang): Item[] {
  const known = [...language.names].flatMap((name): Item[] => {
    const row = Object.hasOwn(commands, name) ? commands[name] : undefined
    const documentation = hover(name, lang)
    return [
      {
        label: name,
        kind: 'command',
        insert: row?.content.is === 'nothing' ? `${name};` : `${name}:`,
        ...(row && { detail: row.says[lang] }),
        ...(documentation !== undefined && { documentation }),
      },
    ]
  })
  const speakers = [...(words?.speaker ?? [])].map((name): Item => ({ label: name, kind: 'speaker', insert: `${name}:` }))
  return [...known, ...speakers]
}

const values = (all: readonly string[]): Item[] => all.map((label) => ({ label, kind: 'value', insert: label }))

function files(folder: Parameters<GameIndex['game']['filesOf']>[0], { game }: GameIndex): Item[] {
  const names = folder === 'scene' ? game.scenes() : game.filesOf(folder)
  const kind = folder === 'scene' ? 'scene' : 'file'
  // What holds a ` -` would be cut there.
  return names.map((label) => ({ label, kind, detail: `game/${folder}`, insert: label.replaceAll(' -', '%20-') }))
}

const variables = ({ words }: GameIndex): Item[] =>
  [...(words?.variable ?? [])].filter((name) => name !== '').map((label): Item => ({ label, kind: 'variable', insert: label }))

const labels = (scene: string, index: GameIndex): Item[] =>
  labelsIn(index.occurrences(scene)).map((label): Item => ({ label, kind: 'label', insert: label }))

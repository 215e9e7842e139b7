import type { Finding } from '../finding.ts'
import { commands, everywhere, featureSince, targets, type CommandRow, type ValueKind } from '../grammar/commands.ts'
import type { Argument, Statement } from '../grammar/parse.ts'
import { isIn } from '../language.ts'
import { nearest } from '../../../text/nearest.ts'
import { checkAnimation } from './animations.ts'
import { gluedArgument } from './contents.ts'
import { checkExpression, isOpen } from './expressions.ts'
import { checkTransform, cutJson, parseJson } from './json.ts'
import type { SceneContext } from './scene-context.ts'

/** The arguments of a statement against the table. */
export function checkArguments(statement: Statement, scene: SceneContext): void {
  const { command, args, line } = statement
  const row = commands[command]
  if (!row || args.length === 0) return
  const cut = cutJson(statement, row)
  if (cut) scene.add({ line, code: 'cut-json' })
  for (const arg of args) {
    // What was cut off a JSON is not an argument of anybody's.
    if (cut && /["{}[\],]/.test(arg.raw)) continue
    // An arrow is told with the options it stands between.
    if (command === 'choose' && arg.raw.startsWith('>')) continue
    const kind = own(everywhere, arg.key) ?? own(row.args, arg.key)
    if (kind) checkKnown(arg, kind, statement, scene)
    else if (row.openArgs) checkLocal(arg, row, statement, scene)
    else checkUnknown(arg, row, statement, scene)
  }
}

export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** Any name may be a variable of the scene that is called; a switch that is nearly one of every command's was meant as that. */
function checkLocal({ key, value }: Argument, row: CommandRow, { command, line }: Statement, scene: SceneContext): void {
  const near = value === true ? nearest(key.toLowerCase(), Object.keys(everywhere), 1, scene.game.patience) : undefined
  if (near === undefined) scene.needs(line, `${command} -${key}`, row.localsSince)
  else scene.add({ line, code: 'misspelt-argument', about: { command, key, nearest: near } })
}

const knownOf = new Map<CommandRow, ReadonlySet<string>>()

function known(row: CommandRow): ReadonlySet<string> {
  const names = knownOf.get(row) ?? new Set([...Object.keys(row.args), ...Object.keys(everywhere)])
  knownOf.set(row, names)
  return names
}

function checkKnown(arg: Argument, kind: ValueKind, { command, line }: Statement, scene: SceneContext): void {
  const { key, value, raw } = arg
  scene.needs(line, `${command} -${key}`, kind.since)
  if (key === 'vocal') {
    if (/^\s*vocal\s*=/.test(raw)) scene.needs(line, `${command} -vocal=`, featureSince.vocalArgument)
    else if (/\.opus\s*$/i.test(raw)) scene.needs(line, '.opus', featureSince.opus)
  }
  const glued = gluedTo(arg, kind, commands[command] as CommandRow)
  if (glued !== undefined) scene.add({ line, code: 'glued-value', about: { key, value: String(value), lost: `-${glued}` } })
  else checkValue(arg, kind, line, scene)
}

const ending = /-([A-Za-z]\w*)(?:=[^=]*)?$/

/** `-duration=1-next`: what was meant as a second argument and became part of the value of the first. */
function gluedTo({ value }: Argument, kind: ValueKind, row: CommandRow): string | undefined {
  if (typeof value !== 'string' || !value.includes('-')) return undefined
  const last = ending.exec(value)?.[1]
  const behindFile = kind.is === 'file' ? gluedArgument(value, row) : undefined
  if (last === undefined || behindFile !== undefined) return behindFile
  if (last === 'next' || last === 'continue') return last
  // Words may end in anything; numbers, switches and lists of words do not.
  const isPlain =
    kind.is === 'number' || kind.is === 'flag' || kind.is === 'one of' || kind.is === 'transform' || kind.is === 'json'
  return isPlain && known(row).has(last) ? last : undefined
}

/** More than this many letters apart is another word, not a slip. */
const slipIn = (key: string): number => (key.length > 4 ? 2 : 1)

function checkUnknown({ key, raw }: Argument, row: CommandRow, { command, line }: Statement, scene: SceneContext): void {
  const { language, game } = scene
  if (language.declared.has(`${command}.${key}`) || language.declared.has(`*.${key}`)) return
  if (command === 'say' && !language.opus && /.opus\s*$/i.test(key)) return scene.needs(line, '.opus', featureSince.opus)
  const names = known(row)
  const found = (code: Finding['code'], about: Record<string, string>): void =>
    scene.add({ line, code, about: { command, key, ...about } })
  const parts = key.split('-')
  if (parts.length > 1 && parts.every((part) => names.has(part.split('=', 1)[0] as string)))
    return found('glued-arguments', {
      parts: parts.map((part) => `-${part}`).join(' '),
      spaced: parts
        .map((part) => ` -${part}`)
        .join('')
        .trim(),
    })
  // An argument follows its hyphen at once and has a name; anything else was text, where there is something to read in it.
  if (command === 'say' && !/^-*[A-Za-z\d]*[A-Za-z_][\w.-]*$/.test(raw.startsWith(' ') ? ' ' : key)) {
    if (/[\p{L}\p{N}]/u.test(raw)) scene.add({ line, code: 'swallowed-text', about: { text: `-${raw}` } })
    return
  }
  if (language.isFork) return found('unknown-argument-of-fork', {})
  const other = ownerOf(key)
  if (other !== undefined) return found('argument-of-other', { other })
  const near =
    [...names].find((name) => name.toLowerCase() === key.toLowerCase()) ??
    nearest(key.replace(/^-+/, ''), names, slipIn(key), game.patience)
  if (near === undefined) found('unknown-argument', {})
  else found('misspelt-argument', { nearest: near })
}

/** The first command that has an argument of this name. */
function ownerOf(key: string): string | undefined {
  return Object.keys(commands).find((name) => own((commands[name] as CommandRow).args, key) !== undefined)
}

function checkValue({ key, value }: Argument, kind: ValueKind, line: number, scene: SceneContext): void {
  if (isOpen(value)) return
  const what = `-${key}`
  if (kind.is === 'number') {
    if (typeof value !== 'number' && value !== '') scene.add({ line, code: 'bad-number', about: { what, value: String(value) } })
  } else if (kind.is === 'one of') {
    if (!kind.values.includes(String(value)) && value !== true)
      scene.add({ line, code: 'bad-value', about: { what, value: String(value), values: kind.values.join(', ') } })
  } else if (typeof value !== 'string') {
    if (kind.is === 'transform') scene.add({ line, code: 'bad-json-shape', about: { what, wanted: '{…}' } })
  } else checkWords(value, kind, what, line, scene)
}

function checkWords(value: string, kind: ValueKind, what: string, line: number, scene: SceneContext): void {
  if (kind.is === 'json' && parseJson(value) === undefined) scene.add({ line, code: 'broken-json', about: { what } })
  else if (kind.is === 'transform') {
    const parsed = parseJson(value)
    if (parsed === undefined) scene.add({ line, code: 'broken-json', about: { what } })
    else checkTransform(parsed.value, what, line, scene)
  } else if (kind.is === 'animation') checkAnimation(value, line, scene)
  else if (kind.is === 'target') checkTarget(value, line, scene)
  else if (kind.is === 'expression') {
    const finding = checkExpression(value, line)
    if (finding) scene.add(finding)
  }
}

function checkTarget(value: string, line: number, scene: SceneContext): void {
  if (value === '' || value.endsWith('-off')) return
  const fixed = targets.find(({ name }) => name === value)
  if (fixed) scene.needs(line, `-target=${value}`, fixed.since)
  else scene.ask({ line, about: 'target', name: value })
}

/** A target that is none of the stage's own and no figure's id. */
export function badTarget(
  { line, name }: { line: number; name: string },
  ids: Iterable<string>,
  { game, language }: SceneContext,
): Finding {
  const there = targets.filter((target) => isIn(target, language.version)).map((target) => target.name)
  const near = nearest(name, [...there, ...ids], name.length > 4 ? 2 : 1, game.patience)
  return near === undefined
    ? { line, code: 'bad-target', about: { value: name, values: there.join(', ') } }
    : { line, code: 'bad-target-near', about: { value: name, nearest: near } }
}

import { commands, featureSince, transformKeys, type CommandRow } from '../grammar/commands.ts'
import type { Statement } from '../grammar/parse.ts'
import { nearest } from '../../../text/nearest.ts'
import type { SceneContext } from './scene-context.ts'

export function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** More frames than anybody writes; the rest of a longer list is like them. */
const mostFrames = 1_000

/** The frames of an animation: a list, or since 4.6.6 an object that holds one. */
export function checkFrames(value: unknown, what: string, line: number, scene: SceneContext): void {
  let frames = value
  if (isObject(value)) {
    if (!Array.isArray(value['keyframes'])) return scene.add({ line, code: 'bad-json-shape', about: { what, wanted: '[…]' } })
    scene.needs(line, `${what}:{…}`, featureSince.animationObjects)
    frames = value['keyframes']
  }
  if (!Array.isArray(frames)) return scene.add({ line, code: 'bad-json-shape', about: { what, wanted: '[…]' } })
  for (const frame of frames.slice(0, mostFrames)) checkTransform(frame, what, line, scene, ['time'])
}

const numberKeys: ReadonlySet<string> = new Set(transformKeys.filter((key) => !['position', 'scale', 'ease'].includes(key)))

export function checkTransform(
  value: unknown,
  what: string,
  line: number,
  scene: SceneContext,
  more: readonly string[] = [],
): void {
  // Unset, and so nothing.
  if (value === null) return
  if (!isObject(value)) return scene.add({ line, code: 'bad-json-shape', about: { what, wanted: '{…}' } })
  const names = [...transformKeys, ...more]
  for (const [key, inner] of Object.entries(value)) {
    if (inner === null || more.includes(key)) continue
    if (key === 'position' || key === 'scale') checkPair(inner, key, what, line, scene)
    else if (numberKeys.has(key)) {
      if (typeof inner !== 'number' && typeof inner !== 'boolean')
        scene.add({ line, code: 'bad-json-value', about: { what, key, wanted: '1.5' } })
    } else if (key === 'ease') checkEase(inner, line, scene)
    else if (!names.includes(key)) checkKey(key, names, what, line, scene)
  }
}

function checkPair(value: unknown, key: string, what: string, line: number, scene: SceneContext): void {
  const isPair =
    isObject(value) &&
    ['x', 'y'].every((axis) => value[axis] === undefined || value[axis] === null || typeof value[axis] === 'number')
  if (!isPair) return scene.add({ line, code: 'bad-json-value', about: { what, key, wanted: '{"x":1,"y":1}' } })
  for (const axis of Object.keys(value))
    if (axis !== 'x' && axis !== 'y') checkKey(axis, ['x', 'y'], `${what} ${key}`, line, scene)
}

function checkEase(value: unknown, line: number, scene: SceneContext): void {
  const ease = commands['setTransform']?.args['ease']
  if (ease?.is !== 'one of' || (typeof value === 'string' && ease.values.includes(value))) return
  scene.add({ line, code: 'bad-value', about: { what: 'ease', value: String(value), values: ease.values.join(', ') } })
}

function checkKey(key: string, names: readonly string[], what: string, line: number, scene: SceneContext): void {
  const same = names.find((name) => name.toLowerCase() === key.toLowerCase())
  const near = same ?? nearest(key, names, key.length > 4 ? 2 : 1, scene.game.patience)
  scene.add(
    near === undefined
      ? { line, code: 'unknown-json-key', about: { what, key } }
      : { line, code: 'misspelt-json-key', about: { what, key, nearest: near } },
  )
}

/** JSON that stops in the middle because a ` -` stood in it. */
export function cutJson({ content, args }: Statement, row: CommandRow): boolean {
  // What is left over of a JSON shows among the arguments.
  if (!args.some(({ raw }) => /["}\]]/.test(raw))) return false
  const starts = (text: string): boolean => /^[{[]/.test(text) && parseJson(text) === undefined && !isBalanced(text)
  if ((row.content.is === 'transform' || row.content.is === 'frames') && args.length > 0 && starts(content)) return true
  return args.some(({ key, value }, index) => {
    const kind = Object.hasOwn(row.args, key) ? row.args[key] : undefined
    const isJson = kind?.is === 'json' || kind?.is === 'transform'
    return isJson && index < args.length - 1 && typeof value === 'string' && starts(value)
  })
}

function isBalanced(text: string): boolean {
  let depth = 0
  let quote = -1
  const weigh = (sign: string): number => ('{['.includes(sign) ? 1 : '}]'.includes(sign) ? -1 : 0)
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (quote >= 0 && sign === '\\') at++
    else if (sign === '"') quote = quote < 0 ? at : -1
    else if (quote < 0) depth += weigh(sign)
  }
  // What follows a quote that is never closed is no string.
  if (quote >= 0) for (const sign of text.slice(quote)) depth += weigh(sign)
  return depth === 0
}

import { isUtf8 } from 'node:buffer'
import { changedLines, lineDiff, type LineDiff } from '../../contracts/diff.ts'
import type { Effect } from '../../contracts/stage.ts'
import type { CardChange } from '../../contracts/tool.ts'

/** More than a person reads in one sitting is counted, not printed. */
const longestDiff = 2_000
const mostLines = 20_000
const largestText = 2_097_152
const none: LineDiff = { type: 'line', hunks: [] }

/** Changes as the card shows them: text as lines, everything else by what it is. Every one is listed. */
export function showEffects(effects: readonly Effect[], contents: (effect: Effect) => readonly [Buffer, Buffer]): CardChange[] {
  let lines = 0
  return effects.map((effect) => {
    const says = sentence(effect)
    const small = Math.max(...effect.sizes.map((size) => size ?? 0)) <= largestText
    const shows =
      effect.form === 'file' && (effect.kind === 'created' || effect.kind === 'modified') && small && lines < mostLines
    if (!shows) return { path: effect.path, says, diff: none }
    const [before, after] = contents(effect)
    if (!isText(before) || !isText(after)) return { path: effect.path, says: `${says}, ${weights(effect)}`, diff: none }
    const diff = lineDiff(before.toString('utf8'), after.toString('utf8'))
    const count = changedLines(diff)
    lines += count
    if (count > longestDiff) return { path: effect.path, says: `${says}, ${count} lines, ${weights(effect)}`, diff: none }
    return { path: effect.path, says, diff }
  })
}

function sentence({ kind, form, was, from, modes, sizes, targets }: Effect): string {
  const [modeBefore, modeAfter] = modes.map((mode) => mode?.toString(8).padStart(3, '0'))
  const bits =
    modeBefore !== undefined && modeAfter !== undefined && modeBefore !== modeAfter && form !== 'link'
      ? `, permissions ${modeBefore} → ${modeAfter}`
      : ''
  const what = form === 'file' ? '' : ` ${form}`
  const leads = form === 'link' ? ` → ${targets?.[1] ?? '?'}${outside(targets?.[1])}` : ''
  const isNew = kind === 'created' || was !== undefined
  const runs = isNew && form === 'file' && modes[1] !== null && (modes[1] & 0o111) !== 0 ? ', executable' : ''
  if (was !== undefined) return `${was} becomes a ${form}${leads}${runs}`
  if (form === 'link' && kind !== 'deleted') return `${kind} link${leads}`
  if (kind === 'deleted') return form === 'file' ? `deleted, ${sizes[0] ?? 0} bytes` : `deleted${what}`
  if (kind === 'renamed') return `renamed from ${from}${bits}`
  if (kind === 'mode') return `${form === 'folder' ? 'folder, ' : ''}permissions ${modeBefore} → ${modeAfter}`
  return `${kind}${what}${bits}${runs}`
}

function outside(target: string | null | undefined): string {
  return target?.startsWith('/') || target?.split('/').includes('..') ? ' (it may lead out of the project)' : ''
}

function weights({ was, sizes, hashes }: Effect): string {
  const side = (index: 0 | 1): string => `${sizes[index] ?? 0} bytes, sha256 ${hashes[index]?.slice(0, 16) ?? 'none'}`
  return sizes[0] === null || was !== undefined ? side(1) : `${side(0)} → ${side(1)}`
}

/** Lines are for text: UTF-8 without NUL. */
export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { columns } from './screen-rows.ts'

type Kind = Parameters<Operator['idsLike']>[0]

/** The id that begins with what was typed, with or without the word for its kind in front. What fits none is left for the command to say. */
export function wholeId(runtime: Pick<Operator, 'idsLike'>, kind: Kind, typed: string): string {
  const begins = typed.startsWith(`${kind}_`) ? typed : `${kind}_${typed}`
  const found = [...new Set([...(typed === '' ? [] : runtime.idsLike(kind, typed)), ...runtime.idsLike(kind, begins)])]
  const [only, ...others] = found
  if (only === undefined || found.includes(typed)) return typed
  if (others.length === 0) return only
  throw new Fault('bad-input', `Several begin with ${typed}`, {
    hint: `Type a little more of it: ${found.slice(0, 5).join(', ')}.`,
  })
}

const enough: Readonly<Record<string, number>> = { appr: 8, sess: 8, run: 8, grant: 8, plan: 8 }

/** As much of an id as tells it from others nearly always; the whole of it where a program may read it, or where ids begin alike. */
export function shortId(id: string): string {
  const [, kind = '', rest = ''] = /^([a-z]+)_(.+)$/.exec(id) ?? []
  const most = Number.isFinite(columns()) && Object.hasOwn(enough, kind) ? (enough[kind] ?? 0) : rest.length
  return rest.length > most ? `${kind}_${rest.slice(0, most)}` : id
}

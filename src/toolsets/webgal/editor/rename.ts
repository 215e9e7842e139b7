import { Fault } from '../../../contracts/faults/fault.ts'
import type { Pace } from '../../../text/steps.ts'
import { notVariables, variableName } from '../checks/expressions.ts'
import { isVoice } from '../grammar/parse.ts'
import type { GameIndex } from './game-index.ts'
import type { Occurrence } from './occurrences.ts'
import { lazy } from '../../../text/lazy.ts'

export interface Renaming {
  kind: 'label' | 'variable'
  /** For labels: they belong to their scene. */
  scene?: string
  from: string
  to: string
}

/** The places that change, by scene. Throws where the new name would mean something else, or not all places can be seen. */
export async function planRenaming(
  index: GameIndex,
  { kind, scene, from, to }: Renaming,
  pace: Pace,
): Promise<Map<string, Occurrence[]>> {
  const all =
    kind === 'label' && scene !== undefined ? new Map([[scene, index.occurrences(scene)]]) : await index.everywhere(pace)
  const same = (name: string) => (one: Occurrence) => one.kind === kind && one.name === name
  const places = new Map<string, Occurrence[]>()
  for (const [name, found] of all) {
    const some = found.filter(same(from))
    if (some.length > 0) places.set(name, some)
  }
  if (places.size === 0)
    throw new Fault('not-found', `There is no ${kind} ${from}${scene === undefined ? '' : ` in ${scene}`}`, {
      hint: 'Names are told exactly, with the same letters.',
    })
  checkName(kind, to)
  if (from === to) return new Map()
  if (kind === 'variable') {
    if (index.partial !== undefined) throw unsure(index.partial)
    const config = index.game.config().split('\n')
    for (const name of [from, to])
      if (config.some((line) => line.split(':', 1)[0]?.trim() === name))
        throw new Fault('conflict', `${name} stands in config.txt, which makes it a variable of that name`, {
          hint: 'Choose another name, or change config.txt first.',
        })
  }
  const taken = [...all].find(([, found]) => found.some(same(to)))
  if (taken)
    throw new Fault('conflict', `There is a ${kind} ${to} already, in ${taken[0]}`, {
      hint: 'Choose another name: the two would become one.',
    })
  for (const [name, found] of places)
    for (const one of found) {
      if (!one.at) throw unsure(`${from} is broken over two lines in ${name}, line ${one.line}.`)
      if (kind === 'variable' && one.defines && isVoice(to, index.language))
        throw new Fault('bad-input', `A name with ogg, mp3, wav or opus in it can be taken for a voice: ${to}`, {
          hint: 'Choose another name.',
        })
    }
  for (const name of places.keys())
    if (/\r(?!\n)/.test(index.text(name) ?? ''))
      throw unsure(`${name} has ends of lines that editors and the engine count differently.`)
  return places
}

const unsure = (why: string): Fault =>
  new Fault('unsupported', `Not all places of it can be told: ${why}`, { hint: 'Change it by hand.' })

const wholeName = lazy(() => new RegExp(`^${variableName().source}$`, 'u'))

function checkName(kind: 'label' | 'variable', name: string): void {
  const fits =
    kind === 'variable'
      ? wholeName().test(name) && !name.includes('.') && !name.startsWith('$') && !notVariables.has(name)
      : name !== '' &&
        name === name.trim() &&
        name !== 'none' &&
        !/[;|:.{}\\\r\n\uFEFF]| -|->/.test(name) &&
        !name.startsWith('-')
  if (!fits || name.length > 200)
    throw new Fault('bad-input', `No ${kind} can have the name ${JSON.stringify(name.slice(0, 100))}`, {
      hint:
        kind === 'variable'
          ? 'A letter first, then letters, digits and underscores.'
          : 'Without ; | : . { } \\ and without a hyphen after a blank.',
    })
}

/** The text of a scene after it. */
export function applied(text: string, places: readonly Occurrence[], to: string): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const lines = text.slice(mark.length).split('\n')
  for (const { at } of places.toSorted((one, other) => (other.at?.column ?? 0) - (one.at?.column ?? 0))) {
    if (!at) continue
    const line = lines[at.line - 1] ?? ''
    lines[at.line - 1] = line.slice(0, at.column) + to + line.slice(at.endColumn)
  }
  return mark + lines.join('\n')
}

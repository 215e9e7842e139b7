import Type from 'typebox'
import { Factory } from '../../contracts/anchors.ts'
import { Fault } from '../../contracts/faults/fault.ts'

/** How a caller says what counts as a definition. */
export const FactoryInput = {
  presets: Type.Optional(
    Type.Array(Type.String({ maxLength: 40 }), {
      maxItems: 20,
      description: 'Definitions of well-known libraries: route, schema, store, test, story, module. Default: all of them.',
    }),
  ),
  factories: Type.Optional(Type.Array(Factory, { maxItems: 100, description: "The project's own" })),
}

const made = new Map<string, readonly Factory[]>()

/** The same wish gives the same list, so that what was found by it is found again. */
export async function factoriesOf(wanted: { presets?: string[]; factories?: Factory[] }): Promise<readonly Factory[]> {
  const { presets } = await import('./anchors/presets.ts')
  const names = wanted.presets ?? Object.keys(presets)
  const unknown = names.find((name) => !Object.hasOwn(presets, name))
  if (unknown !== undefined)
    throw new Fault('bad-input', `No such preset: ${unknown}`, { hint: `There are ${Object.keys(presets).join(', ')}.` })
  const key = JSON.stringify([names, wanted.factories ?? []])
  const list = made.get(key) ?? [...(wanted.factories ?? []), ...names.flatMap((name) => presets[name] ?? [])]
  if (made.size > 32) made.clear()
  made.set(key, list)
  return list
}

import Type, { type Static } from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

const fields = ['title', 'elementCount', 'topSections'] as const
type Field = (typeof fields)[number]

/** What is compared of pages (seed 002). */
export const Compare = Type.Object(
  {
    fields: Type.Optional(Type.Array(Type.Enum([...fields], { type: 'string' }), { minItems: 1, uniqueItems: true })),
    topSections: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 3 })),
    numericTolerance: Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000, default: 0 })),
  },
  closed,
)

const Item = Type.Object(
  {
    url: Type.String(),
    success: Type.Boolean(),
    title: Type.Optional(Type.String()),
    elementCount: Type.Optional(Type.Integer()),
    content: Type.Optional(Type.String()),
    error: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: true },
)

const Snapshot = Type.Object(
  {
    url: Type.String(),
    success: Type.Boolean(),
    title: Type.Optional(Type.String()),
    elementCount: Type.Optional(Type.Integer()),
    topSections: Type.Optional(Type.Array(Type.String())),
    error: Type.Optional(Type.Unknown()),
  },
  closed,
)

const Diff = Type.Object(
  {
    field: Type.String(),
    same: Type.Boolean(),
    values: Type.Record(Type.String(), Type.Unknown()),
    delta: Type.Optional(Type.Number()),
    changedPositions: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }))),
  },
  closed,
)

export const comparePages = defineTool({
  name: 'compare_pages',
  title: 'Compare pages',
  description: 'Says in what pages that were read differ: titles, how many elements, and how they begin. Reads nothing itself.',
  risk: 'R0',
  input: Type.Object({ items: Type.Array(Item, { maxItems: 10 }), compare: Type.Optional(Compare) }, closed),
  output: Type.Object({ snapshots: Type.Array(Snapshot), diffs: Type.Array(Diff) }, closed),
  faults: [],
  examples: [
    {
      says: 'two titles that differ',
      input: {
        items: [
          { url: 'http://localhost/a', success: true, title: 'One', elementCount: 2, content: 'same' },
          { url: 'http://localhost/b', success: true, title: 'Two', elementCount: 2, content: 'same' },
        ],
      },
      output: { diffs: [{ field: 'title', same: false, values: { 'http://localhost/a': 'One', 'http://localhost/b': 'Two' } }] },
    },
  ],
  execute({ items, compare = {} }) {
    const { fields: wanted = fields, topSections = 3, numericTolerance = 0 } = compare
    const snapshots = items.map(({ url, success, title, elementCount, content, error }) => ({
      url,
      success,
      ...(title !== undefined && { title }),
      ...(elementCount !== undefined && { elementCount }),
      ...(content !== undefined && { topSections: sectionsOf(content, topSections) }),
      ...(error !== undefined && { error }),
    }))
    const good = snapshots.filter(({ success }) => success)
    const [first, ...others] = good
    if (!first || others.length === 0) return { snapshots, diffs: [] }
    const diffs = wanted.flatMap((field: Field): Static<typeof Diff>[] => {
      const values = Object.fromEntries(good.map((one) => [one.url, one[field] ?? null]))
      if (field === 'elementCount') {
        const counts = good.map((one) => one.elementCount ?? 0)
        const delta = Math.max(...counts) - Math.min(...counts)
        return delta > numericTolerance ? [{ field, same: false, values, delta }] : []
      }
      if (field === 'title') return others.some((one) => one.title !== first.title) ? [{ field, same: false, values }] : []
      const positions = Array.from({ length: topSections }, (_, at) => at).filter((at) =>
        others.some((one) => one.topSections?.[at] !== first.topSections?.[at]),
      )
      return positions.length > 0 ? [{ field, same: false, values, changedPositions: positions.map((at) => at + 1) }] : []
    })
    return { snapshots, diffs }
  },
})

/** The first parts of what a page says, as blank lines part them. */
function sectionsOf(content: string, most: number): string[] {
  return content
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .slice(0, most)
}

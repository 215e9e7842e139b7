import Type from 'typebox'

/** Contract options every object of seed 000 carries. */
export const closed = { additionalProperties: false } as const

/** Any object. Not a `Type.Record` of anything: strict clients find fault with a pattern that says nothing. */
export const AnyObject = (options: { description?: string } = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options })

const draft = 'https://json-schema.org/draft/2020-12/schema'

/** The two ids a contract schema has: `<tool>.request`, `<tool>.response`. */
export const named = (tool: string, side: 'request' | 'response') => ({ $id: `${tool}.${side}`, $schema: draft }) as const

/** The contract's line diff (seed 000 §0.4). */
export const DiffShape = Type.Object({
  type: Type.String({ const: 'line' }),
  hunks: Type.Array(
    Type.Object(
      {
        startOld: Type.Integer({ minimum: 1 }),
        lenOld: Type.Integer({ minimum: 0 }),
        startNew: Type.Integer({ minimum: 1 }),
        lenNew: Type.Integer({ minimum: 0 }),
        linesOld: Type.Array(Type.String()),
        linesNew: Type.Array(Type.String()),
      },
      closed,
    ),
  ),
  notShown: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Added and removed lines beyond those shown, where there are too many for one answer',
    }),
  ),
})

/** The contract's short answer (seed 000 §3). */
export const Ack = Type.Object({ ack: Type.Boolean({ const: true }) }, closed)

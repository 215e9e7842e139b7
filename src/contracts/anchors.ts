import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'

/** A place in a text: lines and columns from 1, columns and offsets in UTF-16 units. */
export const Pos = Type.Object(
  { line: Type.Integer({ minimum: 1 }), column: Type.Integer({ minimum: 1 }), offset: Type.Integer({ minimum: 0 }) },
  closed,
)
export const Span = Type.Object({ start: Pos, end: Pos }, closed)
export type Pos = Static<typeof Pos>
export type Span = Static<typeof Span>

/**
 * A call that defines something: `defineStore('cart', { … })` of pinia. `id` and `def` say which argument holds the name and the object: a number, or
 * for the name also `property:NAME` of that object, or `binding`, the constant it is assigned to.
 */
export const Factory = Type.Object(
  {
    kind: Type.String({ pattern: '^[A-Z][A-Za-z0-9]{0,40}Def$', description: 'What it defines: RouteDef, StoreDef, …' }),
    module: Type.String({ minLength: 1, maxLength: 200, description: 'The package it is imported from' }),
    callee: Type.String({
      pattern: '^[A-Za-z_$][\\w$]*(\\.[A-Za-z_$][\\w$]*)*$',
      maxLength: 200,
      description: 'Its exported name: createSlice, Module.make',
    }),
    id: Type.String({ pattern: '^(\\d|binding|property:[A-Za-z_$][\\w$]*)$' }),
    def: Type.Integer({ minimum: 0, maximum: 9 }),
    curried: Type.Optional(
      Type.Boolean({ description: 'The name in a first call, the object in a second: createFileRoute(NAME)({ … })' }),
    ),
    optional: Type.Optional(Type.Boolean({ description: 'The object may be left out' })),
    fields: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ minLength: 1, maxLength: 200 }),
            value: Type.String({
              minLength: 1,
              maxLength: 4_096,
              description: 'An expression; {id}, {binding} and {file} stand for their texts',
            }),
          },
          closed,
        ),
        { maxItems: 20, description: 'What autofill adds where it is missing' },
      ),
    ),
  },
  closed,
)
export type Factory = Static<typeof Factory>

const entry = { entryKey: Type.String(), file: Type.String(), span: Span, reasonCodes: Type.Optional(Type.Array(Type.String())) }

const Definition = Type.Object(
  {
    ...entry,
    kind: Type.String(),
    idLiteral: Type.String(),
    factory: Type.String({ description: 'module#callee' }),
    binding: Type.Optional(Type.String()),
    defSpan: Type.Optional(Span),
    properties: Type.Optional(Type.Array(Type.String())),
  },
  closed,
)
export type Definition = Static<typeof Definition>

const AutofillTarget = Type.Object(
  {
    ...entry,
    kind: Type.String({ const: 'AutofillTarget' }),
    target: Type.Object({ kind: Type.String(), id: Type.String(), defSpan: Span }, closed),
    missing: Type.Array(Type.Object({ field: Type.String(), valueCode: Type.String(), insertSpan: Span }, closed)),
  },
  closed,
)
export type AutofillTarget = Static<typeof AutofillTarget>

export const RawEntry = Type.Object(
  { file: Type.String(), span: Span, reasonCodes: Type.Array(Type.String(), { minItems: 1 }) },
  closed,
)
export type RawEntry = Static<typeof RawEntry>

export const AnchorIndex = Type.Object(
  {
    schemaVersion: Type.Integer({ const: 1 }),
    kind: Type.String({ const: 'AnchorIndex' }),
    repoRoot: Type.String(),
    entries: Type.Array(Type.Union([Definition, AutofillTarget])),
    rawMode: Type.Array(RawEntry),
    summary: Type.Object(
      {
        filesScanned: Type.Integer(),
        filesUnreadable: Type.Integer({ description: 'Not UTF-8, too large, or not to be parsed' }),
        entriesTotal: Type.Integer(),
        rawModeTotal: Type.Integer(),
        autofillTargetsTotal: Type.Integer(),
        definitions: Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: { type: 'integer' } }),
      },
      closed,
    ),
  },
  closed,
)
export type AnchorIndex = Static<typeof AnchorIndex>

/** Of one plan. */
export const mostOperations = 5_000

export const PatchOperation = Type.Object(
  {
    opKey: Type.String({ maxLength: 100 }),
    file: Type.String({ minLength: 1, maxLength: 4_096 }),
    kind: Type.String({ const: 'AddObjectProperty' }),
    targetSpan: Span,
    property: Type.Object(
      { name: Type.String({ minLength: 1, maxLength: 200 }), valueCode: Type.String({ minLength: 1, maxLength: 65_536 }) },
      closed,
    ),
    expectedFileDigest: Type.Optional(Type.String({ pattern: '^sha256:[0-9a-f]{64}$', maxLength: 71 })),
    decision: Type.Enum(['write', 'skip', 'fail'], { type: 'string' }),
    reasonCodes: Type.Array(Type.String({ maxLength: 10_000 }), { minItems: 1, maxItems: 20 }),
  },
  closed,
)
export type PatchOperation = Static<typeof PatchOperation>

export const PatchPlan = Type.Object(
  {
    schemaVersion: Type.Integer({ const: 1 }),
    kind: Type.String({ const: 'PatchPlan' }),
    mode: Type.Enum(['report', 'write'], { type: 'string' }),
    operations: Type.Array(PatchOperation, { maxItems: mostOperations }),
    summary: Type.Object(
      {
        operationsTotal: Type.Integer(),
        writableTotal: Type.Integer(),
        skippedTotal: Type.Integer(),
        failedTotal: Type.Integer(),
      },
      closed,
    ),
  },
  closed,
)
export type PatchPlan = Static<typeof PatchPlan>

const keyed = Type.Array(Type.Object({ opKey: Type.String(), reasonCodes: Type.Array(Type.String()) }, closed))

export const WriteBackResult = Type.Object(
  {
    schemaVersion: Type.Integer({ const: 1 }),
    kind: Type.String({ const: 'WriteBackResult' }),
    mode: Type.Enum(['report', 'write'], { type: 'string' }),
    modifiedFiles: Type.Array(
      Type.Object({ file: Type.String(), changeKind: Type.Enum(['updated', 'created'], { type: 'string' }) }, closed),
    ),
    skipped: keyed,
    failed: keyed,
  },
  closed,
)
export type WriteBackResult = Static<typeof WriteBackResult>

/** Seed 003 §3.2 and §3.3, for previews: lines and columns only. */
const Range = Type.Object(
  {
    start: Type.Object({ line: Type.Integer(), column: Type.Integer() }, closed),
    end: Type.Object({ line: Type.Integer(), column: Type.Integer() }, closed),
  },
  closed,
)
export const Anchor = Type.Object(
  { file: Type.String(), range: Type.Optional(Range), contentHash: Type.Optional(Type.String()) },
  closed,
)
export const FilePatch = Type.Object(
  {
    file: Type.String(),
    kind: Type.Enum(['create', 'update', 'delete'], { type: 'string' }),
    baseContentHash: Type.Optional(Type.String()),
    edits: Type.Optional(Type.Array(Type.Object({ range: Range, newText: Type.String() }, closed))),
    content: Type.Optional(Type.String()),
  },
  closed,
)
export type Anchor = Static<typeof Anchor>
export type FilePatch = Static<typeof FilePatch>

export const PatchPreview = Type.Object(
  {
    schemaVersion: Type.Integer({ const: 1 }),
    kind: Type.String({ const: 'PatchPreview' }),
    anchors: Type.Array(Anchor),
    patches: Type.Array(FilePatch),
  },
  closed,
)
export type PatchPreview = Static<typeof PatchPreview>

/** Changes that somebody wants of object literals, named by file and constant or id. */
export const TransformDelta = Type.Object(
  {
    schemaVersion: Type.Optional(Type.Integer({ const: 1 })),
    kind: Type.Optional(Type.String({ const: 'TransformDelta' })),
    target: Type.Object(
      {
        file: Type.String({ minLength: 1, maxLength: 4_096 }),
        exportName: Type.Optional(
          Type.String({ minLength: 1, maxLength: 200, description: 'The constant that is the object, or is defined with it' }),
        ),
        id: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The literal id of a definition' })),
      },
      closed,
    ),
    ops: Type.Array(
      Type.Object(
        {
          op: Type.String({ const: 'addProperty' }),
          path: Type.Optional(
            Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 20, description: 'From the object inwards' }),
          ),
          name: Type.String({ minLength: 1, maxLength: 200 }),
          value: Type.String({ minLength: 1, maxLength: 65_536, description: 'An expression' }),
        },
        closed,
      ),
      { maxItems: 200 },
    ),
  },
  closed,
)
export type TransformDelta = Static<typeof TransformDelta>

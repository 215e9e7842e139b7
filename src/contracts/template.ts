import Type, { type Static } from 'typebox'
import { AnyObject, closed } from './shapes.ts'

/** Names in templates: of the template itself, its steps, its inputs. */
const word = '^[a-z][a-z0-9_]{0,63}$'
/** One of Handrail's, or of a mounted MCP server. */
const toolName = '^([a-z][a-z0-9_]{0,63}|mcp\\.[a-z][a-z0-9-]{0,23}\\.[A-Za-z0-9_-]{1,38})$'

const schema = Type.Object({ type: Type.String({ const: 'object' }) }, { description: 'JSON Schema of an object' })

/**
 * One call of a tool, or one for each item of a list. What stands in `input` is sent as it is, except for `{"$": "…"}`, in whose place comes
 * what the path leads to: `inputs.…`, `steps.<id>.…` of a step before, `session`, the browser session of the run, and in a step for each item
 * `item`, `index` and `last.…`, the answer for the item before.
 */
const Step = Type.Object(
  {
    id: Type.String({ pattern: word }),
    tool: Type.String({ pattern: toolName, description: 'The tool that is called' }),
    input: AnyObject(),
    each: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'A path to a list, or to a number: the tool is called once for each item, or so many times, in order',
      }),
    ),
    atOnce: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: 5 }), Type.Object({ $: Type.String({ maxLength: 200 }) }, closed)], {
        description: 'How many items at once, where each may be done again; one unless said otherwise',
      }),
    ),
    until: Type.Optional(
      Type.String({ maxLength: 200, description: 'A path in the answer: once that is true, no further item is begun' }),
    ),
    tries: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3,
        description: 'How often it is tried where a page crashed or did not answer in time, and the call may be made again',
      }),
    ),
    report: Type.Optional(
      AnyObject({
        description: 'What is told of each item, with paths: item, index, success, output.…, error, artifacts',
      }),
    ),
    repeat: Type.Optional(
      Type.Boolean({
        description:
          'Whether the call may be made again where nobody knows if it was carried out. Without: where it only reads, or takes an idempotency key.',
      }),
    ),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000, description: 'Longest one call may take' })),
    risk: Type.Optional(
      Type.Enum(['R0', 'R1', 'R2', 'R3'], {
        type: 'string',
        description: 'The call counts as at least so risky; nothing lowers what the kernel works out',
      }),
    ),
    check: Type.Optional(
      Type.String({ maxLength: 200, description: 'A path in the answer that must be true, else the item counts as failed' }),
    ),
  },
  closed,
)
export type TemplateStep = Static<typeof Step>

/** A kind of run as data (seed 002; docs/guide/runs.md has a worked example). */
export const Template = Type.Object(
  {
    id: Type.String({ pattern: word }),
    version: Type.String({ pattern: '^\\d{1,4}\\.\\d{1,4}\\.\\d{1,4}$' }),
    title: Type.String({ minLength: 1, maxLength: 200 }),
    description: Type.String({ minLength: 1, maxLength: 2_000 }),
    trust: Type.Optional(
      Type.Array(Type.Enum(['local', 'remote'], { type: 'string' }), {
        minItems: 1,
        uniqueItems: true,
        description: 'Whose callers may use it; local only, unless said otherwise',
      }),
    ),
    inputs: schema,
    results: schema,
    example: Type.Optional(AnyObject()),
    limits: Type.Optional(
      Type.Object(
        {
          timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
          maxItems: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
          partial: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'The share of items that must be done' })),
        },
        closed,
      ),
    ),
    expects: Type.Optional(
      Type.Object(
        { ms: Type.Optional(Type.Integer({ minimum: 0 })), msPerItem: Type.Optional(Type.Integer({ minimum: 0 })) },
        { ...closed, description: 'How long it takes, for `auto`' },
      ),
    ),
    browser: Type.Optional(
      Type.Enum(['uses', 'keeps'], {
        type: 'string',
        description: 'It has a session of the browser, `session` in its paths. `keeps`: that stays open after a good end',
      }),
    ),
    secrets: Type.Optional(
      Type.Array(Type.String({ pattern: word }), {
        maxItems: 10,
        uniqueItems: true,
        description: 'Inputs that are kept encrypted until the run ends, and then dropped; steps get them sealed',
      }),
    ),
    steps: Type.Array(Step, { minItems: 1, maxItems: 50 }),
    result: AnyObject({ description: 'What the run answers, with paths as in a step' }),
  },
  closed,
)
export type Template = Static<typeof Template>

/** With what holds where a template says nothing. */
export const limitsOf = ({ limits }: Template): Required<NonNullable<Template['limits']>> => ({
  timeoutMs: 600_000,
  maxItems: 1_000,
  partial: 0.5,
  ...limits,
})

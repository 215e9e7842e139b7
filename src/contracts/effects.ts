import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'
import { effectKinds, type CapturedOutput, type ProgramResult } from './stage.ts'

/** What a program changed, as tools answer it. */
export const EffectShape = Type.Object(
  {
    path: Type.String(),
    kind: Type.Enum([...effectKinds], { type: 'string' }),
    form: Type.Optional(Type.Enum(['link', 'folder'], { type: 'string', description: 'Absent for a file.' })),
    from: Type.Optional(Type.String({ description: 'Where it was before, for renamed.' })),
  },
  closed,
)

/** The fields every tool that runs a program adds to its answer. */
export const ProgramResultShape = {
  changes: Type.Optional(Type.Array(EffectShape, { description: 'What it changed; taken over, and can be undone.' })),
  left: Type.Optional(
    Type.Array(Type.Object({ path: Type.String(), why: Type.String() }, closed), {
      description: 'What it changed that was not taken over, and why.',
    }),
  ),
  duration_ms: Type.Optional(Type.Integer({ minimum: 0 })),
  confined: Type.Optional(Type.Boolean({ description: 'Whether it ran on a stage.' })),
}

const mostListed = 1_000

export function programResultFields({ effects, leftover, leftoverMore = 0, ms, confined }: ProgramResult): {
  changes: Static<typeof EffectShape>[]
  left?: { path: string; why: string }[]
  duration_ms: number
  confined: boolean
} {
  return {
    changes: effects.slice(0, mostListed).map(({ path, kind, form, from }) => ({
      path,
      kind,
      ...(form !== 'file' && { form }),
      ...(from !== undefined && { from }),
    })),
    ...(leftover.length && { left: [...leftover.slice(0, mostListed), ...unnamed(leftover.length + leftoverMore)] }),
    duration_ms: ms,
    confined,
  }
}

/** A list that ends early says so. */
const unnamed = (count: number): { path: string; why: string }[] =>
  count > mostListed ? [{ path: '…', why: `and ${count - mostListed} more, not named here` }] : []

/** The lines of an output, without a last empty one. */
export function linesOf({ text }: CapturedOutput): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

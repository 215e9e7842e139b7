import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'
import { effectKinds } from './stage.ts'

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

export type EffectShape = Static<typeof EffectShape>

/** The fields every tool that runs a program adds to its answer. */
export const ProgramResultShape = {
  not_applied: Type.Optional(
    Type.String({ description: 'Read this first: what it did that has not happened in the project, and what to do instead.' }),
  ),
  changes: Type.Optional(Type.Array(EffectShape, { description: 'What it changed; applied, and can be undone.' })),
  left: Type.Optional(
    Type.Array(Type.Object({ path: Type.String(), why: Type.String() }, closed), {
      description: 'What it changed that was not applied, and why.',
    }),
  ),
  duration_ms: Type.Optional(Type.Integer({ minimum: 0 })),
  confined: Type.Optional(Type.Boolean({ description: 'Whether it ran on a stage.' })),
}

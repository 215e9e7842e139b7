import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'

/** One finding as the contract has it, with optional additions for editors. */
export const Diagnostic = Type.Object(
  {
    line: Type.Integer({ minimum: 1 }),
    kind: Type.Enum(['syntax', 'resource', 'style'], { type: 'string' }),
    message: Type.String(),
    fixHint: Type.Optional(Type.String()),
    severity: Type.Optional(Type.Enum(['error', 'warning', 'info'], { type: 'string' })),
    code: Type.Optional(Type.String()),
    column: Type.Optional(Type.Integer({ minimum: 1 })),
    endColumn: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  closed,
)

import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { leftOutSentence } from './left-out.ts'

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

/** Which game of a project is meant, and which there are. */
export const gameInput = Type.Optional(
  Type.String({ minLength: 1, description: 'Folder of one game, where the project holds several.' }),
)
export const gameOutput = {
  game: Type.Optional(Type.String()),
  games: Type.Optional(
    Type.Array(Type.String(), { description: 'Where the project holds several games: all of them, this one first.' }),
  ),
}

/** Beside every answer about a whole game. */
export const leftOut = Type.Optional(
  Type.Array(Type.String(), { description: 'What was too much to look at or to list, in words. Absent where everything was.' }),
)

/** Says how much of a list did not fit into the answer. */
export function notListed(name: string, all: readonly unknown[], listed: readonly unknown[]): string[] {
  return all.length === listed.length
    ? []
    : [leftOutSentence('{name}: only the first {n} of {all} are listed.', { name, n: listed.length, all: all.length })]
}

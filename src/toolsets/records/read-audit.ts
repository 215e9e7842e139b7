import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const readAudit = defineTool({
  name: 'read_audit',
  title: 'Read the audit log',
  description: 'The newest lines of the audit log, oldest first, or the one line with a number.',
  risk: 'R0',
  audience: 'resource',
  input: Type.Object(
    {
      last: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 50 })),
      seq: Type.Optional(Type.Integer({ minimum: 1, description: 'The number of one line.' })),
    },
    closed,
  ),
  output: Type.Object({ lines: Type.Array(Type.Object({ seq: Type.Integer(), at: Type.String() })) }, closed),
  faults: ['not-found'],
  examples: [],
  execute({ last = 50, seq }, { audit }) {
    if (seq === undefined) return { lines: audit.last(last) }
    const line = audit.line(seq)
    if (!line) throw new Fault('not-found', `The log has no line ${seq}`, { hint: 'handrail://audit shows the newest lines.' })
    return { lines: [line] }
  },
})

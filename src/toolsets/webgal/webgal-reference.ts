import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { reference } from './grammar/describe.ts'
import { defineTool } from './use.ts'

export const webgalReference = defineTool({
  name: 'webgal_reference',
  title: 'WebGAL command reference',
  description: 'Every command of the script language with its arguments, and what is often mistaken for one.',
  risk: 'R0',
  audience: 'resource',
  input: Type.Object({}, closed),
  output: Type.Object({ text: Type.String() }, closed),
  faults: [],
  examples: [],
  execute: (_, { lang }) => ({ text: reference(lang) }),
})

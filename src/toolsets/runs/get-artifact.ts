import Type from 'typebox'
import { ArtifactChunk, runBounds } from '../../contracts/run.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

const { artifactMaxChunkSize: largest } = runBounds

export const getArtifact = defineTool({
  name: 'get_artifact',
  title: 'Read an artifact',
  description:
    'What a run left, chunk by chunk. offset and limit count bytes; text is never cut inside a character, anything else is base64. Go on at offset + length until complete.',
  risk: 'R0',
  input: Type.Object(
    {
      artifactId: Type.String({ minLength: 1, maxLength: 100 }),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: largest, default: largest })),
    },
    closed,
  ),
  output: ArtifactChunk,
  faults: ['artifact-not-found', 'artifact-expired', 'bad-input', 'io'],
  examples: [],
  execute: async ({ artifactId, offset = 0, limit = largest }, { runsApi }) =>
    (await runsApi()).artifact(artifactId, offset, limit),
})

import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

/** Names that the commands give to what they make, and nothing else: what is written here needs no dry run. */
const name =
  '^(describe\\.report|verdict|context\\.pack|cli\\.diagnostics|anchor\\.index|patch\\.plan|patch\\.preview|autofill\\.report|transform\\.report|writeback\\.result|artifact\\.validate\\.report|artifact\\.diff\\.report|trial\\.report|trace\\.slim)\\.json$'

export const writeArtifacts = defineTool({
  name: 'write_artifacts',
  title: 'Keep what a command made',
  description: 'Write the artifacts of a one-shot command (`handrail describe` lists them) into a folder of the project.',
  risk: 'R1',
  input: Type.Object(
    {
      folder: Type.String({ minLength: 1, maxLength: 4_096 }),
      files: Type.Array(Type.Object({ name: Type.String({ pattern: name, maxLength: 60 }), text: Type.String() }, closed), {
        minItems: 1,
        maxItems: 20,
      }),
    },
    closed,
  ),
  output: Type.Object({ written: Type.Array(Type.String()) }, closed),
  faults: ['path-denied', 'conflict', 'policy', 'io'],
  examples: [
    {
      says: 'one file',
      input: { folder: 'out', files: [{ name: 'verdict.json', text: '{}\n' }] },
      output: { written: ['out/verdict.json'] },
    },
  ],
  contents: ['files'],
  private: ['files'],
  touches: ({ folder, files }) => files.map((one) => ({ path: `${folder}/${one.name}`, access: 'write' as const })),
  card: async ({ folder, files }, use) => ({
    title: `Write ${files.length === 1 ? 'one artifact' : `${files.length} artifacts`} into ${folder}`,
    changes: await Promise.all(
      files.map(async (one) => {
        const path = use.files.normal(`${folder}/${one.name}`)
        return { path, diff: await use.diffs.lines(use.files.peek(path)?.toString('utf8') ?? '', one.text) }
      }),
    ),
  }),
  async execute({ folder, files }, use, call) {
    const wanted = files.map((one) => ({ path: use.files.normal(`${folder}/${one.name}`), content: Buffer.from(one.text) }))
    // The same again is no change, and leaves no state behind.
    const changed = wanted.filter(({ path, content }) => !use.files.peek(path)?.equals(content))
    if (changed.length > 0) await call.change(changed)
    return { written: wanted.map(({ path }) => path) }
  },
})

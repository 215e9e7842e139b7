import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { encodeText } from '../../host/files.ts'
import { replaced } from './replace-in-file.ts'
import { defineTool, textChange, type FileUse } from './use.ts'

const mostFiles = 1_000
/** All files as they will be, together: they are in memory until they are written. */
const mostBytes = 67_108_864

export const replaceInFiles = defineTool({
  name: 'replace_in_files',
  title: 'Replace in many files',
  description:
    'replace_in_file for many files at once, as one change: all of them or none, one card where a person is asked, one undo. Says how many places changed in each file.',
  risk: 'R1',
  input: Type.Object(
    {
      paths: Type.Array(Type.String({ minLength: 1, maxLength: 4_096 }), { minItems: 1, maxItems: mostFiles, uniqueItems: true }),
      find: Type.String({ minLength: 1, description: 'As in replace_in_file' }),
      replace: Type.String(),
      flags: Type.Optional(Type.String({ description: 'Regex flags, if regex used' })),
      idempotencyKey: Type.Optional(Type.String()),
    },
    closed,
  ),
  output: Type.Object(
    {
      count: Type.Integer({ minimum: 0 }),
      files: Type.Array(
        Type.Object(
          { path: Type.String(), count: Type.Integer({ minimum: 0 }), snapshotId: Type.Optional(Type.String()) },
          closed,
        ),
      ),
    },
    closed,
  ),
  faults: ['path-denied', 'not-found', 'conflict', 'encoding', 'io', 'policy', 'too-large', 'timeout', 'bad-input'],
  examples: [
    {
      says: 'a name in two files',
      given: { 'a.txt': 'Mara speaks\n', 'b.txt': 'Mara, Mara\n' },
      input: { paths: ['a.txt', 'b.txt'], find: 'Mara', replace: 'Mira' },
      output: { count: 3 },
    },
  ],
  private: ['find', 'replace'],
  contents: ['find', 'replace'],
  waits: true,
  touches: ({ paths }) => paths.map((path) => ({ path, access: 'write' as const })),
  async card(input, use) {
    const files = (await all(input, use)).filter(({ count }) => count > 0)
    const changes = []
    for (const { path, before, after } of files) changes.push(await textChange(use.diffs, use.files.normal(path), before, after))
    return { title: `Change ${changes.length} files`, changes }
  },
  async drafts(input, use, asker) {
    const files = await all(input, use, asker)
    // A script begins with both; a file that has neither, before or after, becomes none.
    return files
      .filter(({ before, after, count }) => count > 0 && /#/.test(before + after) && /!/.test(before + after))
      .map(({ path, after }) => ({ path, text: after }))
  },
  async execute(input, use, call) {
    const files = await all(input, use, call, (done) => call.progress(done, input.paths.length))
    const changed = files.filter(({ count }) => count > 0)
    const count = files.reduce((sum, one) => sum + one.count, 0)
    const told = files.map((one) => ({ path: one.path, count: one.count }))
    if (changed.length === 0) return { count, files: told }
    return call.changeOnce(
      changed.map(({ path, after }) => ({ path, content: encodeText(after, path) })),
      (written) => {
        const ids = new Map(changed.map(({ path }, index) => [path, written[index]?.snapshotId]))
        return {
          count,
          files: told.map((one) => {
            const snapshotId = ids.get(one.path)
            return snapshotId === undefined ? one : { ...one, snapshotId }
          }),
        }
      },
    )
  },
})

type Asked = Parameters<typeof replaced>[2]

async function all(
  input: { paths: readonly string[]; find: string; replace: string; flags?: string | undefined },
  use: FileUse,
  asker?: Asked,
  step?: (done: number) => void,
): Promise<{ path: string; before: string; after: string; count: number }[]> {
  const files = []
  let bytes = 0
  for (const [index, path] of input.paths.entries()) {
    const { before, after, count } = await replaced({ ...input, path }, use, asker)
    bytes += count > 0 ? Buffer.byteLength(after) : 0
    if (bytes > mostBytes)
      throw new Fault('too-large', `The files come to more than ${mostBytes} bytes together`, {
        hint: 'Take fewer files at once.',
      })
    files.push({ path, before: count > 0 ? before : '', after: count > 0 ? after : '', count })
    step?.(index + 1)
    asker?.signal?.throwIfAborted()
  }
  return files
}

import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, DiffShape, named } from '../../contracts/shapes.ts'
import { decodeText, encodeText, tooLarge, type Files } from '../../host/files.ts'
import { inMannerOf } from './line-ends.ts'
import { defineTool, textChange } from './use.ts'

export const writeToFile = defineTool({
  name: 'write_to_file',
  title: 'Write a file',
  description:
    'Write one text file: overwrite it whole, or append. Call it with dryRun: true first and look at the diff, then again with dryRun: false and the same path, content and mode. The file keeps its line ends and byte order mark. Every write can be undone.',
  risk: ({ dryRun }) => (dryRun ? 'R0' : 'R1'),
  input: Type.Object(
    {
      path: Type.String({ minLength: 1 }),
      content: Type.String({ description: 'New full content (overwrite) or appended chunk' }),
      mode: Type.Optional(Type.Enum(['overwrite', 'append'], { type: 'string', default: 'overwrite' })),
      dryRun: Type.Boolean({ default: true }),
      idempotencyKey: Type.Optional(Type.String()),
      mustExist: Type.Optional(
        Type.Boolean({
          description: 'true: only a file that is there; false: only one that is not. Otherwise nothing is written.',
        }),
      ),
    },
    { ...named('write_to_file', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      applied: Type.Boolean(),
      diff: Type.Optional(DiffShape),
      snapshotId: Type.Optional(Type.String()),
      bytesWritten: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    { ...named('write_to_file', 'response'), ...closed },
  ),
  faults: ['path-denied', 'not-found', 'conflict', 'encoding', 'io', 'policy', 'too-large'],
  examples: [
    {
      says: 'look at the change first',
      given: { 'game/scene/start.txt': 'changeBg: beach.jpg;\nend;' },
      input: { path: 'game/scene/start.txt', content: 'changeBg: beach.jpg -next;\nend;', dryRun: true },
      output: {
        applied: false,
        diff: {
          type: 'line',
          hunks: [
            {
              startOld: 1,
              lenOld: 1,
              startNew: 1,
              lenNew: 1,
              linesOld: ['changeBg: beach.jpg;'],
              linesNew: ['changeBg: beach.jpg -next;'],
            },
          ],
        },
      },
    },
  ],
  private: ['content'],
  contents: ['content'],
  touches: ({ path, dryRun }) => [{ path, access: dryRun ? 'read' : 'write' }],
  dryRun: ({ dryRun }) => ({ dry: dryRun, same: ['path', 'content', 'mode'] }),
  // The contract's default, written out, so that leaving it out and naming it are the same call.
  normalizeInput: (raw) => (raw['mode'] === undefined && 'path' in raw ? { ...raw, mode: 'overwrite' } : raw),
  async card(input, { files, diffs }) {
    const { before, after } = changeOf(input, files)
    const title = before === undefined ? `Create ${input.path}` : `Change ${input.path}`
    return { title, changes: [await textChange(diffs, files.normal(input.path), before, after)] }
  },
  drafts: (input, { files }) => [{ path: input.path, text: changeOf(input, files).after }],
  async execute(input, { files, diffs }, call) {
    const { before, after } = changeOf(input, files)
    if (input.dryRun) return { applied: false, diff: await diffs.shown(before ?? '', after, call) }
    return call.changeOnce([{ path: input.path, content: encodeText(after, input.path) }], ([kept]) => ({
      applied: true,
      snapshotId: kept?.snapshotId ?? '',
      bytesWritten: kept?.bytes ?? 0,
    }))
  },
})

interface Wanted {
  path: string
  content: string
  mode?: 'overwrite' | 'append' | undefined
  mustExist?: boolean | undefined
}

function changeOf({ path, content, mode, mustExist }: Wanted, files: Files): { before: string | undefined; after: string } {
  encodeText(content, path)
  const bytes = asAsked(path, mustExist, files)
  const before = bytes && decodeText(bytes, path)
  const fitted = inMannerOf(before, content)
  const after = mode === 'append' ? (before ?? '') + fitted.replace(/^\uFEFF/, '') : fitted
  const size = Buffer.byteLength(after)
  if (size > files.maxBytes) throw tooLarge(path, size, files.maxBytes)
  return { before, after }
}

/** What stands there now, where that is as the caller wants it. */
function asAsked(path: string, mustExist: boolean | undefined, files: Files): Buffer | undefined {
  const found = mustExist === false ? ifFree(path, files) : files.peek(path)
  if (mustExist === true && found === undefined)
    throw new Fault('not-found', `File not found: ${path}`, {
      details: { path },
      hint: 'Nothing was written. Check the name, or create the file.',
    })
  return found
}

function ifFree(path: string, files: Files): undefined {
  try {
    if (files.peek(path) === undefined) return undefined
  } catch (fault) {
    // Too large to be read, or a folder: it is there all the same. What the disk refuses has a number.
    const isThere = fault instanceof Fault && ['too-large', 'io'].includes(fault.reason) && fault.details?.['errno'] === undefined
    if (!isThere) throw fault
  }
  throw new Fault('conflict', `It is there already: ${path}`, {
    details: { path },
    hint: 'Nothing was written. Read it and change it, or choose another name.',
  })
}

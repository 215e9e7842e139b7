import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { formOf, snapshotIdPattern } from '../../contracts/snapshot.ts'
import { decodeText } from '../../host/files.ts'
import { defineTool, readingKept } from './use.ts'

export const restoreSnapshot = defineTool({
  name: 'restore_snapshot',
  title: 'Open a snapshot',
  description:
    'Return the path and content of a kept state. It changes nothing: to bring the state back, give both to write_to_file, dry run first.',
  risk: 'R0',
  input: Type.Object(
    {
      snapshotId: Type.String({ description: '快照 ID（格式：snap_YYYYMMDDThhmmss_<8hex>）', pattern: snapshotIdPattern }),
    },
    { ...named('restore_snapshot', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      path: Type.String({ description: '文件路径（POSIX 格式，相对于项目根）' }),
      content: Type.String({ description: '文件内容（UTF-8 编码）' }),
    },
    { ...named('restore_snapshot', 'response'), ...closed },
  ),
  faults: ['bad-input', 'not-found', 'parse', 'internal', 'encoding', 'path-denied'],
  examples: [],
  execute({ snapshotId }, { files, kept }) {
    const snapshot = kept.get(snapshotId)
    // Of a root that is not theirs nobody learns that anything is kept.
    if (snapshot && !files.reaches(snapshot.path))
      throw new Fault('not-found', `No such snapshot: ${snapshotId}`, { details: { snapshotId } })
    const content = readingKept(() => kept.content(snapshotId))
    if (!snapshot || formOf(snapshot) !== 'file')
      throw new Fault('not-found', `No such snapshot of a file: ${snapshotId}`, {
        hint: (name) => `${name('list_snapshots')} shows what is kept.`,
      })
    const { path } = snapshot
    // A state kept under looser rules, or let through to one session, is shown to nobody else.
    files.checkContent(path, content)
    return { path: files.normal(path), content: decodeText(content, path) }
  },
})

import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { snapshotIdPattern } from '../../contracts/snapshot.ts'
import { defineTool, readingKept, type FileUse } from './use.ts'

export const listSnapshots = defineTool({
  name: 'list_snapshots',
  title: 'List snapshots',
  description:
    'List kept states of files, newest first. path filters by prefix, e.g. "game/scene". Open one with restore_snapshot.',
  risk: 'R0',
  input: Type.Object(
    {
      limit: Type.Optional(
        Type.Number({
          description: '最大返回数量（默认 50，最大 1000）。负数/NaN 会被规范化为 50',
          default: 50,
          minimum: 0,
          maximum: 1000,
        }),
      ),
      path: Type.Optional(Type.String({ description: "按路径过滤（POSIX 格式前缀匹配，如 'game/scene'）" })),
    },
    { ...named('list_snapshots', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      snapshots: Type.Array(
        Type.Object(
          {
            id: Type.String({ description: '快照 ID（格式：snap_YYYYMMDDThhmmss_<8hex>）', pattern: snapshotIdPattern }),
            path: Type.String({ description: '文件路径（POSIX 格式，相对于项目根）' }),
            timestamp: Type.Number({ description: '创建时间戳（毫秒）' }),
            contentHash: Type.String({ description: '内容 SHA-256 哈希（前 8 位）', pattern: '^[0-9a-f]{8}$' }),
            idempotencyKey: Type.Optional(Type.String({ description: '幂等性键（可选）' })),
          },
          closed,
        ),
        { description: '快照元数据数组（按时间降序，timestamp 相同时按 id 降序）' },
      ),
    },
    { ...named('list_snapshots', 'response'), ...closed },
  ),
  faults: ['bad-input', 'internal'],
  examples: [{ says: 'nothing kept yet', input: { path: 'game/scene', limit: 10 }, output: { snapshots: [] } }],
  // The contract promises the default for a negative or not-a-number limit, which the schema alone would refuse.
  normalizeInput: (raw) => (typeof raw['limit'] === 'number' && !(raw['limit'] >= 0) ? { ...raw, limit: 50 } : raw),
  execute({ limit = 50, path = '' }, { files, kept }) {
    const inReach = readingKept(() => kept.list(Math.floor(limit), path, files.reaches)).filter((one) =>
      isInReach(files, one.path),
    )
    const snapshots = inReach.map((snapshot) => ({
      id: snapshot.id,
      path: snapshot.path,
      timestamp: snapshot.timestamp,
      contentHash: (snapshot.sha256 ?? '').slice(0, 8),
      ...(snapshot.idempotencyKey !== null && { idempotencyKey: snapshot.idempotencyKey }),
    }))
    return { snapshots }
  },
})

/** Names that tools may not reach today are not told either. */
function isInReach(files: FileUse['files'], path: string): boolean {
  try {
    files.normal(path)
    return true
  } catch {
    return false
  }
}

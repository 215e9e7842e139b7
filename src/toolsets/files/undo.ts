import Type from 'typebox'
import { lineDiff } from '../../contracts/diff.ts'
import { ToolError } from '../../contracts/errors.ts'
import { closed, DiffShape } from '../../contracts/shapes.ts'
import type { Snapshot } from '../../contracts/snapshot.ts'
import { sha256 } from '../../host/files.ts'
import { defineTool, type FileUse } from './use.ts'

const Target = Type.Object(
  {
    snapshot: Type.Optional(Type.String()),
    call: Type.Optional(Type.String()),
    session: Type.Optional(Type.String()),
    last: Type.Optional(Type.Boolean()),
    dryRun: Type.Boolean(),
  },
  closed,
)

export const undo = defineTool({
  name: 'undo',
  title: 'Undo',
  description:
    'Take back one write, all writes of a call, or all of a session. Refuses where a file changed since, and shows how.',
  audience: 'person',
  risk: ({ dryRun }) => (dryRun ? 'R0' : 'R1'),
  input: Target,
  output: Type.Object(
    {
      applied: Type.Boolean(),
      changes: Type.Array(
        Type.Object(
          { path: Type.String(), becomes: Type.Enum(['restored', 'removed'], { type: 'string' }), diff: DiffShape },
          closed,
        ),
      ),
    },
    closed,
  ),
  errors: ['E_NOT_FOUND', 'E_CONFLICT', 'E_DENY_PATH', 'E_IO', 'E_PARSE_FAIL'],
  examples: [],
  touches: (input, use) =>
    plan(input, use).map(({ path }) => ({ path, access: input.dryRun ? ('read' as const) : ('write' as const) })),
  async execute(input, use, call) {
    const steps = plan(input, use)
    const changes = steps.map((step) => prepare(step, use))
    if (!input.dryRun)
      await call.change(
        changes.map(({ path, after }, index) => ({ path, content: after, undoes: steps[index]?.takesBack ?? [] })),
      )
    return {
      applied: !input.dryRun,
      changes: changes.map(({ path, before, after }) => ({
        path,
        becomes: after === null ? ('removed' as const) : ('restored' as const),
        diff: lineDiff(before.toString('utf8'), after?.toString('utf8') ?? ''),
      })),
    }
  },
})

interface Step {
  path: string
  /** The state the file must still be in. */
  from: Snapshot
  /** The state it goes back to; null is "no such file". */
  to: string | null
  takesBack: string[]
}

/** One step per file: from the newest state among those taken back to the one before the oldest. */
function plan(input: { snapshot?: string; call?: string; session?: string; last?: boolean }, { kept }: FileUse): Step[] {
  const chosen = choose(input, kept).filter((snapshot) => snapshot.undoneBy === null)
  if (chosen.length === 0)
    throw new ToolError('E_NOT_FOUND', 'Nothing to undo', { hint: '`handrail snapshots` shows what is kept.' })
  const byPath = groupByPath(chosen)
  return [...byPath.values()].map((states) => {
    states.forEach((state, index) => {
      const previous = states[index - 1]
      if (previous && kept.get(state.before ?? '')?.sha256 !== previous.sha256) throw between(state.path)
    })
    const [oldest, newest] = [states[0] as Snapshot, states.at(-1) as Snapshot]
    return { path: newest.path, from: newest, to: oldest.before, takesBack: states.map((state) => state.id) }
  })
}

function choose(
  input: { snapshot?: string; call?: string; session?: string; last?: boolean },
  kept: FileUse['kept'],
): Snapshot[] {
  if (input.snapshot !== undefined) {
    const found = kept.get(input.snapshot)
    if (found?.kind === 'baseline')
      throw new ToolError('E_NOT_FOUND', `${found.id} is a state from before Handrail wrote; there is no write to undo`, {
        hint: 'To bring that state back, undo the write that follows it.',
      })
    return found ? [found] : []
  }
  if (input.call !== undefined) return kept.ofCall(input.call)
  if (input.session !== undefined) return kept.ofSession(input.session)
  const last = kept.lastChange()
  return last ? (last.call === null ? [last] : kept.ofCall(last.call)) : []
}

function prepare(step: Step, { files, kept }: FileUse): { path: string; before: Buffer; after: Buffer | null } {
  const now = files.peek(step.path)
  const hash = now === undefined ? null : sha256(now)
  if (hash !== step.from.sha256) {
    const wrote = step.from.sha256 === null ? '' : kept.content(step.from.id).toString('utf8')
    throw new ToolError('E_CONFLICT', `${step.path} changed since Handrail wrote it; undoing would lose that change`, {
      details: { path: step.path, changedSince: lineDiff(wrote, now?.toString('utf8') ?? '') },
      hint: 'Keep the later change, or bring the older state back by hand with restore_snapshot and write_to_file.',
    })
  }
  return { path: step.path, before: now ?? Buffer.alloc(0), after: step.to === null ? null : kept.content(step.to) }
}

function between(path: string): ToolError {
  return new ToolError('E_CONFLICT', `${path} was changed by somebody else between these writes`, {
    details: { path },
    hint: 'Undo the writes one by one, newest first.',
  })
}

function groupByPath(snapshots: Snapshot[]): Map<string, Snapshot[]> {
  const groups = new Map<string, Snapshot[]>()
  for (const snapshot of snapshots) groups.set(snapshot.path, [...(groups.get(snapshot.path) ?? []), snapshot])
  return groups
}

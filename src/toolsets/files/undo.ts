import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { largestInMemory, type Content } from '../../contracts/content.ts'
import type { LineDiff } from '../../contracts/line-diff.ts'
import { mergedText } from '../../text/merge.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, DiffShape } from '../../contracts/shapes.ts'
import { formOf, sameMode, sameState, type Snapshot } from '../../contracts/snapshot.ts'
import { each, runInSlices, openPace, type Steps } from '../../text/steps.ts'
import type { FileChange } from '../../contracts/tool.ts'
import type { DiffCall, Diffs } from '../../host/diffs.ts'
import type { PathState } from '../../host/path-state.ts'
import { defineTool, readableText, type FileUse } from './use.ts'

type Target = Omit<Static<typeof Wanted>, 'dryRun'>

/** What a dry run showed, so that a yes is to that and nothing else: what was written later is not touched, what differs is refused. */
const Shown = Type.Object({ upTo: Type.Integer(), digest: Type.String(), theirs: Type.Optional(Type.String()) }, closed)

const Wanted = Type.Object(
  {
    snapshot: Type.Optional(Type.String()),
    call: Type.Optional(Type.String()),
    calls: Type.Optional(Type.Array(Type.String(), { maxItems: 50_000, description: 'Those of a run' })),
    session: Type.Optional(Type.String()),
    last: Type.Optional(Type.Boolean()),
    to: Type.Optional(Type.String()),
    shown: Type.Optional(Shown),
    changed: Type.Optional(
      Type.Enum(['force', 'keep', 'merge'], {
        type: 'string',
        description:
          'Files that changed since: undone all the same, left as they are, or both changes together. Refused without it.',
      }),
    ),
    dryRun: Type.Boolean(),
  },
  closed,
)

export const undo = defineTool({
  name: 'undo',
  title: 'Undo',
  description:
    'Take back one write, all writes of a call, of several or of a session, or all of a file since a state. Refuses where a file changed since, and shows how.',
  audience: 'person',
  risk: ({ dryRun }) => (dryRun ? 'R0' : 'R1'),
  input: Wanted,
  output: Type.Object(
    {
      applied: Type.Boolean(),
      shown: Type.Optional(Shown),
      kept: Type.Optional(Type.Array(Type.String(), { description: 'Files that changed since, and were left as they are.' })),
      changes: Type.Array(
        Type.Object(
          { path: Type.String(), becomes: Type.Enum(['restored', 'removed'], { type: 'string' }), diff: DiffShape },
          closed,
        ),
      ),
    },
    closed,
  ),
  faults: ['not-found', 'conflict', 'path-denied', 'io', 'parse'],
  examples: [],
  touches: async (input, use) =>
    (await runInSlices(plan(input, use))).steps.map(({ path }) => ({
      path,
      access: input.dryRun ? ('read' as const) : ('write' as const),
    })),
  async execute(input, use, call) {
    const { steps, shown: planned } = await runInSlices(plan(input, use))
    const backs: Back[] = []
    const moved: Moved[] = []
    const pace = openPace()
    for (const step of steps) {
      const prepared = await prepare(step, use, call, input.changed)
      if ('change' in prepared) backs.push(prepared)
      if ('now' in prepared) moved.push(prepared)
      if (pace.due()) await pace.turn()
    }
    const refused = moved.filter(({ isRefused }) => isRefused)
    if (refused.length > 0) throw changedSince(refused, input.changed)
    const theirs = moved.length === 0 ? undefined : digestOf(moved.map(({ step, now }) => [step.path, now?.sha256 ?? null]))
    // What the person saw of their own change is what they let go.
    if (input.shown && input.shown.theirs !== theirs) throw notAsShown(moved.map(({ step }) => step))
    if (backs.length === 0) throw nothingToUndo()
    if (!input.dryRun) await call.change(backs.map((back) => back.change))
    const kept = moved.flatMap((one) => ('change' in one ? [] : [one.step.path]))
    return {
      applied: !input.dryRun,
      shown: { ...planned, ...(theirs !== undefined && { theirs }) },
      ...(kept.length > 0 && { kept }),
      changes: backs.map(({ change, diff }) => ({
        path: change.path,
        becomes: change.content === null ? ('removed' as const) : ('restored' as const),
        diff,
      })),
    }
  },
})

const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

interface Step {
  path: string
  /** The state the path must still be in. */
  from: Snapshot
  /** The state it goes back to; undefined is "nothing there". */
  to: Snapshot | undefined
  takesBack: string[]
}

interface Plan {
  steps: Step[]
  shown: Static<typeof Shown>
}

/** What is taken back, which must be what was shown where something was. */
function* plan(input: Target, { kept }: FileUse): Steps<Plan> {
  const steps = input.to === undefined ? yield* stepsBack(input, kept) : [yield* stepTo(input.to, input.shown, kept)]
  const digest = createHash('sha256')
  for (const { path, from, to, takesBack } of steps) {
    digest.update(JSON.stringify([path, from.id, to?.id ?? null, takesBack]))
    yield
  }
  const upTo = steps.reduce((newest, { from }) => Math.max(newest, from.timestamp), 0)
  const shown = { upTo, digest: digest.digest('hex') }
  if (input.shown && input.shown.digest !== shown.digest) throw notAsShown(steps)
  return { steps, shown }
}

/** One step per path: from the newest state among those taken back to the one before the oldest. */
function* stepsBack(input: Target, kept: FileUse['kept']): Steps<Step[]> {
  const upTo = input.shown?.upTo ?? Number.POSITIVE_INFINITY
  const found = yield* choose(input, kept)
  const chosen = found.filter(({ undoneBy, timestamp }) => undoneBy === null && timestamp <= upTo)
  if (chosen.length === 0) throw nothingToUndo(input, found.length > 0)
  const byPath = groupByPath(chosen)
  return yield* each(byPath.values(), (states) => {
    states.forEach((state, index) => {
      const previous = states[index - 1]
      if (previous && !sameState(kept.get(state.before ?? ''), previous)) throw between(states, kept)
    })
    const [oldest, newest] = [states[0] as Snapshot, states.at(-1) as Snapshot]
    const to = oldest.before === null ? undefined : (kept.get(oldest.before) ?? gone(newest.path, oldest.before, kept))
    return { path: newest.path, from: newest, to, takesBack: states.map((state) => state.id) }
  })
}

/** One path back to a state it was in, whoever wrote since. */
function* stepTo(id: string, shown: Target['shown'], kept: FileUse['kept']): Steps<Step> {
  const to = kept.get(id)
  if (!to) throw new Fault('not-found', `No such state: ${id}`, { hint: '`handrail snapshots` shows what is kept.' })
  const from = kept.latest(to.path)
  if (!from || from.id === to.id) throw nothingToUndo()
  const since = (yield* kept.after(to.path, to.timestamp)).filter(({ undoneBy }) => undoneBy === null)
  if (shown && from.timestamp !== shown.upTo) throw notAsShown([{ path: to.path }])
  return { path: to.path, from, to: to.sha256 === null ? undefined : to, takesBack: since.map((state) => state.id) }
}

function* ofCalls(calls: readonly string[], kept: FileUse['kept']): Steps<Snapshot[]> {
  const found: Snapshot[] = []
  for (const call of calls) found.push(...(yield* kept.ofCall(call)))
  return found.toSorted((a, b) => a.timestamp - b.timestamp)
}

function* choose(input: Target, kept: FileUse['kept']): Steps<Snapshot[]> {
  if (input.snapshot !== undefined) {
    const found = kept.get(input.snapshot)
    if (found?.kind === 'baseline')
      throw new Fault('not-found', `${found.id} is a state from before Handrail wrote; there is no write to undo`, {
        hint: `To bring that state back: handrail undo --to ${found.id}`,
      })
    return found ? [found] : []
  }
  if (input.call !== undefined) return yield* kept.ofCall(input.call)
  if (input.calls !== undefined) return yield* ofCalls(input.calls, kept)
  if (input.session !== undefined) return yield* kept.ofSession(input.session)
  const last = kept.lastChange(input.shown?.upTo)
  return last ? (last.call === null ? [last] : yield* kept.ofCall(last.call)) : []
}

/** A step as the call carries it out, and what a person sees of it. */
interface Back {
  change: FileChange
  diff: LineDiff
}

/** A path that is not as Handrail left it. */
interface Moved {
  step: Step
  now: PathState | undefined
  /** From what Handrail wrote to what stands there. */
  since: LineDiff
  isRefused?: true
}

async function prepare(
  step: Step,
  use: FileUse,
  call: DiffCall,
  changed: Target['changed'],
): Promise<Back | Moved | (Back & Moved)> {
  const { files, kept, diffs, states } = use
  const now = await runInSlices(states.inSteps(step.path))
  if (step.to && !kept.isKept(step.to.id)) gone(step.path, step.to.id, kept)
  const isLarge = Math.max(now?.bytes ?? 0, step.from.bytes, step.to?.bytes ?? 0) > largestInMemory
  const before = now && !isLarge ? states.content(step.path) : nothing
  const isMoved = !sameState(now, step.from)
  if (isMoved && formOf(step.from) === 'file') mustBeInReach(files, step.path)
  const since = isMoved && !isLarge ? await difference(diffs, wrote(step, kept), before, call) : unshown
  const moved: Moved = { step, now, since }
  if (isMoved && changed === 'keep') return moved
  if (isMoved && changed === undefined) return { ...moved, isRefused: true }
  const merged = isMoved && changed === 'merge' ? await mergedBack(step, { now, before, isLarge }, use, call) : undefined
  if (isMoved && changed === 'merge' && merged === undefined) return { ...moved, isRefused: true }
  if (isLarge)
    return {
      change: changeOf(step, now, step.to ? kept.contentOnDisk(step.to.id) : null, false),
      diff: unshown,
      ...(isMoved && moved),
    }
  const after = merged ?? (step.to ? kept.content(step.to.id) : null)
  const text = isText(now, before) && isText(step.to, after ?? nothing)
  return {
    change: changeOf(step, now, after, text),
    diff: await difference(diffs, before, after ?? nothing, call),
    ...(isMoved && moved),
  }
}

interface Present {
  now: PathState | undefined
  before: Buffer
  isLarge: boolean
}

/** What Handrail wrote taken out, and what came after it left in; nothing where both are about the same lines, or one is no text. */
async function mergedBack(
  step: Step,
  { now, before, isLarge }: Present,
  { kept, diffs }: FileUse,
  call: DiffCall,
): Promise<Buffer | undefined> {
  if (isLarge || !now || !step.to || step.from.sha256 === null) return undefined
  const [base, then] = [wrote(step, kept), kept.content(step.to.id)]
  if (!isText(now, before) || !isText(step.from, base) || !isText(step.to, then)) return undefined
  const [mine, theirs] = [
    await diffs.lines(base.toString(), before.toString(), call),
    await diffs.lines(base.toString(), then.toString(), call),
  ]
  const text = mergedText(base.toString(), mine, theirs)
  return text === undefined ? undefined : Buffer.from(text)
}

function changeOf(step: Step, now: PathState | undefined, after: Content | null, text: boolean): FileChange {
  return {
    path: step.path,
    content: after,
    // Links, folders and what is no text are one thing to look at each.
    ...(!text && { binary: true }),
    form: formOf(step.to ?? step.from),
    // Bits that are right stay as they are, the special ones with them.
    ...(typeof step.to?.mode === 'number' &&
      !(now?.form === formOf(step.to) && now.mode === step.to.mode) && { mode: step.to.mode }),
    undoes: step.takesBack,
  }
}

/** What is too large to be compared is only said to change. */
const unshown: LineDiff = { type: 'line', hunks: [] }

const nothing = Buffer.alloc(0)

const wrote = ({ from }: Step, kept: FileUse['kept']): Buffer => (from.sha256 === null ? nothing : kept.content(from.id))

const isText = (state: Pick<Snapshot, 'form'> | undefined, bytes: Buffer): boolean =>
  (state?.form ?? 'file') === 'file' && isUtf8(bytes) && !bytes.includes(0)

/** What is no text has no lines to show; single odd bytes are written out. */
async function difference(diffs: Diffs, before: Buffer, after: Buffer, call: DiffCall): Promise<LineDiff> {
  const [from, to] = [readableText(before), readableText(after)]
  return from && to ? diffs.shown(from.text, to.text, call) : { type: 'line', hunks: [] }
}

/** A file that was swapped for something no tool may touch is refused as such, not shown. */
function mustBeInReach(files: FileUse['files'], path: string): void {
  try {
    files.readPart(path, () => ({ start: 0, end: 0 }))
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.reason !== 'not-found') throw fault
  }
}

const mostTold = 20

function changedSince(refused: readonly Moved[], asked: Target['changed']): Fault {
  const [{ step, now, since }] = refused as [Moved]
  const { path, from } = step
  const others = refused.slice(1, mostTold)
  const bits = now && from.sha256 !== null && !sameMode(now, from)
  const both = `${path} changed since Handrail wrote it, on the same lines: the two changes cannot be put together`
  return new Fault(
    'conflict',
    asked === 'merge' ? both : `${path} changed since Handrail wrote it; undoing would lose that change`,
    {
      details: {
        path,
        changedSince: since,
        ...(bits && { mode: { wrote: from.mode?.toString(8), found: now.mode.toString(8) } }),
        ...(now && from.sha256 !== null && now.form !== formOf(from) && { form: { wrote: formOf(from), found: now.form } }),
        ...(others.length > 0 && { others: others.map((one) => ({ path: one.step.path, changedSince: one.since })) }),
      },
      hint: (name) =>
        `Keep the later change, or bring the older state back by hand with ${name('restore_snapshot')} and ${name('write_to_file')}.`,
    },
  )
}

/** Of whatever was named: an id that nobody knows is no empty undo. */
function nothingToUndo({ snapshot, call, session }: Partial<Target> = {}, known = true): Fault {
  const named = snapshot ?? call ?? session
  const says =
    named === undefined ? '' : known ? `: all that ${named} changed is undone already` : `: no change of ${named} is kept`
  return new Fault('not-found', `Nothing to undo${says}`, { hint: '`handrail snapshots` shows what is kept.' })
}

function notAsShown(steps: readonly { path: string }[]): Fault {
  return new Fault('conflict', 'What would be undone is no longer what was shown', {
    details: { paths: steps.slice(0, 20).map(({ path }) => path) },
    hint: 'Nothing was changed. Look again, and answer again.',
  })
}

/** Says what is gone, and names the nearest state before it that is left. */
function gone(path: string, id: string, kept: FileUse['kept']): never {
  const at = kept.get(id)?.timestamp ?? 0
  const left = kept.list(2_500, path).filter((one) => one.path === path)
  const nearest = left.find(({ timestamp }) => timestamp < at) ?? left.at(-1)
  throw new Fault('not-found', `The state ${path} would go back to is no longer kept: ${id}`, {
    details: { path, snapshotId: id, ...(nearest && { nearest: nearest.id }) },
    hint: nearest
      ? `The nearest state that is left is of ${new Date(nearest.timestamp).toISOString()}: handrail undo --to ${nearest.id}`
      : '`handrail snapshots` shows what is kept.',
  })
}

/** Names the newest state among them that somebody else left: what most people look for. */
function between(states: readonly Snapshot[], kept: FileUse['kept']): Fault {
  const newest = states.findLast((state, index) => index > 0 && !sameState(kept.get(state.before ?? ''), states[index - 1]))
  const path = newest?.path ?? ''
  return new Fault('conflict', `${path} was changed by somebody else between these writes`, {
    details: { path, ...(newest?.before && { theirs: newest.before }) },
    hint: newest?.before
      ? `To bring back what they left: handrail undo --to ${newest.before}`
      : 'Undo the writes one by one, newest first.',
  })
}

function groupByPath(snapshots: Snapshot[]): Map<string, Snapshot[]> {
  const groups = new Map<string, Snapshot[]>()
  for (const snapshot of snapshots) {
    const group = groups.get(snapshot.path)
    if (group) group.push(snapshot)
    else groups.set(snapshot.path, [snapshot])
  }
  return groups
}

import type { Change } from '../contracts/change.ts'
import type { ToolContext, FileChange, Written } from '../contracts/tool.ts'
import type { Deadline } from './deadline.ts'
import { isOnDisk, type Content } from '../contracts/content.ts'
import type { Form } from '../contracts/snapshot.ts'
import { openPace } from '../text/steps.ts'
import { contentHash } from './digest.ts'
import { recheckAtCommit } from './recheck-at-commit.ts'
import type { CallContext } from './call-context.ts'
import type { States } from './states.ts'

/** Lets a commit happen, at once or when the project is free; where it waits, the signal ends that. */
export type CommitGuard = <T>(act: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** For whoever has the project to itself already. */
export const commitNow: CommitGuard = (act) => act()

/** What the tool may do in this call, and nothing more. */
export function openToolContext(
  context: CallContext,
  states: States,
  limit: Deadline,
  commitGuard: CommitGuard = commitNow,
): ToolContext {
  const { kernel, tool, touches, call, callAudit, inputDigest } = context
  const { ports, policy } = kernel
  const client = call.caller.peer ?? call.caller.session
  let lines = 0
  const declared = new Set(touches.flatMap((touch) => ('path' in touch && touch.access === 'write' ? [touch.path] : [])))

  /** One change as the journal takes it: declared, counted, and made for the state that was judged. */
  const plan = async ({ path: given, content, binary, form, mode, undoes }: FileChange): Promise<Change> => {
    const path = ports.world.normal(given)
    if (!declared.has(path) || !Object.hasOwn(states, path))
      throw new Error(`${tool.name} tried to change ${path}, which it had not declared`)
    // Where nothing stands nothing is read: a link may have taken the place of the folder around it.
    const before = states[path] === null ? undefined : () => ports.world.read(path)
    // A person may change as much as they like, so nothing is read to count it: it may be what no tool reads, as a second name.
    if (call.caller.role !== 'person')
      lines += binary || (form ?? 'file') !== 'file' ? 1 : await linesChanged(before?.(), content)
    return {
      path,
      expect: states[path] ?? null,
      after: content === null ? null : isOnDisk(content) ? () => content : Buffer.from(content),
      ...(form && { form }),
      ...(mode !== undefined && { mode }),
      ...(undoes && { undoes }),
    }
  }
  /** A file that goes away is one thing to look at, not its lines. */
  const linesChanged = async (before: Buffer | undefined, after: Content | null): Promise<number> =>
    after === null
      ? 0
      : isOnDisk(after)
        ? 1
        : ports.diffs.count(before?.toString('utf8') ?? '', Buffer.from(after).toString('utf8'), {
            client,
            signal: limit.signal(),
          })
  const commit = async (changes: readonly FileChange[], together?: (written: Written[]) => void): Promise<Written[]> => {
    limit.signal().throwIfAborted()
    const planned: Change[] = []
    const pace = openPace()
    for (const change of changes) {
      planned.push(await plan(change))
      if (pace.due()) await pace.turn()
    }
    limit.signal().throwIfAborted()
    policy.checkSize(lines, call.caller)
    const origin = {
      call: call.id,
      session: call.caller.session,
      person: call.caller.role === 'person',
      idempotencyKey: callAudit.key,
    }
    const committing = async (): Promise<Written[]> => {
      await recheckAtCommit(context, planned)
      limit.signal().throwIfAborted()
      return limit.finishing(ports.world.commit(planned, origin, together))
    }
    const written = await commitGuard(committing, limit.signal())
    callAudit.wrote(written.map((one) => one.snapshotId))
    for (const { path, content, form = 'file' } of changes) {
      states[ports.world.normal(path)] = stateAfter(content, form)
      if (pace.due()) await pace.turn()
    }
    return written
  }

  return {
    id: call.id,
    session: call.caller.session,
    client,
    caller: call.caller,
    tools: kernel.offered,
    answer: call.options.answer,
    get ran(): never {
      throw new Error(`${tool.name} has no program`)
    },
    committed: [],
    evidence: [],
    get signal() {
      return limit.signal()
    },
    progress: (done, total, message) => call.options.onProgress?.(done, total, message),
    attach: (attachment) => call.options.onAttachment?.(attachment),
    change: (changes) => commit(changes),
    async changeOnce(changes, answer) {
      const { key } = callAudit
      const remember = (written: Written[]): void => {
        if (key !== null) ports.idempotency.remember(tool.name, key, inputDigest(), answer(written), call.id)
      }
      return answer(await commit(changes, remember))
    },
  }
}

/** The state a change leaves, in the words of the world. */
function stateAfter(content: Content | null, form: Form): string | null {
  if (content === null) return null
  if (form === 'folder') return form
  const hash = isOnDisk(content) ? content.sha256 : contentHash(content)
  return form === 'link' ? `link:${hash}` : hash
}

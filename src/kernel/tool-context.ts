import type { Change } from '../contracts/change.ts'
import type { Attachment, ToolContext, FileChange, ToolNews, Written } from '../contracts/tool.ts'
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
  return new BoundContext(context, limit, () => openCommit(context, states, limit, commitGuard))
}

const nothing: never[] = []

/** Every read makes one: what it takes to change something is made where something is changed. */
class BoundContext implements ToolContext {
  readonly id: string
  readonly session: string
  readonly client: string
  readonly caller: ToolContext['caller']
  readonly run: string | undefined
  readonly tools: readonly string[]
  readonly answer: string | undefined
  readonly committed = nothing
  readonly evidence = nothing
  readonly #context: CallContext
  readonly #limit: Deadline
  readonly #open: () => Commit
  #commit: Commit | undefined
  #kept: string[] | undefined

  constructor(context: CallContext, limit: Deadline, open: () => Commit) {
    const { kernel, call } = context
    this.id = call.id
    this.session = call.caller.session
    this.client = call.caller.peer ?? call.caller.session
    this.caller = call.caller
    this.run = call.options.run
    this.tools = kernel.offered
    this.answer = call.options.answer
    this.#context = context
    this.#limit = limit
    this.#open = open
  }

  get ran(): never {
    throw new Error(`${this.#context.tool.name} has no program`)
  }

  get agreedTo(): readonly string[] | undefined {
    return this.#context.agreedTo
  }

  get signal(): AbortSignal {
    return this.#limit.signal()
  }

  progress(done: number, total?: number, message?: string): void {
    this.#context.call.options.onProgress?.(done, total, message)
  }

  tell(news: ToolNews): void {
    this.#context.call.options.onEvent?.(news)
  }

  get attach(): ((attachment: Attachment) => void) | undefined {
    return this.#context.call.options.onAttachment
  }

  keep(kind: string, bytes: Uint8Array): void {
    const { kernel, call, callAudit } = this.#context
    this.#kept ??= []
    this.#kept.push(kernel.ports.evidence.keep(call.id, kind, bytes))
    callAudit.kept(this.#kept)
  }

  change(changes: readonly FileChange[]): Promise<Written[]> {
    this.#commit ??= this.#open()
    return this.#commit(changes)
  }

  async changeOnce<Out>(changes: readonly FileChange[], answer: (written: Written[]) => Out): Promise<Out> {
    const { kernel, tool, call, callAudit, inputDigest } = this.#context
    const { key } = callAudit
    this.#commit ??= this.#open()
    const remember = (written: Written[]): void => {
      if (key !== null) kernel.ports.idempotency.remember(tool.name, key, inputDigest(), answer(written), call.id)
    }
    return answer(await this.#commit(changes, remember))
  }
}

/** Changes files, all or none; `together` is done in one transaction with them. */
type Commit = (changes: readonly FileChange[], together?: (written: Written[]) => void) => Promise<Written[]>

function openCommit(context: CallContext, states: States, limit: Deadline, commitGuard: CommitGuard): Commit {
  const { kernel, tool, touches, call, callAudit } = context
  const { ports, policy } = kernel
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
            client: call.caller.peer ?? call.caller.session,
            signal: limit.signal(),
          })
  return async (changes, together) => {
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
}

/** The state a change leaves, in the words of the world. */
function stateAfter(content: Content | null, form: Form): string | null {
  if (content === null) return null
  if (form === 'folder') return form
  const hash = isOnDisk(content) ? content.sha256 : contentHash(content)
  return form === 'link' ? `link:${hash}` : hash
}

import type { Change } from '../contracts/change.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Draft } from '../contracts/tool.ts'
import { judgedPart } from './extent.ts'
import { newAmong, type Mark } from './marks.ts'
import type { CallContext } from './call-context.ts'

/** Others made another thing of a call after it was judged: it is judged anew, and asked about where that is due. */
export class RiskChanged extends Fault {
  constructor(marks: readonly Mark[]) {
    super('conflict', 'What others changed meanwhile makes more of this call than was judged, again and again', {
      details: { paths: marks.slice(0, 20).map(({ path }) => path) },
      hint: 'Nothing of it was done. Make the call again.',
    })
  }
}

/**
 * The last look, with the project's lock in hand, at exactly the bytes that are about to land among the files as they are now: a call
 * was judged before it waited for its turn, and what came in between can make a script or a repository of what was neither.
 */
export async function recheckAtCommit(
  { kernel, tool, touches, call, agreed }: CallContext,
  planned: readonly Change[],
): Promise<void> {
  if (call.caller.role === 'person' || !kernel.policy.asks(kernel.policy.risk('R0', [], () => 0, undefined, true))) return
  const marks = await kernel.marksNow({ touches, ...(tool.drafts && { drafts: () => planned.flatMap(firstBytes) }) })
  const news = newAmong(marks, agreed ?? [], (mark) => kernel.ports.grants.mayChange(call.caller.session, mark))
  if (news.length > 0) throw new RiskChanged(news)
}

/** What tells a script from other files. */
function firstBytes({ path, after }: Change): Draft[] {
  return Buffer.isBuffer(after) ? [{ path, text: judgedPart(path, after) }] : []
}

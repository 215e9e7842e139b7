import type { CallOptions } from '../contracts/call.ts'
import { actIn, namesIn, type Dialect } from '../contracts/dialect.ts'
import { asFault } from '../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import type { Attachment } from '../contracts/tool.ts'

/** One call in a surface's dialect: its own name and input in, its own answer out, whether it went well or not. */
export async function callInDialect<Answer>(
  dialect: Dialect<Answer>,
  gate: Pick<AgentGate, 'call'>,
  { name, input }: { name: string; input: unknown },
  caller: AgentCaller,
  options: CallOptions = {},
): Promise<Answer> {
  try {
    const act = actIn(dialect, name, input)
    const attachments: Attachment[] = []
    const onAttachment = (attachment: Attachment): void => void attachments.push(attachment)
    const { output, callId } = await gate.call(act.tool, act.input, caller, { onAttachment, ...options })
    return dialect.answer(act.result(output), { callId, attachments })
  } catch (thrown) {
    return dialect.failure(asFault(thrown), namesIn(dialect))
  }
}

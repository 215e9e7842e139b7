import type { Extent } from '../contracts/stage.ts'
import type { Staged } from '../contracts/staged.ts'
import type { Draft, Risk, Touch } from '../contracts/tool.ts'
import { runInSlices } from '../text/steps.ts'
import type { CallContext } from './call-context.ts'
import { extentOf, notPlain, readContents, tooManyLines, tooMuch, type Contents } from './extent.ts'
import { marksAsk, type Mark } from './marks.ts'
import { highest } from './policy.ts'
import { cumulativeExcess } from './cumulative-extent.ts'

/** What a program did on its stage, judged by that alone. */
export interface Judged {
  risk: Risk
  marks: Mark[]
  extent: Extent
  /** How the files begin that it made or changed. */
  begins: readonly Draft[]
  /** Why it is more than an ordinary change; each ends a sentence about the program. */
  why: string[]
  /** It is asked about for what adds up within the hour, and the card says so. */
  namesSum: boolean
}

/**
 * Plain files made and changed are an ordinary change, applied and undone like any write. What is removed, large, no plain content, or makes
 * other programs run something is asked about; so is everything a tool does whose contract says so.
 */
export async function judgeEffects(context: CallContext, staged: Staged, touches: readonly Touch[]): Promise<Judged> {
  const { kernel, tool, input, call } = context
  const { ports, policy, config } = kernel
  const { session, peer } = call.caller
  const { signal } = call.options
  const { effects } = staged.ran
  const extent = await runInSlices(extentOf(effects), signal)
  const large = tooMuch(extent, config.policies)
  const { unaskedFiles, unaskedBytes, batchMaxLines } = config.policies
  const compare = (before: string, after: string): Promise<number> =>
    ports.diffs.count(before, after, { client: peer ?? session, signal: signal ?? never })
  // What is asked about for its size is not read for the reasons it has besides: the card shows it.
  const isRead = extent.files <= unaskedFiles && extent.bytes <= unaskedBytes
  const { lines, begins }: Contents = isRead
    ? await readContents(effects, staged.sides, { most: batchMaxLines, compare }, signal)
    : { lines: 0, begins: [] }
  const isWritten = (path: string): boolean => Object.hasOwn(staged.states, path)
  const marks = await kernel.marks({ session, touches, effects, drafts: () => [...begins], isWritten })
  const floor = highest(tool.risk(input), 'R1')
  const why = [
    ...(floor === 'R1' ? [] : [`is started by ${tool.name}, which asks about everything it changes`]),
    ...large,
    ...(await runInSlices(notPlain(effects), signal)),
    ...tooManyLines(lines, config.policies),
  ]
  const sums = why.length === 0 ? cumulativeExcess(ports.unasked.sum(), extent, config.policies) : []
  why.push(...sums)
  const marked = marksAsk(marks, (mark) => ports.grants.mayChange(session, mark))
  const failing = why.length === 0 && ports.sessions.failing(session) ? touches : []
  const failures = (path: string): number => ports.sessions.failures(session, path)
  const risk = policy.risk(floor, failing, failures, call.options.raisedRisk, marked || why.length > 0)
  return { risk, marks, extent, begins, why, namesSum: sums.length > 0 }
}

const never = new AbortController().signal

import type { AgentLimits, AgentRecord, OpenCall, PhaseEnd } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Model, ModelReply } from '../contracts/model.ts'
import type { Prompts } from '../contracts/prompt.ts'
import { canonical } from '../text/canonical.ts'
import { withinBudget } from './budget.ts'
import { checkWritten, lookBefore } from './check-written.ts'
import { added, compact, tokensOf } from './conversation.ts'
import { fenced } from './fence.ts'
import { fateOf, makeCall, mayRepeat, newCallId, onlyLooks, type CallPorts } from './make-call.ts'
import { offeredIn, proposePlan, type Offered } from './offered-tools.ts'
import { ownFiles } from './own-files.ts'
import { planIn } from './plan-phase.ts'

export interface LoopPorts extends CallPorts {
  model: Model
  prompts: Prompts
  /** Who the agent is and what the person likes. */
  identity: string
  limits: () => AgentLimits
  /** What the agent is told of itself, the skill and the plan: the system's part of every request. */
  system: (record: AgentRecord) => string
  save: (record: AgentRecord) => void
}

/** So often the same call in a row, and the person is asked. */
const alike = 3
/** An answer that is only cut off is asked for once more, so often. */
const mostCut = 2

/** Asks the model, makes the calls it wants, and asks again, until it says that it is done, asks, or has used up what it may. */
export async function runPhase(record: AgentRecord, ports: LoopPorts): Promise<PhaseEnd> {
  const { gate, model, prompts, signal, save, tell } = ports
  if (record.ended) return record.ended
  let cut = 0
  for (let step = 1; step <= ports.limits().maxSteps; step++) {
    const limits = ports.limits()
    const offered = offeredIn(record.phase, gate, record.selfUpdate)
    tell({ type: 'step', step })
    const resumed = record.open.length > 0
    // Whoever was interrupted after the last word has nothing more to ask for.
    const hasSpoken = step === 1 && record.messages.at(-1)?.role === 'assistant'
    if (!resumed && !hasSpoken) {
      signal.throwIfAborted()
      withinBudget(record.usage, limits)
      const system = ports.system(record)
      await compact(record, { model, prompts, signal, limits, system, tools: offered.tools })
      const reply = await model.complete({
        system,
        messages: record.messages,
        tools: offered.tools,
        maxTokens: limits.replyTokens,
        signal,
        onText: (delta) => tell({ type: 'delta', step, delta }),
      })
      record.usage = added(record.usage, reply.usage ?? guessed(record, system, reply))
      take(record, reply)
      const isCut = reply.end === 'cut' && ++cut <= mostCut
      if (isCut) record.messages.push({ role: 'user', text: 'Your answer was cut off. Go on in smaller pieces.' })
      save(record)
      if (reply.end === 'refused')
        throw new Fault('model-failed', 'The model’s provider refused to answer', { hint: 'Say it in other words.' })
      if (isCut) continue
    }
    const last = record.messages.at(-1)
    if (record.open.length === 0 && last?.role === 'assistant') {
      const again = record.phase === 'act' ? await mended(record, step, ports) : 0
      if (typeof again === 'number') return { kind: 'said', text: `${last.text}${leftAlone(again)}` }
      record.messages.push({ role: 'user', text: again })
      save(record)
      continue
    }
    const end = await makeAll(record, offered, step, resumed, ports)
    const waited = record.waiting
    delete record.waiting
    if (waited !== undefined) record.messages.push({ role: 'user', text: waited })
    else if (end) return end
  }
  return { kind: 'asks', question: `I have asked the model ${ports.limits().maxSteps} times in this turn. Shall I go on?` }
}

/** The answer, and the calls it wants, kept before the first of them is made. */
function take(record: AgentRecord, { text, calls, thought }: ModelReply): void {
  record.messages.push({ role: 'assistant', text, ...(calls.length > 0 && { calls }), ...(thought !== undefined && { thought }) })
  record.open = calls.map((call) => ({ call, id: newCallId() }))
}

const guessed = (record: AgentRecord, system: string, { text, calls }: ModelReply) => ({
  input: tokensOf(system) + tokensOf(JSON.stringify(record.messages)),
  output: tokensOf(text + JSON.stringify(calls)),
})

/** One after the other: what a call changes, the next one sees. */
async function makeAll(
  record: AgentRecord,
  offered: Offered,
  step: number,
  resumed: boolean,
  ports: LoopPorts,
): Promise<PhaseEnd | undefined> {
  let end: PhaseEnd | undefined
  for (let open = record.open[0]; open; open = record.open[0]) {
    // What comes after a question or the end is not done.
    const answer: Answer = end
      ? { text: 'Not done: the turn has ended.' }
      : await answerTo(open, record, offered, step, resumed, ports)
    end ??= answer.end
    if (end && record.open.length === 1 && record.waiting === undefined) record.ended = end
    record.messages.push({ role: 'tool', id: open.call.id, name: open.call.name, text: answer.text })
    record.open = record.open.slice(1)
    ports.save(record)
  }
  return end
}

interface Answer {
  text: string
  end?: PhaseEnd
}

async function answerTo(
  open: OpenCall,
  record: AgentRecord,
  offered: Offered,
  step: number,
  resumed: boolean,
  ports: LoopPorts,
): Promise<Answer> {
  const { call } = open
  if (call.broken !== undefined)
    return { text: `Not done: the input of ${call.name} could not be read, ${call.broken}. Send it again, whole.` }
  if (call.name === proposePlan.name && record.phase === 'plan') {
    const { goal, skill, minRisk } = record
    const about = { goal, ...(skill && { skill: skill.id }), ...(minRisk && { minRisk }) }
    const taken = await planIn(call.input, about, ports.gate, ports.caller)
    return 'plan' in taken
      ? { text: 'Handed in.', end: { kind: 'planned', plan: taken.plan } }
      : { text: `Not taken: ${taken.wrong}` }
  }
  const tool = offered.find(call.name)
  if (!tool)
    return {
      text:
        record.phase === 'plan'
          ? `Not done: while planning only what reads is offered, and ${call.name.slice(0, 64)} is not. Put it into the plan.`
          : `Not done: there is no tool ${call.name.slice(0, 64)}.`,
    }
  const outside = record.selfUpdate && !isOwn(call.input) && !onlyLooks(tool, call.input)
  if (outside) return { text: `Not done: in this turn only your own files may be changed: ${ownFiles.says}.` }
  let again = false
  if (resumed) {
    const fate = await fateOf(open, ports.gate, ports.caller.session)
    if (fate === 'ended' && !mayRepeat(tool, open))
      return {
        text: 'It was carried out before the program was interrupted; its answer is lost. Look at what is there now; do not do it again.',
      }
    if (fate === 'unknown' && !mayRepeat(tool, open))
      return {
        text: 'The program was interrupted while this was carried out: nobody knows how far it came. Look before you do anything about it.',
      }
    again = fate === 'unknown'
  }
  const third = open.after === undefined ? tooAlike(record, call.name, call.input) : undefined
  if (third) return third
  let stillFailing = 0
  if (call.name === 'attempt_completion') {
    const found = await mended(record, step, ports)
    if (typeof found === 'string') return { text: found }
    stillFailing = found
  }
  if (!onlyLooks(tool, call.input)) await lookBefore(tool, call.input, record, step, ports)
  if (!resumed || open.after === undefined) {
    open.after = ports.gate.lastLine()
    ports.save(record)
  }
  const made = await makeCall(tool, open, step, record, ports, again)
  record.unchecked = [...new Set([...record.unchecked, ...made.wrote])]
  if (made.ok && call.name === 'attempt_completion')
    return { text: made.text, end: { kind: 'said', text: `${String(call.input['result'] ?? '')}${leftAlone(stillFailing)}` } }
  if (made.ok && call.name === 'ask_followup_question' && (made.output as { answer?: string }).answer === undefined)
    return { text: 'The person answers next.', end: { kind: 'asks', question: String(call.input['question'] ?? '') } }
  return { text: made.text }
}

const isOwn = ({ path }: Record<string, unknown>): boolean => typeof path === 'string' && ownFiles.are(path)

/** The third call alike is not made: a person says whether it makes sense. */
function tooAlike(record: AgentRecord, name: string, input: object): Answer | undefined {
  const same = `${name} ${canonical(input)}`.slice(0, 4_000)
  record.recent = [...record.recent, same].slice(-alike)
  if (record.recent.length < alike || record.recent.some((one) => one !== same)) return undefined
  record.recent = []
  return {
    text: 'Not done: this is the same call for the third time. The person is asked.',
    end: {
      kind: 'asks',
      question: `The agent wants to call ${name} for the third time with the same input. Shall it go on, or do something else?`,
    },
  }
}

/** What failed before is not mended unasked, and not kept from the person either. */
const leftAlone = (failures: number): string =>
  failures === 0
    ? ''
    : `\n\n(${failures} ${failures === 1 ? 'failure' : 'failures'} of the project’s checks were there before, and were left alone.)`

/** What the model is told to mend in what it wrote; where all is well, how much failed before it began. Throws where it has tried often enough. */
async function mended(record: AgentRecord, step: number, ports: LoopPorts): Promise<string | number> {
  if (record.unchecked.length === 0) return 0
  const verdict = await checkWritten(record, step, ports)
  if (verdict.failing.length === 0) {
    ports.save(record)
    return verdict.old
  }
  // Also where nothing is done about it: it is looked at again.
  record.unchecked = [...verdict.failing]
  const { maxAutoFix } = ports.limits()
  for (const path of verdict.failing) record.failed[path] = (record.failed[path] ?? 0) + 1
  const given = verdict.failing.filter((path) => (record.failed[path] ?? 0) > maxAutoFix)
  if (given.length > 0)
    throw new Fault('lint', `What was written still fails its check: ${given.join(', ').slice(0, 300)}`, {
      details: { paths: given.slice(0, 20) },
      hint: 'It can be undone (`handrail undo`); say what to do about it, or mend it yourself.',
    })
  return `Not finished: a check of what you wrote failed. Mend it.\n${fenced('the check', verdict.text)}`
}

import type { AgentRecord } from '../contracts/agent.ts'
import type { AgentPhase } from '../contracts/agent-phase.ts'
import { contract001 } from '../contracts/faults/contract-001.ts'
import { asFault, Fault, hintFor } from '../contracts/faults/fault.ts'
import type { AgentCaller } from '../contracts/gate.ts'
import type { Model } from '../contracts/model.ts'
import type { Routed } from '../contracts/route.ts'
import type { Turn, TurnError, TurnEvent, TurnTaker } from '../contracts/turn.ts'
import type { LoopPorts } from './loop.ts'
import type { AgentPorts } from './ports.ts'
import { carryOut, closeOpen, fresh, systemFor, type Reply } from './phases.ts'

const longestText = 200_000

/** The agent as whoever answers a turn. One turn of a conversation at a time, whichever process it is in. */
export function openAgent(ports: AgentPorts): TurnTaker {
  return {
    async take(turn, tell, signal) {
      const { caller } = turn
      if (!caller) throw new Fault('internal', 'A turn for the agent came without its caller')
      const { session } = caller
      let step = 1
      let streamed = ''
      const heard = (event: TurnEvent): void => {
        step = event.step
        if (event.type === 'delta') streamed = (streamed + event.delta).slice(-longestText)
        tell(event)
      }
      try {
        const release = ports.sessions.take(session)
        if (!release)
          throw new Fault('busy', 'This conversation is in the middle of a turn', {
            hint: 'Wait for its end, or cancel it where it was begun: here, or in another terminal or editor.',
          })
        try {
          const reply = await takeTurn(turn, caller, ports, heard, signal)
          // Whoever only reads what is streamed has it all.
          if (reply.reply !== '' && !streamed.trimEnd().endsWith(reply.reply.trimEnd()))
            tell({ type: 'delta', step, delta: reply.reply })
          tell({ type: 'completed', step, ...reply })
        } finally {
          release()
        }
      } catch (thrown) {
        const fault = signal.aborted ? new Fault('cancelled', 'The turn was cancelled') : asFault(thrown)
        if (fault.reason === 'internal') console.error('handrail: agent:', fault.cause ?? fault)
        tell({ type: 'failed', step, error: errorOf(fault) })
      }
    },
  }
}

async function takeTurn(
  turn: Turn,
  caller: AgentCaller,
  ports: AgentPorts,
  tell: (event: TurnEvent) => void,
  signal: AbortSignal,
): Promise<Reply> {
  const text = turn.messages
    .map((one) => one.text)
    .join('\n\n')
    .trim()
  if (text.length > longestText)
    throw new Fault('too-large', `A request may have ${longestText} characters`, { hint: 'Put long text into a file.' })
  const record = ports.sessions.load(caller.session) ?? fresh(caller.session)
  // Where it was interrupted after its end, a new word begins a new turn.
  if (record.state === 'working' && record.ended && record.ended.kind !== 'planned' && text !== '')
    leave(record, record.ended.kind)
  const interrupted = record.state === 'working'
  if (text === '' && !interrupted) throw new Fault('bad-input', 'Nothing was asked', { hint: 'Say what you want.' })
  const model = await ports.model()
  if (!model) return withoutModel(text, ports)
  await ports.gate.mountsKnown()
  const save = (): void => {
    record.updatedAt = Date.now()
    ports.sessions.save(record)
  }
  try {
    await begin(record, turn, text, interrupted, model, ports, signal)
    const clarify = record.state === 'asked' && record.messages.at(-1)?.role === 'assistant'
    if (clarify) {
      save()
      return { reply: record.messages.at(-1)?.text ?? '', asks: true }
    }
    record.state = 'working'
    save()
    const identity = await ports.identity()
    const loop: LoopPorts = {
      gate: record.selfUpdate ? ports.selfGate() : ports.gate,
      caller,
      tell,
      signal,
      model,
      prompts: ports.prompts,
      identity,
      limits: ports.limits,
      save,
      waitMs: Number.POSITIVE_INFINITY,
      system: (one) => systemFor(one, identity, ports),
    }
    const reply = await carryOut(record, turn.mode, loop)
    leave(record, reply.asks ? 'asks' : 'said')
    save()
    return reply
  } catch (thrown) {
    // Whoever goes on finds a conversation in which every call has its answer.
    closeOpen(record, signal.aborted ? 'Not done: the turn was cancelled.' : 'Not done: the turn failed.')
    leave(record, 'said')
    save()
    throw thrown
  }
}

function leave(record: AgentRecord, how: 'asks' | 'said'): void {
  record.state = how === 'asks' ? 'asked' : 'idle'
  delete record.ended
  delete record.waiting
}

/** Takes up what was said, and which road it goes: the person's word first, then that of the router. */
async function begin(
  record: AgentRecord,
  turn: Turn,
  text: string,
  interrupted: boolean,
  model: Model,
  ports: AgentPorts,
  signal: AbortSignal,
): Promise<void> {
  if (interrupted) {
    // The open calls are looked after first, by the loop itself; what is said now comes after them.
    if (text !== '' && (record.open.length > 0 || record.ended)) record.waiting = text
    else if (text !== '') record.messages.push({ role: 'user', text })
    return
  }
  const answers = record.state === 'asked'
  record.messages.push({ role: 'user', text })
  record.recent = []
  record.failed = {}
  const wanted: AgentPhase | undefined = turn.mode
  if (answers && wanted === undefined) return
  // With a plan at hand, acting is carrying it out.
  if (wanted === 'act' && record.plan && record.phase === 'plan') {
    record.phase = 'act'
    return
  }
  record.goal = text
  delete record.plan
  delete record.skill
  delete record.minRisk
  delete record.failedBefore
  delete record.selfUpdate
  // Where the person said what they want, the rules alone say what it is about: nobody is asked.
  const router = await ports.router(wanted ? undefined : model)
  const decision = await router.route(text, signal)
  await follow(record, decision, wanted, ports)
}

async function follow(record: AgentRecord, decision: Routed, wanted: AgentPhase | undefined, ports: AgentPorts): Promise<void> {
  const { route_type: type, skill_id, min_risk, clarify_questions = [], unasked } = decision
  if (min_risk) record.minRisk = min_risk
  if (type === 'clarify' && wanted === undefined && clarify_questions.length > 0) {
    const note = unasked === undefined ? [] : [`(The model could not be asked: ${unasked})`]
    record.messages.push({ role: 'assistant', text: [...clarify_questions, ...note].join('\n') })
    record.state = 'asked'
    record.phase = 'act'
    return
  }
  if (type === 'self_update') record.selfUpdate = true
  if (skill_id !== undefined) {
    const skill = await ports.skill(skill_id)
    if (skill) record.skill = { id: skill_id, body: skill.body }
  }
  record.phase = wanted ?? (type === 'qa' ? 'answer' : type === 'skill' || type === 'task' ? 'plan' : 'act')
}

/** What can be said without a model: where it would go, and how to get one. */
async function withoutModel(text: string, { router, skill: load }: AgentPorts): Promise<Reply> {
  const { route_type, reason, skill_id, clarify_questions = [] } = await (await router(undefined)).route(text)
  const skill = skill_id === undefined ? undefined : await load(skill_id)
  const lines = [
    ...clarify_questions,
    ...(skill
      ? [`The skill ${skill.id} fits: ${skill.description}`, `\`handrail plans\` makes a plan of its steps, and runs it.`]
      : [`This would go to: ${route_type} (${reason}).`]),
    'No model is configured, so nobody can do more than that here: set agent.provider and agent.model in your own settings, and a key with `handrail keys set PROVIDER`.',
  ]
  return { reply: lines.join('\n') }
}

/** A fault as contract 001 tells it, which every surface of turns speaks. */
function errorOf(fault: Fault): TurnError {
  const row = contract001[fault.reason]
  const hint = hintFor(fault, (tool) => tool)
  return {
    ...('code' in row ? { status: row.status, code: row.code } : { status: 500, code: 'tool_error' }),
    message: fault.message,
    details: { ...fault.details, ...(hint !== undefined && { hint }), reason: fault.reason },
  }
}

import { Fault } from '../../../contracts/faults/fault.ts'
import type { AgentCaller } from '../../../contracts/gate.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { JudgedPlan, Plan, ToolResult } from '../../../contracts/plan.ts'
import { wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command, Invocation } from '../command.ts'
import { confirm } from '../confirm.ts'
import { piped } from '../piped.ts'
import { ago, bold, dim, green, oneLine, printable, printableBlock, red, say, table, warn, yellow } from '../print.ts'
import { commandHere, type CommandHere } from '../program-name.ts'
import { exitOf, watched } from './run.ts'

export const plans: Command = {
  name: 'plans',
  summary: 'Make a plan from a skill, read it, change it, run it',
  usage:
    "handrail plans list|new SKILL [--input 'JSON']|new [SKILL] --task TEXT|show ID|edit ID --file FILE|run ID [--yes] [--detach]|remove ID --project DIR",
  acts: { list: 0, new: 1, show: 1, edit: 1, run: 1, remove: 1 },
  about: `A plan is data: calls of tools, one after the other, each with the risk that Handrail works out; what a plan says of its own risk can only raise it. \`new\` makes one of
a skill, without any model: steps that name their tool become calls, what is only said in words is listed beside them, and kept as a worksheet in sandbox/outputs. \`edit\` takes the
plan as JSON from a file, or from stdin with "-". \`run\` shows it and asks you; then it is a run: it goes on after a crash, can be cancelled (\`runs cancel\`), and is taken back as one
(\`undo RUN\`). A step that cannot be undone still asks about its effect. A plan that names a tool that is not there is not run at all.`,
  options: [
    {
      name: 'input',
      value: 'JSON',
      says: 'For new: values for what the skill leaves open, {{name}}; "-" reads them from stdin.',
    },
    {
      name: 'task',
      value: 'TEXT',
      says: 'For new: let the model make the plan of these words, along the skill where one is named.',
    },
    { name: 'file', value: 'FILE', says: 'For edit: the plan as JSON; "-" reads it from stdin.' },
    { name: 'yes', says: 'For run: do not ask whether to begin.' },
    { name: 'detach', says: 'For run: only hand it in; a `handrail serve` or `handrail mcp` on the project carries it out.' },
  ],
  examples: [
    `handrail plans new triage-check --input '{"message":"TypeError","file":"src/a.ts"}' --project .`,
    'handrail plans new --task "write a beach date scene" --project .',
    'handrail plans show plan_0123456789abcdef --project .',
    'handrail plans run plan_0123456789abcdef --project .',
  ],
  async run(invocation) {
    const [what = 'list', typed] = invocation.words
    const task = typeof invocation.options['task'] === 'string' ? invocation.options['task'] : undefined
    if (
      !['list', 'new', 'show', 'edit', 'run', 'remove'].includes(what) ||
      (what !== 'list' && typed === undefined && !(what === 'new' && task !== undefined))
    )
      throw new Fault(
        'bad-input',
        typed === undefined ? (what === 'new' ? 'From which skill?' : 'Which plan?') : `Unknown: plans ${what}`,
        {
          hint: '`handrail plans list` shows them; then show, edit, run or remove. `handrail plans new SKILL` makes one.',
        },
      )
    const runtime = invocation.open()
    try {
      if (what === 'list') return list(runtime, invocation)
      if (what === 'new' && task !== undefined) return await makeOf(runtime, task, typed, invocation)
      if (what === 'new') return await make(runtime, typed as string, invocation)
      const id = wholeId(runtime, 'plan', typed as string)
      if (what === 'edit') return await edit(runtime, id, invocation)
      if (what === 'run') return await run(runtime, id, invocation)
      if (what === 'remove') {
        const removed = runtime.plans.remove(id)
        say(invocation.json ? terminalJson({ removed }) : removed ? 'Removed.' : 'There is no such plan.')
        return removed ? 0 : 1
      }
      return await show(runtime, id, invocation)
    } finally {
      await runtime.close()
    }
  },
}

/** Each plan has a session of its own, so that all its calls are together in the log. */
const callerOf = (plan: string): AgentCaller => ({
  surface: 'cli',
  client: 'handrail-cli',
  session: `cli-${plan}`,
  role: 'agent',
})

function list(runtime: Operator, { json }: Invocation): number {
  const found = runtime.plans.list()
  if (json) for (const one of found) say(terminalJson(one))
  else if (found.length === 0) say('No plans. `handrail plans new SKILL` makes one.')
  else
    say(
      table(
        ['plan', 'title', 'source', 'steps', 'last run', 'changed'],
        found.map(({ plan, run: last, updated_at }) => [
          plan.plan_id,
          oneLine(plan.title, 40),
          oneLine(plan.source ?? '', 40),
          String(plan.steps.length),
          last ?? '',
          ago(updated_at),
        ]),
      ),
    )
  return 0
}

async function make(runtime: Operator, skill: string, { options, json }: Invocation): Promise<number> {
  const given = options['input'] === '-' ? await piped() : String(options['input'] ?? '{}')
  const inputs = objectIn(given, '--input')
  const { plan, needs, problems } = await runtime.plans.fromSkill(skill, inputs)
  const kept = runtime.plans.save(plan)
  const judged = await runtime.plans.judge(kept, callerOf(kept.plan_id))
  if (json) {
    say(terminalJson({ ...judged, needs, problems }))
    return 0
  }
  tell(judged)
  for (const one of problems) warn(`${yellow('not a step')} ${printable(one)}`)
  if (needs.length > 0) warn(`It leaves open: ${needs.join(', ')}. Give them with --input, or edit the plan.`)
  return 0
}

/** By the model; where it is asked is said first. */
async function makeOf(runtime: Operator, task: string, skill: string | undefined, { json }: Invocation): Promise<number> {
  const about = await (await runtime.agent()).about()
  if (about) warn(dim(`Model: ${printable(about.name)} at ${printable(about.endpoint)}`))
  const kept = runtime.plans.save(await runtime.plans.fromTask(task, skill, new AbortController().signal))
  const judged = await runtime.plans.judge(kept, callerOf(kept.plan_id))
  if (json) say(terminalJson(judged))
  else tell(judged)
  return 0
}

async function edit(runtime: Operator, id: string, { options, json, dependencies }: Invocation): Promise<number> {
  const { plan: before } = runtime.plans.get(id)
  const file = options['file']
  if (typeof file !== 'string')
    throw new Fault('bad-input', 'With which text? --file FILE, or --file - for stdin', {
      hint: `\`handrail plans show ${id} --json\` has it under "plan": change that and hand it in.`,
    })
  const text = file === '-' ? await piped(1_048_576) : await dependencies.readText(file, 1_048_576)
  if (text === undefined) throw new Fault('not-found', `This cannot be read: ${oneLine(file, 200)}`)
  const changed = objectIn(text, '--file') as unknown as Plan
  const plan = runtime.plans.save({ ...changed, plan_id: before.plan_id, created_at: before.created_at })
  const judged = await runtime.plans.judge(plan, callerOf(id))
  if (json) say(terminalJson(judged))
  else tell(judged)
  return judged.wrong.length > 0 ? 1 : 0
}

async function show(runtime: Operator, id: string, { json }: Invocation): Promise<number> {
  const { plan, run: last } = runtime.plans.get(id)
  const judged = await runtime.plans.judge(plan, callerOf(id))
  const results = last === undefined ? undefined : await runtime.plans.results(last).catch(() => undefined)
  if (json) {
    say(terminalJson({ ...judged, ...(last !== undefined && { run: last }), ...(results && { results }) }))
    return 0
  }
  tell(judged)
  if (last !== undefined) say(`Last run: ${last}${results ? '' : ', which is no longer kept'}`)
  for (const [step, result] of Object.entries(results ?? {})) tellResult(step, result)
  return 0
}

function tellResult(step: string, { ok, evidence_refs }: ToolResult): void {
  say(`  ${ok ? green('done') : red('failed')} ${step} ${dim(evidence_refs.join(' '))}`)
}

async function run(runtime: Operator, id: string, { options, json }: Invocation): Promise<number> {
  const { plan } = runtime.plans.get(id)
  const caller = callerOf(id)
  const judged = await runtime.plans.judge(plan, caller)
  if (!json) tell(judged)
  if (judged.wrong.length === 0 && options['yes'] !== true) {
    const yes = await confirm('Run this plan?', 'stdout')
    if (yes === undefined)
      throw new Fault('bad-input', 'Nobody is at this terminal to confirm, so nothing is run', {
        hint: 'Read the plan first; then run it with --yes.',
      })
    if (!yes) {
      warn('Nothing was run.')
      return 1
    }
  }
  runtime.openSession({ id: caller.session, surface: caller.surface, client: caller.client })
  const { role: _, ...origin } = caller
  const { run: handed } = await runtime.plans.run(id, origin)
  if (options['detach'] === true) {
    say(json ? terminalJson({ runId: handed.runId }) : handed.runId)
    return 0
  }
  const command: CommandHere = (words) => commandHere(words, runtime.project, options)
  const ended = await watched(await runtime.runs(), handed.runId, plan.title, command)
  const results = await runtime.plans.results(handed.runId)
  if (json) say(terminalJson({ runId: handed.runId, status: ended.status, error: ended.error, results }))
  else {
    for (const [step, result] of Object.entries(results)) tellResult(step, result)
    if (ended.error)
      warn(`${red(ended.error.errorCode)} ${printable(ended.error.message)}\n→ ${printable(ended.error.recoverHint)}`)
    say(`${bold(handed.runId)} ${ended.status}; take it back as one: ${command(`undo ${handed.runId}`)}`)
  }
  return exitOf(ended)
}

function tell({ plan, steps, risk, wrong }: JudgedPlan): void {
  say(`${bold(plan.plan_id)} ${printable(plan.title)} (${printable(plan.source ?? 'nobody')}), risk ${bold(risk)}`)
  for (const [at, step] of steps.entries()) {
    say(`${at + 1}. ${bold(step.risk)} ${printable(step.tool ?? step.tool_id)}: ${printable(oneLine(step.description, 100))}`)
    say(dim(printableBlock(oneLine(JSON.stringify(step.params), 300))))
    for (const one of step.wrong) say(`   ${red('wrong')} ${printable(one)}`)
  }
  const open = (plan.outline ?? []).filter(({ step_ids }) => step_ids.length === 0)
  if (open.length > 0) say(`${yellow('Only said in words')}, for a model or a person:`)
  for (const { text, line } of open) say(`  line ${line}: ${printable(oneLine(text, 120))}`)
  if (wrong.length > 0)
    say(red(`It cannot be run as it is: ${wrong.length === 1 ? 'one thing is' : `${wrong.length} things are`} wrong.`))
}

function objectIn(text: string, where: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Told below.
  }
  throw new Fault('bad-input', `${where} is no JSON object`, { hint: 'Quote it for the shell.' })
}

import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { SkillInfo } from '../../../contracts/skill.ts'
import { asksOf } from '../../../text/skill-asks.ts'
import { stepsIn } from '../../../text/skill-steps.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command, Invocation } from '../command.ts'
import { bold, dim, green, oneLine, printable, printableBlock, red, say, table, yellow } from '../print.ts'
import { commandHere } from '../program-name.ts'

export const skills: Command = {
  name: 'skills',
  summary: 'List the skills there are, show one, check what they ask for, or begin a new one',
  usage: 'handrail skills list [--all]|show ID|check [DIR…]|new NAME --project DIR',
  acts: { list: 0, show: 1, check: Number.POSITIVE_INFINITY, new: 1 },
  about: `A skill is a folder with a SKILL.md: how a kind of work is done, in words (the open Agent Skills standard, agentskills.io). Skills come with
Handrail, lie in your own folders (~/.config/handrail/skills, ~/.agents/skills, ~/.claude/skills), or are brought by the project (skills/, skills_workspace/,
.agents/skills/, .claude/skills/). The project's come before yours, and yours before ours; of two with one name the first is taken, and the other is said to be in its shadow.
What a project brings counts once you trusted its very bytes: \`handrail trust\`. A skill grants nothing: what it asks for are calls like any other.
\`check\` reads every skill, or those below the folders you name, and says what is not as the standard has it, and what asks for network, secrets or execution.`,
  options: [{ name: 'all', says: 'For list: also those that are not offered, and why.' }],
  examples: [
    'handrail skills list --project .',
    'handrail skills show webgal-scene --project .',
    'handrail skills check .agents/skills --project .',
    'handrail skills new release-notes --project .',
  ],
  async run(invocation) {
    const [what = 'list', ...rest] = invocation.words
    if (!['list', 'show', 'check', 'new'].includes(what) || (['show', 'new'].includes(what) && rest.length !== 1))
      throw new Fault('bad-input', what === 'show' || what === 'new' ? 'Which skill?' : `Unknown: skills ${what}`, {
        hint: '`handrail skills list` shows them; then `handrail skills show ID`, check or new.',
      })
    const runtime = invocation.open()
    try {
      if (what === 'check') return await check(rest, invocation)
      if (what === 'show') return await show(runtime, rest[0] as string, invocation)
      if (what === 'new') return await begin(runtime, rest[0] as string, invocation)
      return await list(runtime, invocation)
    } finally {
      await runtime.close()
    }
  },
}

const whose = { handrail: 'Handrail', person: 'you', project: 'project' } as const

async function list(runtime: Operator, { json, options }: Invocation): Promise<number> {
  const { skills: found, skipped, left } = await runtime.skills.list()
  if (json) {
    for (const one of found) say(terminalJson({ ...one, offered: true }))
    if (options['all'] === true) for (const one of skipped) say(terminalJson({ ...one, offered: false }))
    return 0
  }
  say(
    table(
      ['skill', 'from', 'what it is for'],
      found.map(({ id, origin, description }) => [oneLine(id, 40), whose[origin], oneLine(description, 90)]),
    ),
  )
  for (const { id, diagnostics } of found)
    for (const { level, says } of diagnostics)
      if (level === 'warning') say(`${yellow('warning')} ${printable(id)}: ${printable(says)}`)
  if (options['all'] === true) {
    for (const { path, says } of skipped) say(`${yellow('not offered')} ${printable(path)}: ${printable(says)}`)
    for (const one of left) say(`${dim('left out')} ${printable(one)}`)
  } else if (skipped.length > 0) {
    const untrusted = skipped.filter(({ why }) => why === 'untrusted').length
    const trust =
      untrusted > 0 ? `; ${untrusted} of the project until you trust them: ${commandHere('trust', runtime.project, options)}` : ''
    say(`${skipped.length} not offered${trust}. ${commandHere('skills list --all', runtime.project, options)} says why.`)
  }
  return 0
}

async function show(runtime: Operator, id: string, { json }: Invocation): Promise<number> {
  const { info, body, bodyLine } = await runtime.skills.load(id)
  const [asks, steps] = [asksOf(info, body, bodyLine), stepsIn(body)]
  if (json) {
    say(terminalJson({ ...info, body, asks, steps: steps.map(({ text, line }) => ({ text, line: line + bodyLine - 1 })) }))
    return 0
  }
  head(info)
  say(`\n${printableBlock(body.trim())}\n`)
  for (const { line, for: kind, says } of asks) say(`${yellow(kind)} line ${line}: ${printable(says)}`)
  for (const { name, relative_path } of info.scripts) say(`${dim('script')} ${printable(relative_path)} (${printable(name)})`)
  say(`${steps.length} steps; a plan of them: handrail plans new ${printable(id)}`)
  return 0
}

function head({ id, name, description, origin, path, version, license, allowedTools, diagnostics }: SkillInfo): void {
  say(`${bold(printable(id))}${name === id ? '' : ` (${printable(name)})`} from ${whose[origin]}: ${printable(path)}`)
  say(printable(description))
  const facts = [version && `version ${version}`, license, allowedTools.length > 0 && `tools it names: ${allowedTools.join(' ')}`]
  for (const fact of facts) if (fact) say(dim(printable(fact)))
  for (const { level, says } of diagnostics) say(`${level === 'note' ? dim(level) : yellow(level)} ${printable(says)}`)
}

async function check(folders: string[], { json, dependencies, project }: Invocation): Promise<number> {
  const { checked, left } = await dependencies.checkSkills(folders, project)
  let bad = 0
  for (const one of checked) {
    if (!one.loads) bad++
    if (json) say(terminalJson(one))
    else {
      say(
        `${one.loads ? green('loads') : red('does not load')} ${printable(one.path)}${one.steps > 0 ? dim(` ${one.steps} steps`) : ''}`,
      )
      for (const { level, says } of one.diagnostics) say(`  ${level}: ${printable(says)}`)
      for (const { line, for: kind, says } of one.asks) say(`  ${yellow(kind)} line ${line}: ${printable(says)}`)
    }
  }
  if (!json) for (const one of left) say(`${dim('left out')} ${printable(one)}`)
  if (!json) say(`${checked.length - bad} of ${checked.length} load.`)
  return bad > 0 ? 1 : 0
}

const template = (name: string): string => `---
name: ${name}
description: What it does and when to use it, in one or two sentences.
tags: []
version: 0.1.0
---

# ${name}

## Goal

What is there afterwards.

## Steps

1. The first step. Where it is one call, say which:
   - tool_id: \`list_files\`
   - params:
     \`\`\`json
     { "path": "." }
     \`\`\`
2. The next step, in words: a model or a person does it.

## Outputs

- What it leaves.
`

/** Written as any agent's file is: shown first, kept, and undoable. */
async function begin(runtime: Operator, name: string, { json }: Invocation): Promise<number> {
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || name.length > 64)
    throw new Fault('bad-input', 'The name of a skill is lowercase letters, digits and single hyphens, 64 at most', {
      hint: 'For example: handrail skills new release-notes',
    })
  const path = `skills_workspace/${name}/SKILL.md`
  const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli', role: 'person' } as const
  runtime.openSession({ id: caller.session, surface: caller.surface, client: caller.client })
  const there = await runtime.call('read_file', { path }, caller).then(
    () => true,
    (fault: unknown) => !(fault instanceof Fault && fault.reason === 'not-found'),
  )
  if (there) throw new Fault('conflict', `There is something already: ${path}`, { hint: 'Choose another name.' })
  const content = template(name)
  await runtime.call('write_to_file', { path, content, dryRun: true }, caller)
  const { output } = await runtime.call('write_to_file', { path, content, dryRun: false }, caller)
  if (json) say(terminalJson({ path, ...(output as object) }))
  else say(`${green('Written')}: ${path}. Change it as you like, then \`handrail skills check\` and \`handrail trust\`.`)
  return 0
}

// Approvals in Claude Code: a form, answered by a hook of the project in place of the person, or by nobody.
import assert from 'node:assert/strict'
import { converse, inProject } from './agent.mjs'
import { approveOnCommandLine, assertAllowed, assertRefused, original, proposal } from './approval.mjs'
import { connectOverStdio, openClaude, servedOverHttp } from './claude-command.mjs'

const path = 'package.json'
const approve = { action: 'accept', content: { decision: 'approve' } }
const declineAndSayWhy = { action: 'accept', content: { decision: 'decline and say why' } }
const why = { action: 'accept', content: { why: 'no scripts, please' } }

export async function approvalsInClaudeCode(report, program) {
  const inFreshProject = (body) =>
    inProject(report, { [path]: original }, async (project) => {
      const claude = openClaude(project, program)
      await body(project, claude, (name, check) => report.step(name, () => propose(project, claude, check)))
    })

  await inFreshProject(async (project, claude, step) => {
    answerForms(project, approve)
    await connectOverStdio(claude, project)
    await step('approval: a form answered with approve lets the write happen', allowedByForm)
  })
  await inFreshProject(async (project, claude, step) => {
    answerForms(project, approve)
    await servedOverHttp(
      claude,
      project,
      () => step('approval: the same over HTTP, switched on', allowedByForm),
      '--ask-over-http',
    )
  })
  await inFreshProject(async (project, claude, step) => {
    answerForms(project, declineAndSayWhy, why)
    await connectOverStdio(claude, project)
    await step('approval: a form answered with decline ends it, and the words reach the agent', async (seen) => {
      await refused({ ...seen, forms: 2 })
      assert.equal(seen.answers[1].error.details.declined, true)
      assert.match(seen.answers[1].error.message, /no scripts, please/)
    })
  })
  await inFreshProject(async (project, claude, step) => {
    answerForms(project, { action: 'decline' })
    await connectOverStdio(claude, project)
    await step('approval: a form turned down decides nothing', async (seen) => {
      await refused(seen)
      assert.equal(seen.answers[1].error.details.declined, undefined)
    })
  })
  await inFreshProject(async (project, claude, step) => {
    await connectOverStdio(claude, project)
    await step('approval: without anyone to answer it ends once, without a loop', refused)
    await report.step('approval: given afterwards on the command line', async () =>
      assert.ok(await approveOnCommandLine(project)),
    )
    await step('approval: for the session that asked, so the next run is asked about anew', ({ answers }) => {
      assert.equal(answers[1]?.error?.code, 'E_POLICY_VIOLATION', JSON.stringify(answers[1]))
      assert.equal(project.read(path), original)
    })
  })
}

/** Runs Claude Code through the proposal. */
async function propose(project, claude, check) {
  const { end, model, wire } = await converse(project, 'anthropic', proposal(path), claude.converse)
  const { answers } = model.seen
  await check({ project, answers, wire })
  assert.equal(end.code, 0, end.err || end.out)
  return `${(end.ms / 1000).toFixed(1)} s, ${answers[1].error?.message ?? 'applied'}`
}

function allowedByForm({ project, answers, wire }) {
  assertAllowed(project, path, answers)
  assert.equal(wire.forms.length, 1)
}

const refused = ({ project, ...seen }) => assertRefused(project, path, seen)

/** The first form, and the second where it asks for words. */
function answerForms(project, first, second = first) {
  const output = ({ action, content }) =>
    `printf '%s' '${JSON.stringify({ hookSpecificOutput: { hookEventName: 'Elicitation', action, ...(content && { content }) } })}'`
  const command = `if grep -q '"why"'; then ${output(second)}; else ${output(first)}; fi`
  const settings = { hooks: { Elicitation: [{ hooks: [{ type: 'command', command }] }] } }
  project.write('.claude/settings.json', JSON.stringify(settings))
}

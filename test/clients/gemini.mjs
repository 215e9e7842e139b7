// Gemini CLI, with a scripted model in place of Gemini.
import assert from 'node:assert/strict'
import { checkApprovalElsewhere, inProject, travel } from './agent.mjs'
import { original } from './approval.mjs'
import { checkInit } from './init.mjs'
import { before, path } from './journey.mjs'
import { run } from './process.mjs'

// Not package.json: without a terminal Gemini CLI refuses any tool that names it, before the server hears of it.
const sensitive = '.vscode/tasks.json'
const agent = { dialect: 'gemini', client: /^gemini-cli/ }
const prompt = ['-p', 'go', '--approval-mode', 'yolo', '--model', 'gemini-2.5-pro', '--output-format', 'json']

export async function gemini(report, { program }) {
  await inProject(report, { [path]: before }, async (project) => {
    const command = commandIn(project, program)
    await report.step('gemini mcp add, gemini mcp list: connected', async () => {
      await connect(command, project)
      const listed = await command(['mcp', 'list'])
      assert.match(listed.out + listed.err, /handrail: .* - Connected/)
    })
    const { end } = await travel(report, project, { ...agent, start: (model) => command(prompt, modelAt(model)) })
    await report.step('it has no complaint about a schema', () =>
      assert.deepEqual(
        end.err.split('\n').filter((line) => /schema/i.test(line)),
        [],
      ),
    )
  })
  await inProject(report, { [sensitive]: original }, async (project) => {
    const command = commandIn(project, program)
    await connect(command, project)
    await checkApprovalElsewhere(report, project, sensitive, { ...agent, start: (model) => command(prompt, modelAt(model)) })
  })
  await checkInit(report, 'gemini', {
    ...agent,
    open: (project) => (model, env) => commandIn(project, program)(prompt, { ...modelAt(model), ...env }),
  })
}

const modelAt = ({ url }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' })

function commandIn(project, program) {
  // With a base URL set it would choose the "gateway" way to sign in, which it then refuses without a terminal.
  project.writeHome('.gemini/settings.json', JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }))
  return (args, env) =>
    run(program, args, { cwd: project.folder, env: project.env({ GEMINI_CLI_TRUST_WORKSPACE: 'true', ...env }) })
}

async function connect(command, project) {
  const { code, out, err } = await command(['mcp', 'add', 'handrail', ...project.server])
  assert.equal(code, 0, err || out)
}

// Cline's command line, with a scripted model behind its "OpenAI compatible" provider.
import assert from 'node:assert/strict'
import { checkApprovalElsewhere, inProject, travel } from './agent.mjs'
import { original } from './approval.mjs'
import { checkInit } from './init.mjs'
import { before, path } from './journey.mjs'
import { run } from './process.mjs'

const sensitive = 'package.json'
// Cline gives the name of its library, not its own.
const agent = { dialect: 'openai', client: /^@cline\// }

export async function cline(report, { program }) {
  await inProject(report, { [path]: before }, async (project) => {
    const command = commandIn(project, program)
    await report.step('cline mcp install', () => connect(command, project))
    await travel(report, project, { ...agent, start: (model) => converseWith(command, model) })
  })
  await inProject(report, { [sensitive]: original }, async (project) => {
    const command = commandIn(project, program)
    await connect(command, project)
    await checkApprovalElsewhere(report, project, sensitive, { ...agent, start: (model) => converseWith(command, model) })
  })
  await checkInit(report, 'cline', {
    ...agent,
    tokenByHand: true,
    open: (project) => (model, env) => converseWith(commandIn(project, program, env), model),
  })
}

function commandIn(project, program, env) {
  // Without this Cline waits ten seconds at the end of every command for its telemetry to get through.
  project.writeHome('.cline/data/settings/global-settings.json', '{ "telemetryOptOut": true, "autoUpdateEnabled": false }')
  return (...args) => run(program, args, { cwd: project.folder, env: project.env(env) })
}

async function connect(command, project) {
  const { code, out, err } = await command('mcp', 'install', 'handrail', '--yes', '--', ...project.server)
  assert.equal(code, 0, err || out)
}

async function converseWith(command, { url }) {
  await command('auth', '-p', 'openai-compatible', '-k', 'none', '-m', 'scripted', '-b', `${url}/v1`)
  // One word would be taken for an unknown command.
  return command('--json', '-P', 'openai-compatible', '-m', 'scripted', 'go on')
}

// Claude Code, with a scripted model in place of Claude.
import assert from 'node:assert/strict'
import { inProject, travel } from './agent.mjs'
import { approvalsInClaudeCode } from './claude-code-approvals.mjs'
import { connectOverStdio, openClaude, servedOverHttp } from './claude-command.mjs'
import { checkInit } from './init.mjs'
import { before, path } from './journey.mjs'

const agent = { dialect: 'anthropic', client: /^claude-code\// }

export async function claudeCode(report, { program }) {
  await inProject(report, { [path]: before }, (project) => overStdio(report, project, openClaude(project, program)))
  await inProject(report, { [path]: before }, (project) => overHttp(report, project, openClaude(project, program)))
  await approvalsInClaudeCode(report, program)
  await checkInit(report, 'claude-code', {
    ...agent,
    open(project) {
      // What the person's yes to "use this server of the project?" leaves behind.
      project.write('.claude/settings.local.json', '{ "enabledMcpjsonServers": ["handrail"] }')
      return (model, env) => openClaude(project, program).converse(model, [], env)
    },
  })
}

/** As it comes: tools of MCP servers are named to the model only, and it has to fetch them. */
async function overStdio(report, project, claude) {
  report.note('stdio')
  await report.step('claude mcp add, claude mcp list: connected', async () => {
    await connectOverStdio(claude, project)
    const { out, err } = await claude.list()
    assert.match(out, /handrail: .*✔ Connected/, err || out)
  })
  await travel(report, project, { ...agent, start: claude.converse })
}

/** All tools offered at once, and Claude Code's own switched off. */
async function overHttp(report, project, claude) {
  report.note('HTTP')
  await servedOverHttp(claude, project, async () => {
    const start = (model) => claude.converse(model, ['--tools', ''], { ENABLE_TOOL_SEARCH: 'false' })
    const { model } = await travel(report, project, { ...agent, start })
    await report.step('with --tools "" Handrail is the only way in', () =>
      assert.deepEqual(
        [...model.seen.offered].filter((name) => !name.startsWith('mcp__handrail__')),
        [],
      ),
    )
  })
}

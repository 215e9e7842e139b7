// Claude Code's command line in a project, and the two ways to connect it to Handrail.
import assert from 'node:assert/strict'
import { run } from './process.mjs'
import { openRelay } from './relay.mjs'

/** Gives `{ add, list, converse }` on the program. */
export function openClaude(project, program) {
  const claude = (args, env) =>
    run(program, args, { cwd: project.folder, env: project.env({ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ...env }) })
  const prompt = ['-p', 'go', '--model', 'claude-sonnet-4-5', '--allowedTools', 'mcp__handrail']
  return {
    async add(...args) {
      const { code, out, err } = await claude(['mcp', 'add', ...args])
      assert.equal(code, 0, err || out)
    },
    list: () => claude(['mcp', 'list']),
    converse: (model, args = [], env = {}) =>
      claude([...prompt, ...args], { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'none', ...env }),
  }
}

export const connectOverStdio = (claude, project) => claude.add('handrail', '--', ...project.server)

/** Serves the project while the body runs. */
export async function servedOverHttp(claude, project, body, ...more) {
  const server = await project.serve(...more)
  const relay = await openRelay(server.url, project.wireLog)
  try {
    await claude.add('--transport', 'http', 'handrail', relay.url, '--header', `Authorization: Bearer ${server.token}`)
    await body()
  } finally {
    await relay.close()
    await server.stop()
  }
}

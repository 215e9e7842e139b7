// The Inspector of today, which needs a newer Node than we do and brings it along. It speaks both eras, over stdio and HTTP.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProject } from './agent.mjs'
import { before, path } from './journey.mjs'
import { run } from './process.mjs'
import { openRelay } from './relay.mjs'
import { checkList, checkSingleCalls, checkWriteAndUndo, noteProtocol, withoutDryRun } from './single-calls.mjs'

const name = /^inspector-cli/
const eras = ['modern', 'legacy']

export async function inspector2(report, { program, bin }) {
  for (const era of eras)
    await inProject(report, { [path]: before }, async (project) => {
      report.note(`stdio, ${era}`)
      const [command, ...args] = project.server
      const strict = inspectorOn(project, { program, bin }, { command, args }, era)
      await checkStrict(report, strict)
      await checkList(report, project, strict.list)
      await checkSingleCalls(report, project, strict.call)
      const lenient = { command, args: [...args, ...withoutDryRun] }
      await checkWriteAndUndo(report, project, name, inspectorOn(project, { program, bin }, lenient, era).call)
      noteProtocol(report, project)
    })
  for (const era of eras)
    await inProject(report, { [path]: before }, async (project) => {
      report.note(`HTTP, ${era}`)
      const server = await project.serve(...withoutDryRun)
      const relay = await openRelay(server.url, project.wireLog)
      try {
        const headers = { Authorization: `Bearer ${server.token}` }
        const target = { type: 'streamable-http', url: relay.url, headers }
        const client = inspectorOn(project, { program, bin }, target, era)
        await checkStrict(report, client)
        await checkList(report, project, client.list)
        await checkWriteAndUndo(report, project, name, client.call)
        noteProtocol(report, project)
      } finally {
        await relay.close()
        await server.stop()
      }
    })
}

function inspectorOn(project, { program, bin }, server, protocolEra) {
  const config = join(project.base, 'inspector.json')
  const ask = async (...args) => {
    writeFileSync(config, JSON.stringify({ mcpServers: { handrail: { ...server, protocolEra } } }))
    const base = [program, '--cli', '--config', config, '--server', 'handrail', ...args]
    const { code, out, err } = await run(join(bin, 'node'), base, {
      cwd: project.base,
      env: project.env({ MCP_INSPECTOR_SECRET_STORE: 'memory' }),
    })
    return { code, err, result: out.startsWith('{') ? JSON.parse(out) : undefined, out }
  }
  return {
    ask,
    list: async () => (await ask('--method', 'tools/list')).result.tools.map(({ name }) => name),
    async call(tool, input) {
      const { result, err, out } = await ask(
        '--method',
        'tools/call',
        '--tool-name',
        tool,
        '--tool-args-json',
        JSON.stringify(input),
      )
      assert.ok(result, err || out)
      return result
    },
  }
}

function checkStrict(report, { ask }) {
  return report.step('tools/list --strict finds no fault with a schema', async () => {
    const { code, err } = await ask('--method', 'tools/list', '--strict')
    assert.equal(code, 0, err)
    assert.doesNotMatch(err, /warning|portab/i)
  })
}

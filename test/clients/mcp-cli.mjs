// @wong2/mcp-cli: a small client of other people's making, on the first official SDK.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProject } from './agent.mjs'
import { before, path } from './journey.mjs'
import { run } from './process.mjs'
import { checkSingleCalls, checkWriteAndUndo, noteProtocol, withoutDryRun } from './single-calls.mjs'

export async function mcpCli(report, { program }) {
  await inProject(report, { [path]: before }, async (project) => {
    const caller = (server) => async (tool, input) => {
      const [command, ...args] = server
      const config = join(project.base, 'mcp-cli.json')
      writeFileSync(config, JSON.stringify({ mcpServers: { handrail: { command, args } } }))
      const line = ['-c', config, 'call-tool', `handrail:${tool}`, '--args', JSON.stringify(input)]
      const { code, out, err } = await run(program, line, { cwd: project.base, env: project.env() })
      if (code !== 0) throw new Error(`exit ${code}: ${err || out}`)
      return JSON.parse(out)
    }
    await checkSingleCalls(report, project, caller(project.server))
    await checkWriteAndUndo(report, project, /^mcp-cli/, caller([...project.server, ...withoutDryRun]))
    report.skip('listing tools, which it does on a terminal only')
    noteProtocol(report, project)
  })
}

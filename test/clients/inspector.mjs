// The last Inspector of the first line, which is what many people still have.
import { inProject } from './agent.mjs'
import { before, path } from './journey.mjs'
import { run } from './process.mjs'
import { checkList, checkSingleCalls, checkWriteAndUndo, noteProtocol, withoutDryRun } from './single-calls.mjs'

export async function inspector(report, { program }) {
  await inProject(report, { [path]: before }, async (project) => {
    const ask = async (server, ...args) => {
      const { code, out, err } = await run(program, ['--cli', ...server, ...args], { cwd: project.base, env: project.env() })
      if (code !== 0) throw new Error(`exit ${code}: ${err || out}`)
      return JSON.parse(out)
    }
    const caller = (server) => (tool, input) =>
      ask(server, '--method', 'tools/call', '--tool-name', tool, ...Object.entries(input).flatMap(toolArgument))
    await checkList(report, project, async () =>
      (await ask(project.server, '--method', 'tools/list')).tools.map(({ name }) => name),
    )
    await checkSingleCalls(report, project, caller(project.server))
    await checkWriteAndUndo(report, project, /^inspector-cli/, caller([...project.server, ...withoutDryRun]))
    noteProtocol(report, project)
    report.skip('HTTP, because its command line cannot send a token')
  })
}

const toolArgument = ([name, value]) => ['--tool-arg', `${name}=${value}`]

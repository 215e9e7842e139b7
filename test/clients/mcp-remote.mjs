// mcp-remote: the bridge that lets clients which only know stdio reach a server over HTTP. The official SDK's client drives it.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { inProject } from './agent.mjs'
import { answerIn } from './answer.mjs'
import { before, checkPersonAndAudit, checkStep, journey, path } from './journey.mjs'
import { openRelay } from './relay.mjs'
import { checkList, noteProtocol } from './single-calls.mjs'

export async function mcpRemote(report, { program }) {
  await inProject(report, { [path]: before }, async (project) => {
    const server = await project.serve()
    const relay = await openRelay(server.url, project.wireLog)
    const client = new Client({ name: 'handrail-clients', version: '1' })
    try {
      const connected = await report.step('connects', () =>
        client.connect(
          new StdioClientTransport({
            command: process.execPath,
            args: [
              program,
              relay.url,
              '--allow-http',
              '--transport',
              'http-only',
              '--header',
              `Authorization:Bearer ${server.token}`,
            ],
            env: project.env(),
            stderr: 'ignore',
          }),
        ),
      )
      if (!connected) return
      await checkList(report, project, async () => (await client.listTools()).tools.map(({ name }) => name))
      const answers = []
      for (const [index, { tool, input }] of journey.entries()) {
        const given = typeof input === 'function' ? input(answers) : input
        answers.push(answerIn(await client.callTool({ name: tool, arguments: given })))
        await checkStep(report, project, answers, index)
      }
      await checkPersonAndAudit(report, project, /^handrail-clients/)
    } finally {
      await client.close()
      await relay.close()
      await server.stop()
    }
    noteProtocol(report, project)
  })
}

import type { Command } from '../command.ts'

export const acp: Command = {
  name: 'acp',
  summary: 'Serve the agent to an editor over the Agent Client Protocol on stdin and stdout',
  usage: 'handrail acp --project DIR',
  about: `Your editor starts this command for you (Zed, JetBrains, Neovim and others; docs/guide/acp.md has the lines to put into their settings).
What needs a person is shown there with its diff. An answer in the editor's own dialog counts once policies.acpClients names that editor, since
editors can be set to answer by themselves, and never for R3; else answer with \`handrail approvals\` or on the page. Nothing but the protocol goes to
stdout. It ends when stdin does.`,
  examples: ['handrail acp --project .'],
  async run({ openLive, dependencies }) {
    for (const method of ['log', 'info', 'debug'] as const) console[method] = console.error
    const runtime = openLive()
    const leave = (): void => void runtime.close().finally(() => process.exit(0))
    process.once('SIGTERM', leave)
    process.once('SIGINT', leave)
    const about = await (await runtime.agent()).about().catch((fault: Error) => fault)
    console.error(
      `handrail: ${about === undefined ? 'no model' : about instanceof Error ? about.message : `model: ${about.name} at ${about.endpoint}`}`,
    )
    await dependencies.serveAcp(runtime)
    await runtime.close()
    return 0
  },
}

import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { leaves, loadConfig } from './config/load.ts'
import { openRuntime } from './runtime/open.ts'
import { runCli } from './surfaces/cli/run.ts'
import type { SettingFlag } from './surfaces/cli/command.ts'

/** The program: hands the command line what it needs from the other rooms. Heavy modules are loaded only when used. */
export function main(argv: string[], version: string): Promise<number> {
  const flags: SettingFlag[] = leaves
    .filter(({ schema }) => !schema.secret)
    .map(({ flag, key, path, schema }) => ({
      flag,
      key,
      group: path.length > 1 ? (path[0] as string) : '',
      boolean: schema.type === 'boolean',
      type: String(schema.type),
      ...(schema.enum && { choices: schema.enum.map(String) }),
      default: schema.default,
      says: schema.description ?? '',
    }))
  return runCli(
    argv,
    {
      openRuntime,
      serveMcpStdio: async (gate, forms) => (await import('./surfaces/mcp/stdio.ts')).serveMcpStdio(gate, forms),
      serveAcp: async (operator) => (await import('./runtime/acp.ts')).serveAcpFor(operator),
      serveLsp: async (open) => (await import('./runtime/lsp.ts')).serveLspFor(open),
      serveHttp: async (operator, options) => (await import('./runtime/serve.ts')).serveHttp(operator, options),
      serveDesk: async ({ state, ...options }) =>
        (await import('./runtime/desk.ts')).serveDesk({ ...options, asked: { state, environment: process.env } }),
      serveBridge: async (operator, options) => (await import('./runtime/bridge.ts')).serveBridge(operator, options),
      openBridgeState: async (project, named) =>
        (await import('./host/bridge-state.ts')).openBridgeState(project, process.env, named),
      async goneWith({ pid }) {
        const { gone } = await import('./host/running.ts')
        await Promise.race([gone(pid), new Promise((resolve) => setTimeout(resolve, 5_000).unref())])
      },
      connectBridge: async (url, options) => (await import('./client/node.ts')).connect(url, options),
      openStateAdmin: async (options) => (await import('./runtime/state-admin.ts')).openStateAdmin(options),
      findSignInLink: async (operator, wanted) => (await import('./surfaces/page/link.ts')).findSignInLink(operator, wanted),
      findProgramKey: async (operator, wanted) => (await import('./surfaces/page/link.ts')).findProgramKey(operator, wanted),
      toolListBytes: async (tools) => (await import('./surfaces/mcp/dialect.ts')).listBytes(tools),
      openClientConfigs: async () =>
        (await import('./host/client-config.ts')).openClientConfigs({
          platform: process.platform,
          home: process.env['HOME'] || homedir(),
          environment: process.env,
        }),
      checkTemplates: async (files, offers) =>
        (await import('./runtime/check-templates.ts')).checkTemplates(files, offers, process.env),
      checkSkills: async (folders, project) => (await import('./runtime/check-skills.ts')).checkSkills(folders, project),
      openPlane: async (operator) => (await import('./runtime/commands.ts')).commandsOf(operator),
      watchFolders: async (folders) => (await import('./host/watch-folders.ts')).watchFolders(folders),
      readText: async (file, most) => (await import('./host/small-file.ts')).readSmall(file, most),
      openNotify: async () => (await import('./host/notify.ts')).openNotify(process.env, process.platform),
      makeDemoProject: async () => (await import('./host/demo-project.ts')).makeDemoProject(),
      checkSettings: (given) => void loadConfig({ flags: given }),
      async installation() {
        const program = fileURLToPath(new URL('../bin/handrail.js', import.meta.url))
        const { isPublished } = await import('./host/published.ts')
        return { node: process.execPath, program, version, ...(isPublished(program, version) && { published: version }) }
      },
    },
    flags,
    version,
  )
}

export { openRuntime }
export const gatewayDocument = async (): Promise<object> => (await import('./runtime/serve.ts')).gatewayDocument()
export { codes000, errorCodesOf, errorTable } from './contracts/faults/contract-000.ts'
export { cliPlane, exits } from './contracts/faults/cli-plane.ts'
export { contract001 } from './contracts/faults/contract-001.ts'
export { contract002 } from './contracts/faults/contract-002.ts'
export { contract003 } from './contracts/faults/contract-003.ts'
export { Fault, reasons } from './contracts/faults/fault.ts'
export { plainDotFiles } from './text/files-that-run/dot-files.ts'
export { filesThatRun } from './text/files-that-run/index.ts'
export { includeNames } from './text/files-that-run/includes.ts'
export { kept } from './contracts/kept.ts'
export { readPage } from './host/browser/read-page.ts'
export { deniedSecrets, markedSecrets } from './text/secret-files.ts'
export { bridgeContract } from './contracts/bridge.ts'
export { Config } from './contracts/config.ts'
export { leaves as settings } from './config/load.ts'
export { commands } from './surfaces/cli/run.ts'
export { keys, rooms, siblings } from './rooms.ts'
export { catalogue } from './toolsets/index.ts'
export { reference as webgalReference } from './toolsets/webgal/grammar/describe.ts'

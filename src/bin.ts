import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { leaves, loadConfig } from './config/load.ts'
import { openLiveRuntime } from './live.ts'
import { openRuntime } from './main.ts'
import { runCli, type SettingFlag } from './surfaces/cli/run.ts'
import { signInKey } from './surfaces/person-auth.ts'

/** The program: hands the command line what it needs from the other rooms. Heavy modules are loaded only when used. */
export function main(argv: string[], version: string): Promise<number> {
  const flags: SettingFlag[] = leaves.map(({ flag, schema }) => ({
    flag,
    boolean: schema.type === 'boolean',
    says: schema.description ?? '',
  }))
  return runCli(
    argv,
    {
      openRuntime,
      serveMcpStdio: async (runtime) => (await import('./surfaces/mcp/stdio.ts')).serveMcpStdio(runtime),
      serveHttp: async (runtime, options) => (await import('./serve.ts')).serveHttp(runtime, options),
      openLiveRuntime,
      openStateAdmin: async (options) => (await import('./state.ts')).openStateAdmin(options),
      signInLink: (runtime, url) => `${url}/sign-in?key=${signInKey(runtime.token('person').token)}`,
      toolListBytes: async (runtime) => (await import('./surfaces/mcp/dialect.ts')).listBytes(runtime.listed()),
      openClientConfigs: async () =>
        (await import('./host/client-config.ts')).openClientConfigs({
          platform: process.platform,
          home: process.env['HOME'] || homedir(),
          environment: process.env,
        }),
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
export { errorTable } from './contracts/faults/contract-000.ts'
export { Fault } from './contracts/faults/fault.ts'
export { filesThatRun } from './text/files-that-run/index.ts'
export { kept } from './contracts/kept.ts'
export { deniedSecrets, markedSecrets } from './text/secret-files.ts'
export { Config } from './contracts/config.ts'
export { leaves as settings } from './config/load.ts'
export { commands } from './surfaces/cli/run.ts'
export { keys, rooms, siblings } from './rooms.ts'
export { catalogue } from './toolsets/index.ts'
export { reference as webgalReference } from './toolsets/webgal/grammar/describe.ts'

import { openRuntime } from '../../src/runtime/open.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { serveHttp } from '../../src/runtime/serve.ts'
import { openFixtures } from './fixtures.ts'

/** `handrail serve` with what the official suite wants to find beside the runtime's own. */
export async function serveFixtures(
  project: string,
  environment: NodeJS.ProcessEnv,
): Promise<{ url: string; runtime: Operator; close(): Promise<void> }> {
  const runtime = openRuntime({ project, environment, live: true })
  const listening = await serveHttp(runtime, { host: '127.0.0.1', port: 0, allowRemote: false, allowOrigins: [] }, openFixtures)
  return { url: listening.url, runtime, close: () => listening.close().then(() => runtime.close()) }
}

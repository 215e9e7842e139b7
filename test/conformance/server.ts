import { openRuntime } from '../../src/runtime/open.ts'
import { serveHttp } from '../../src/runtime/serve.ts'
import { openFixtures } from './fixtures.ts'

// `handrail serve` with what the official suite wants to find beside the runtime's own. Bundled and started by the test.
const [project = ''] = process.argv.slice(2)
const runtime = openRuntime({ project, environment: process.env, live: true })
const listening = await serveHttp(runtime, { host: '127.0.0.1', port: 0, allowRemote: false, allowOrigins: [] }, openFixtures)
process.stdout.write(`${JSON.stringify({ url: listening.url, tokenFile: runtime.token().file })}\n`)
process.once('SIGTERM', () => void listening.close().then(() => runtime.close()))

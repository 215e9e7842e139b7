import { serveFixtures } from './serve-fixtures.ts'

// Bundled and started by the test in the soak, with as little of the SDK as the program has.
const [project = ''] = process.argv.slice(2)
const { url, runtime, close } = await serveFixtures(project, process.env)
process.stdout.write(`${JSON.stringify({ url, tokenFile: runtime.token().file })}\n`)
process.once('SIGTERM', () => void close())

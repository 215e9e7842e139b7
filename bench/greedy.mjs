// A client of its own process that makes the same call many times at once: node greedy.mjs URL TOKENFILE TOOL INPUT COUNT. Says `up` first.
import { openHttp } from './http.mjs'

const [url, tokenFile, tool, input, count] = process.argv.slice(2)
const { call } = await openHttp('2025', url, tokenFile)
const calls = Array.from({ length: Number(count) }, () => call(tool, JSON.parse(input)))
process.stdout.write('up\n')
await Promise.allSettled(calls)
process.exit(0)

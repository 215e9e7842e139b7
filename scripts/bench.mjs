// Measures Handrail beside its peers: `npm run bench`, or `npm run bench -- NAME…` for some parts. `--json` adds one JSON
// object on the last line; `--against REF` measures this tree and that commit in five pairs instead. It measures and does not judge.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setup } from './setup.mjs'

const names = [
  'start',
  'read',
  'http',
  'gateway',
  'bridge',
  'webgal',
  'dry-run',
  'search',
  'anchors',
  'memory',
  'ceilings',
  'audit',
  'scale',
  'write',
  'stage',
  'commit',
  'page',
  'terminal',
  'parallel',
  'parallel-programs',
  'parallel-log',
  'beside',
  'events',
  'runs',
  'cluster',
  'browser',
  'browser-one',
  'browser-runs',
]
const words = process.argv.slice(2)
const against = words.includes('--against') ? words.splice(words.indexOf('--against'), 2)[1] : undefined
const asked = words.filter((word) => !word.startsWith('--'))
const unknown = asked.filter((word) => !names.includes(word))
const say = (text) => process.stderr.write(`${text}\n`)

const help = `npm run bench [-- PART…] [--json] [--against REF]

Measures Handrail beside its peers, in one run on this machine; all of it takes most of an hour. It measures and does not judge.
  --json         one JSON object on the last line
  --against REF  this tree and that commit, in five interleaved pairs

parts: ${names.join(', ')}`

if (words.includes('--help')) say(help)
else if (process.argv.at(-1) === '--against') say('--against needs a commit, a branch or a tag.')
else if (unknown.length) say(`No such part: ${unknown.join(', ')}. Parts: ${names.join(', ')}.`)
else if (against) {
  setup()
  const { benchAgainst } = await import('./bench-against.mjs')
  benchAgainst(against, asked)
} else {
  setup()
  await measure(asked.length ? names.filter((name) => asked.includes(name)) : names)
}

async function measure(parts) {
  const { killAll } = await import('../bench/clients.mjs')
  const { copyProgram } = await import('../bench/servers.mjs')
  const temp = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-bench-')))
  const leave = () => {
    killAll()
    rmSync(temp, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', leave)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0))
  mkdirSync(join(temp, 'home'))
  const bench = { temp, program: copyProgram(temp), say }
  const rows = []
  for (const name of parts) rows.push(...(await runPart(name, bench)))
  await print(rows)
}

async function runPart(name, bench) {
  const since = performance.now()
  try {
    const found = await (await partOf(name))(bench)
    say(`${name}: measured in ${((performance.now() - since) / 1000).toFixed(0)} s`)
    return found
  } catch (fault) {
    say(`${name}: could not be measured: ${fault.stack}`)
    const { plain } = await import('../bench/table.mjs')
    return [plain({ part: name, what: name, note: `could not be measured: ${fault.message.split('\n')[0]}` })]
  }
}

async function partOf(name) {
  const part = await import(`../bench/${name}.mjs`)
  return part[name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())]
}

async function print(rows) {
  const { table } = await import('../bench/table.mjs')
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, load ${loadavg()[0].toFixed(2)}`
  const legend =
    'ratio = ours ÷ other, medians over the rounds, interleaved; quartiles of the rounds beside it; "close": the target lies between them'
  const peers =
    'fs = @modelcontextprotocol/server-filesystem, dc = desktop-commander, rg = ripgrep alone, fresh = ours on a project without a past'
  process.stdout.write(`${machine}\n${legend}\n${peers}\n\n${table(rows)}\n`)
  if (words.includes('--json')) process.stdout.write(`${JSON.stringify({ machine, at: new Date().toISOString(), rows })}\n`)
}

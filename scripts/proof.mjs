// `npm run proof`: every promise of the contracts beside the test that proves it. Where there is no fresh report of a whole run, it runs these
// tests, and only these.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { root, setup } from './setup.mjs'

setup()
let report = join(root, '.cache', 'tests.json')
const files = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name)),
)
/** Of a run of all files, since any of them was changed: a run of some says nothing about the others. */
const isFresh = () => {
  if (!existsSync(report)) return false
  const ran = new Set(JSON.parse(readFileSync(report, 'utf8')).testResults.map(({ name }) => name))
  const newest = Math.max(...files.map((file) => statSync(file).mtimeMs))
  return statSync(report).mtimeMs > newest && files.every((file) => !file.endsWith('.test.ts') || ran.has(file))
}
if (!isFresh()) {
  process.stderr.write('proof: no fresh report of all tests, running those that prove a promise…\n')
  const proving = files.filter((file) => file.endsWith('.test.ts') && /\bproves\(/.test(readFileSync(file, 'utf8')))
  const test = [
    join(root, 'scripts', 'test.mjs'),
    '-t',
    String.raw`\[[\w. -]+\] `,
    ...proving.map((file) => relative(root, file)),
  ]
  spawnSync(process.execPath, test, { cwd: root, stdio: ['ignore', 2, 2] })
  report = join(root, '.cache', 'some-tests.json')
}

const bundle = await rolldown({ input: join(root, 'test', 'requirements.ts'), logLevel: 'silent' })
const { output } = await bundle.generate({ format: 'esm' })
const { requirements } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)

/** Tests by the promise they name in their title. */
const proofs = new Map()
for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults)
  for (const one of file.assertionResults) {
    const ids = /^\[([\w. -]+)\] /.exec(one.title)?.[1]?.split(' ') ?? []
    for (const id of ids)
      proofs.set(id, [
        ...(proofs.get(id) ?? []),
        {
          ok: one.status === 'passed',
          where: `${pathToFileURL(file.name).pathname.split('/test/').at(-1)}: ${one.title.replace(/^\[[\w. -]+\] /, '')}`,
        },
      ])
  }

const colour = process.stdout.isTTY
  ? { red: '\u001b[31m', green: '\u001b[32m', dim: '\u001b[2m', end: '\u001b[0m' }
  : { red: '', green: '', dim: '', end: '' }
const counts = { proved: 0, later: 0, unproved: 0 }
let source = ''
for (const [id, promise] of Object.entries(requirements)) {
  if (promise.source !== source) process.stdout.write(`\n${(source = promise.source)}\n`)
  const found = proofs.get(id) ?? []
  const ok = found.length > 0 && found.every((one) => one.ok)
  const state = ok ? 'proved' : promise.later && found.length === 0 ? 'later' : 'unproved'
  counts[state]++
  const mark = ok ? `${colour.green}✔` : `${colour.red}✘`
  const beside = found.length
    ? found.map((one) => `${one.ok ? '' : 'FAILS '}${one.where}`).join('; ')
    : promise.later
      ? `not yet: ${promise.later}`
      : 'NO TEST'
  process.stdout.write(`  ${mark} ${promise.says}${colour.end}\n      ${colour.dim}${id} ← ${beside}${colour.end}\n`)
}
process.stdout.write(`\n${counts.proved} proved, ${counts.unproved} unproved, ${counts.later} promised for a later issue\n`)
process.exit(counts.unproved ? 1 : 0)

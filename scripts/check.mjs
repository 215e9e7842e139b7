// Types, lint, format, generated files, contract promises and the borders between rooms. Fast; run it before every commit.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'

setup()
const bin = (name) => join(root, 'node_modules', '.bin', name)
// What was found of the types is kept between two checks, but not beyond other packages: a type that was missing would stay so.
const dependencies = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
  .slice(0, 12)
const steps = [
  ['types', bin('tsc'), ['-p', '.', '--tsBuildInfoFile', `.cache/types-${dependencies}.tsbuildinfo`]],
  ['lint', bin('oxlint'), ['--type-aware', '--deny-warnings', 'src', 'test', 'bench', 'scripts', 'bin']],
  ['format', bin('oxfmt'), ['--check', 'src', 'test', 'bench', 'scripts']],
  ['generated', process.execPath, ['scripts/gen.mjs', '--check']],
  ['additive', process.execPath, ['scripts/additive.mjs']],
  // Where every test has just been run (`.ci/run`), these were among them.
  ...(process.argv.includes('--tested') ? [] : [['rooms', bin('vitest'), ['run', 'test/pins', '--reporter=dot']]]),
  ['unused', bin('knip'), []],
]

const run = ([name, file, args]) =>
  new Promise((resolve) => {
    const started = performance.now()
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, FORCE_COLOR: '0', npm_config_loglevel: 'error' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    child.stdout.on('data', (chunk) => (text += chunk))
    child.stderr.on('data', (chunk) => (text += chunk))
    child.once('error', (cause) => resolve({ name, ok: false, text: cause.message }))
    child.once('close', (code) => {
      process.stdout.write(`${code === 0 ? 'ok  ' : 'BAD '} ${name} ${Math.round(performance.now() - started)} ms\n`)
      resolve({ name, ok: code === 0, text })
    })
  })

const results = await Promise.all(steps.map(run))
for (const { name, ok, text } of results) if (!ok) process.stdout.write(`\n── ${name} ──\n${text.trim()}\n`)
process.exit(results.every((result) => result.ok) ? 0 : 1)

// `npm test`: sets up whatever is missing, then runs every test. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'
import { ensure } from './system.mjs'

setup()
// What cannot be had is said there, and its tests are skipped.
spawnSync(process.execPath, [join(root, 'test', 'conformance', 'install.mjs')], { stdio: ['ignore', 2, 2] })
ensure('confinement', 'browser', 'python')
const report = join(root, '.cache', 'tests.json')
rmSync(report, { force: true })
const { status } = spawnSync(join(root, 'node_modules', '.bin', 'vitest'), ['run', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, npm_config_loglevel: 'error' },
})
if (existsSync(report)) {
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'))
  process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`)
}
const left = leftBehind()
if (left.length) process.stderr.write(`handrail: these tests left processes behind, which is a fault:\n${left.join('\n')}\n`)
process.exit(left.length ? 1 : (status ?? 1))

/** Programs of this checkout whose parents are gone: whoever started them did not end them. */
function leftBehind() {
  const program = join(root, 'bin', 'handrail.js')
  const found = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  return found.flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]
      return parent === '1' && words.includes(program) ? [`${pid} ${words.join(' ')}`] : []
    } catch {
      return []
    }
  })
}

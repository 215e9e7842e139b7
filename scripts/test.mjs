// `npm test`: sets up whatever is missing, then runs every test. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
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
process.exit(status ?? 1)

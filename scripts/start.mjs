// `npm start`: sets up whatever is missing, makes a sample project once, and serves it. Arguments go to `handrail serve`.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'
import { ensure } from './system.mjs'

setup()
ensure('confinement')
const sample = join(root, '.sample')
const program = join(root, 'bin', 'handrail.js')
const given = process.argv.slice(2)
if (!existsSync(sample)) {
  cpSync(join(root, 'examples', 'lighthouse'), sample, { recursive: true })
  process.stderr.write('handrail: made a sample project in .sample\n')
  // What is kept of an earlier one in this place, in a clone that is gone, is not of this one: it is set aside, not deleted.
  const at = given.findIndex((word) => /^--state(=|$)/.test(word))
  const state = at < 0 ? [] : given.slice(at, given[at].includes('=') ? at + 1 : at + 2)
  spawnSync(process.execPath, [program, 'state', 'reset', '--yes', '--project', sample, ...state], { stdio: 'ignore' })
}
const child = spawn(process.execPath, [program, 'serve', '--project', sample, ...given], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.once('exit', (code, signal) => process.exit(code ?? (signal ? 130 : 1)))

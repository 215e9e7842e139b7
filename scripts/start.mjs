// `npm start`: sets up whatever is missing, makes a sample project once, and serves it; the first time a scripted agent shows what Handrail does.
// Arguments go to `handrail serve`.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'
import { ensure } from './system.mjs'

// npm hands a signal to the shell between us, which dies of it and tells nobody.
const parent = process.ppid
setInterval(() => process.ppid !== parent && process.kill(process.pid, 'SIGTERM'), 500).unref()

setup()
ensure('confinement')
const sample = join(root, '.sample')
const program = join(root, 'bin', 'handrail.js')
const given = process.argv.slice(2)
const isFirst = !existsSync(sample)
if (isFirst) {
  cpSync(join(root, 'examples', 'lighthouse'), sample, { recursive: true })
  process.stderr.write('handrail: made a sample project in .sample\n')
  // What is kept of an earlier one in this place, in a clone that is gone, is not of this one: it is set aside, not deleted.
  const at = given.findIndex((word) => /^--state(=|$)/.test(word))
  const state = at < 0 ? [] : given.slice(at, given[at].includes('=') ? at + 1 : at + 2)
  spawnSync(process.execPath, [program, 'state', 'reset', '--yes', '--project', sample, ...state], { stdio: 'ignore' })
}
// In this very process: one that is told to end ends with all it started.
const shows = isFirst && !given.includes('--json') && !given.includes('--demo') ? ['--demo'] : []
process.argv = [process.execPath, program, 'serve', '--project', sample, ...shows, ...given]
createRequire(import.meta.url)(program)

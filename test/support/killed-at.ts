import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { draws } from './seed.ts'
import { isSoak } from './soak.ts'
import { runCli, type CliEnd } from './world.ts'

/** Loaded before the program: counts what it writes to files and to the store, and dies without a word before the n-th of them. */
const preload = `
const fs = require('node:fs')
const left = { n: Number(process.env.DIE_BEFORE) }
let armed = process.env.ARMED_BY === ''
const moment = () => { if (armed && --left.n === 0) process.kill(process.pid, 'SIGKILL') }
const wrap = (on, name) => {
  const real = on[name]
  on[name] = function (...args) { moment(); return real.apply(this, args) }
}
for (const name of ['writeSync', 'fsyncSync', 'fdatasyncSync', 'ftruncateSync', 'renameSync', 'linkSync', 'unlinkSync']) wrap(fs, name)
require('node:module').syncBuiltinESMExports()
const sqlite = process.getBuiltinModule && process.getBuiltinModule('node:sqlite')
if (sqlite) {
  wrap(sqlite.DatabaseSync.prototype, 'exec')
  wrap(sqlite.StatementSync.prototype, 'run')
  const { prepare } = sqlite.DatabaseSync.prototype
  sqlite.DatabaseSync.prototype.prepare = function (sql) {
    armed ||= sql.includes(process.env.ARMED_BY)
    return prepare.call(this, sql)
  }
} else armed = true
`

/** The command line, killed before its n-th write after it first prepared a statement with these words. `code` is 0 where there were fewer. */
export function killedAt(
  base: string,
  project: string,
  args: string[],
  moment: number,
  armedBy: string,
  more: Record<string, string> = {},
): Promise<CliEnd> {
  const file = join(base, 'die.cjs')
  writeFileSync(file, preload)
  return runCli(project, args, {
    env: { NODE_OPTIONS: `--require=${file}`, NODE_NO_WARNINGS: '1', DIE_BEFORE: String(moment), ARMED_BY: armedBy, ...more },
  })
}

const mostMoments = 200

/**
 * Moments to be killed at, without an end: whoever is not killed any more leaves the loop. Each of them in `npm run soak`; else the first and then
 * about one in `about`, others with every seed.
 */
export function* moments(purpose: string, about: number): Generator<number> {
  const below = draws(`moments: ${purpose}`)
  for (let moment = 1; ; moment += isSoak ? 1 : 1 + below(2 * about - 1)) {
    expect(moment, 'it is killed for ever').toBeLessThan(mostMoments + 2 * about)
    yield moment
  }
}

/** Loaded before the program: it dies without a word when a temporary file of ours is made, or before or after something comes to a place or goes from it. */
const dying = `
const fs = require('node:fs'), later = require('node:fs/promises')
const [when, name] = process.env.DIE_WHEN.split(' ')
const die = () => process.kill(process.pid, 'SIGKILL')
const { openSync } = fs
const meant = (now, path) => now === when && String(path).endsWith('/' + name)
fs.openSync = (path, ...more) => {
  const fd = openSync(path, ...more)
  if (when === 'made' && /[/][.]handrail-[^/]*[.]tmp$/.test(String(path))) die()
  return fd
}
// The last of the paths that it is given is the one that comes to be, or goes.
const wrap = (on, name, paths) => {
  const real = on[name]
  const isLater = on === later
  on[name] = (...given) => {
    const path = given[paths - 1]
    if (meant('before', path)) die()
    const done = real(...given)
    if (!meant('after', path)) return done
    return isLater ? done.then(die) : die()
  }
}
for (const name of ['rename', 'symlink']) wrap(fs, name + 'Sync', 2)
for (const name of ['unlink', 'rmdir', 'mkdir']) wrap(fs, name + 'Sync', 1)
wrap(later, 'rename', 2)
wrap(later, 'unlink', 1)
require('node:module').syncBuiltinESMExports()
`

/** The environment of a program that is killed in this moment of a change, however busy the machine is. */
export function dyingWhen(base: string, when: 'made' | `${'before' | 'after'} ${string}`): Record<string, string> {
  const file = join(base, 'dying.cjs')
  writeFileSync(file, dying)
  return { NODE_OPTIONS: `--require=${file}`, NODE_NO_WARNINGS: '1', DIE_WHEN: when }
}

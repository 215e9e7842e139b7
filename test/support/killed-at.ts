import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
export function killedAt(base: string, project: string, args: string[], moment: number, armedBy: string): Promise<CliEnd> {
  const file = join(base, 'die.cjs')
  writeFileSync(file, preload)
  return runCli(project, args, {
    env: { NODE_OPTIONS: `--require=${file}`, NODE_NO_WARNINGS: '1', DIE_BEFORE: String(moment), ARMED_BY: armedBy },
  })
}

import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runCli, type CliEnd } from './world.ts'

/**
 * Loaded before the program: from the moment a run is accepted it counts every write to files and to the store, on every version of Node, and
 * dies without a word before the n-th of them; at its end it says how many there were.
 */
const preload = `
const fs = require('node:fs')
const left = Number(process.env.DIE_BEFORE)
let armed = false
let made = 0
const moment = () => { if (armed && ++made === left) process.kill(process.pid, 'SIGKILL') }
process.on('exit', () => process.stderr.write('writes ' + made + '\\n'))
const wrap = (on, name) => {
  const real = on[name]
  on[name] = function (...args) { moment(); return real.apply(this, args) }
}
for (const name of ['writeSync', 'fsync', 'fsyncSync', 'fdatasyncSync', 'renameSync', 'linkSync', 'unlinkSync']) wrap(fs, name)
require('node:module').syncBuiltinESMExports()
const counted = (real) => ({ ...real, DatabaseSync: function (path) {
  const db = new real.DatabaseSync(path)
  return {
    exec: (sql) => { moment(); return db.exec(sql) },
    prepare(sql) {
      armed ||= sql.includes('INSERT INTO runs ')
      const one = db.prepare(sql)
      return { all: (...v) => one.all(...v), get: (...v) => one.get(...v), run: (...v) => { moment(); return one.run(...v) } }
    },
    close: () => db.close(),
  }
} })
const { getBuiltinModule } = process
const builtin = getBuiltinModule && getBuiltinModule('node:sqlite')
if (builtin) process.getBuiltinModule = (id) => (id === 'node:sqlite' ? counted(builtin) : getBuiltinModule(id))
else {
  const real = require(process.env.SQLITE_AT)
  require.cache[process.env.SQLITE_AT].exports = counted(real)
}
`

/** Hands a run in on the command line, waits for it, and kills the process before its n-th write. `code` is 0 where there were fewer. */
export function killedRun(base: string, project: string, submission: object, moment: number, flags: string[]): Promise<CliEnd> {
  const file = join(base, 'die.cjs')
  writeFileSync(file, preload)
  return runCli(project, ['call', 'run_task_template', JSON.stringify(submission), ...flags], {
    env: {
      NODE_OPTIONS: `--require=${file}`,
      NODE_NO_WARNINGS: '1',
      DIE_BEFORE: String(moment),
      SQLITE_AT: createRequire(import.meta.url).resolve('@photostructure/sqlite'),
    },
  })
}

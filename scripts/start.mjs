// `npm start`: sets up whatever is missing, makes a sample project once, and serves it. Arguments go to `handrail serve`.
import { spawn } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'
import { ensure } from './system.mjs'

setup()
ensure('confinement')
const sample = join(root, '.sample')
if (!existsSync(sample)) {
  cpSync(join(root, 'examples', 'lighthouse'), sample, { recursive: true })
  process.stderr.write('handrail: made a sample project in .sample\n')
}
const child = spawn(
  process.execPath,
  [join(root, 'bin', 'handrail.js'), 'serve', '--project', sample, ...process.argv.slice(2)],
  { stdio: 'inherit' },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.once('exit', (code, signal) => process.exit(code ?? (signal ? 130 : 1)))

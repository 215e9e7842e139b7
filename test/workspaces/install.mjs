// `node test/workspaces/install.mjs`: puts the tools that projects are checked with, and packages that ship their TypeScript sources, into
// .cache/workspaces, apart from our own packages. For `npm run soak`. Quick when they are there; ends with 0 when they are.
// The lock: npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const place = join(here, '..', '..', '.cache', 'workspaces')
const lock = 'package-lock.json'

/** npm writes its own record last: where it is missing, an install was cut short. */
const isThere = () =>
  existsSync(join(place, 'node_modules', '.package-lock.json')) &&
  existsSync(join(place, lock)) &&
  readFileSync(join(place, lock), 'utf8') === readFileSync(join(here, lock), 'utf8')

if (!isThere()) {
  process.stderr.write('handrail: installing the tools that projects are checked with (once)…\n')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  for (const file of ['package.json', lock]) copyFileSync(join(here, file), join(place, file))
  // Not `ci`: the lock names no packages of systems that no registry at hand has.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--engine-strict=false']
  const brisk = ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000']
  const { status } = spawnSync('npm', ['install', '--no-save', ...quiet, ...brisk], { cwd: place, stdio: ['ignore', 2, 2] })
  if (status !== 0) rmSync(place, { recursive: true, force: true })
}
if (!isThere()) {
  process.stderr.write('handrail: .cache/workspaces is not installed, so checks are not tried with the real tools.\n')
  process.exitCode = 1
}

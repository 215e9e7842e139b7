// `node test/conformance/install.mjs`: puts the official conformance suite into .cache/conformance, apart from our own packages.
// Quick when it is there. With --check it only looks. Either way it ends with 0 when the suite is there, else says what is missing.
// The lock: npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const place = join(here, '..', '..', '.cache', 'conformance')
const lock = 'package-lock.json'

/** npm writes its own record last: where it is missing, an install was cut short. */
function isThere() {
  return (
    existsSync(join(place, 'node_modules', '.package-lock.json')) &&
    existsSync(join(place, lock)) &&
    readFileSync(join(place, lock), 'utf8') === readFileSync(join(here, lock), 'utf8')
  )
}

function install() {
  process.stderr.write('handrail: installing the MCP conformance suite (once)…\n')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  for (const file of ['package.json', lock]) copyFileSync(join(here, file), join(place, file))
  // The suite asks for Node 22; see node-20.mjs. Without network it should say so at once, not after minutes of trying.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--engine-strict=false']
  const brisk = ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000']
  const { status } = spawnSync('npm', ['ci', ...quiet, ...brisk], { cwd: place, stdio: ['ignore', 2, 2] })
  if (status !== 0) rmSync(place, { recursive: true, force: true })
}

if (!isThere() && !process.argv.includes('--check')) install()
if (!isThere()) {
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
  const [[name, version]] = Object.entries(dependencies)
  process.stderr.write(
    `handrail: ${name}@${version} is not installed, so MCP conformance is not tested. ` +
      'With the npm registry in reach: node test/conformance/install.mjs. ' +
      'Without network: copy .cache/conformance from a machine that has it.\n',
  )
  process.exitCode = 1
}

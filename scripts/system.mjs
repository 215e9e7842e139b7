// `node scripts/browser.mjs`: makes sure that there is a Chromium for the tests that look at pages. Quick when there is one.
// What cannot be had is said, and those tests are skipped; it never fails.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'microsoft-edge',
]

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isThere() {
  const named = process.env.HANDRAIL_CHROMIUM
  if (named) return isProgram(named)
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin'].filter(Boolean)
  return (
    names.some((name) => folders.some((folder) => isProgram(join(folder, name)))) ||
    existsSync('/Applications/Google Chrome.app/Contents/MacOS/Google Chrome')
  )
}

/** By the system's own package, as root on Debian and its kin. */
function install() {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  process.stderr.write('handrail: installing Chromium by apt-get, for the tests that look at pages (once)…\n')
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=60', ...args], {
      stdio: ['ignore', 'ignore', 'ignore'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: 600_000,
    }).status === 0
  const put = () => apt('install', '-y', '--no-install-recommends', 'chromium')
  if (!put() && apt('update')) put()
}

if (!isThere()) install()
if (!isThere())
  process.stderr.write(
    'handrail: no Chromium was found, so pages are not tested. Install one (Debian: apt-get install chromium; macOS: Google Chrome), or name it in HANDRAIL_CHROMIUM.\n',
  )

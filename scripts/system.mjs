// `node scripts/system.mjs [confinement|browser|python …]`: makes sure that programs of the system are there. Quick when they are.
// On Debian and its kin, as root, they are installed by apt-get; what cannot be had is said, and it never fails.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const wanted = {
  confinement: {
    what: 'bubblewrap',
    names: ['bwrap'],
    packages: ['bubblewrap'],
    without: 'programs cannot be confined: they run only after you agreed to each, and what needs a stage is not tested',
    how: 'Debian: apt-get install bubblewrap',
  },
  browser: {
    what: 'Chromium',
    names: [
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome-stable',
      'google-chrome',
      'microsoft-edge',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ],
    named: process.env.HANDRAIL_CHROMIUM,
    // The one without windows starts in less than half the processor time; not every system has it.
    packages: ['chromium-headless-shell', 'chromium'],
    without: 'pages are not tested',
    how: 'Debian: apt-get install chromium-headless-shell; macOS: Google Chrome; or name one in HANDRAIL_CHROMIUM',
  },
  database: {
    what: 'PostgreSQL',
    names: ['/usr/lib/postgresql'],
    packages: ['postgresql'],
    without: 'runs on several machines are not tested',
    how: 'Debian: apt-get install postgresql',
  },
  redis: {
    what: 'Redis',
    names: ['redis-server'],
    packages: ['redis-server'],
    without: 'the queue of runs on Redis is not tested',
    how: 'Debian: apt-get install redis-server',
  },
  python: {
    what: 'Python 3',
    names: ['python3'],
    packages: ['python3'],
    without: 'scripts in Python cannot be run and are not tested',
    how: 'Debian: apt-get install python3',
  },
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isThere({ names, named }) {
  if (named) return isProgram(named)
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin'].filter(Boolean)
  return names.some((name) => (name.startsWith('/') ? isProgram(name) : folders.some((folder) => isProgram(join(folder, name)))))
}

function install({ what, packages }) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  process.stderr.write(`handrail: installing ${what} by apt-get (once)…\n`)
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=60', ...args], {
      stdio: ['ignore', 'ignore', 'ignore'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: 600_000,
    }).status === 0
  const put = () => packages.some((name) => apt('install', '-y', '--no-install-recommends', name))
  if (!put() && apt('update')) put()
}

/** Each by its name above. */
export function ensure(...names) {
  for (const one of names.map((name) => wanted[name])) {
    if (!isThere(one)) install(one)
    if (!isThere(one)) process.stderr.write(`handrail: ${one.what} was not found, so ${one.without}. ${one.how}.\n`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensure(...process.argv.slice(2))

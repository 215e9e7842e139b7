// Brings a clone to the point where Handrail runs: packages, then a build. Quick when there is nothing to do.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Runs a program with its output on our stderr; ends this process with a plain sentence where it fails. */
export function must(file, args, why, options = {}) {
  const { status, error } = spawnSync(file, args, { cwd: root, stdio: ['ignore', 2, 2], ...options })
  if (status === 0) return
  process.stderr.write(`\nhandrail: ${why}${error ? ` (${error.message})` : ''}\n`)
  process.exit(status ?? 1)
}

function newest(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((latest, entry) => {
    const path = join(folder, entry.name)
    return Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs)
  }, 0)
}

/** Packages are complete when npm's own record of them is at least as new as the lock file. */
function packagesAreThere() {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const have = JSON.parse(readFileSync(record, 'utf8')).packages
  return Object.entries(wanted).every(([name, entry]) => name === '' || entry.optional || have[name]?.version === entry.version)
}

export function buildIsFresh() {
  const built = join(root, 'dist', 'handrail.cjs')
  if (!existsSync(built)) return false
  const since = statSync(built).mtimeMs
  return (
    ['package.json', 'scripts/build.mjs', 'scripts/lean-sdk.mjs', 'bin/handrail.js'].every(
      (file) => statSync(join(root, file)).mtimeMs < since,
    ) && newest(join(root, 'src')) < since
  )
}

export function setup() {
  if (!packagesAreThere()) {
    process.stderr.write('handrail: installing packages (once)…\n')
    must(
      'npm',
      ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
      'npm could not install the packages. Is the npm registry reachable? Without network, copy node_modules from a machine that has them.',
    )
  }
  if (!buildIsFresh()) must(process.execPath, ['scripts/build.mjs'], 'the build failed; see above.')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup()

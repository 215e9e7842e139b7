// Puts the clients of clients.json into the git-ignored cache.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
export const repository = dirname(dirname(here))
export const known = JSON.parse(readFileSync(join(here, 'clients.json'), 'utf8'))

/** Where a client is and how it is started; or `{ missing }` with the reason it cannot be had. */
export function installed(name) {
  const { packages, start } = known[name]
  const folder = join(repository, '.cache', 'clients', name)
  const failure = isThere(folder, packages) ? undefined : install(folder, packages)
  if (failure) return { missing: failure }
  const bin = join(folder, 'node_modules', '.bin')
  if (!existsSync(join(bin, start))) return { missing: `its package has no program ${start}` }
  const [[main, wanted]] = Object.entries(packages)
  const version = versionIn(folder, main)
  return { program: join(bin, start), bin, version, ...(version !== wanted && { instead: `not ${wanted}, which cannot be had` }) }
}

/** The note of what was asked for is written last, so an installation that broke off does not count. */
const noteIn = (folder) => join(folder, 'asked-for.json')

function isThere(folder, packages) {
  const note = noteIn(folder)
  return existsSync(note) && readFileSync(note, 'utf8') === JSON.stringify(packages)
}

/** Exactly the versions named; where one does not exist any more, the newest before it, or else the newest of all. */
function install(folder, packages) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  process.stdout.write(`  installing ${Object.entries(packages).map(atVersion(exact)).join(' ')} (once)\n`)
  let failure
  for (const version of [exact, newestUpTo, newest]) {
    const { status, stderr, error } = npm(folder, Object.entries(packages).map(atVersion(version)))
    if (status === 0) {
      writeFileSync(noteIn(folder), JSON.stringify(packages))
      return undefined
    }
    failure = `npm could not install it: ${error?.message ?? reasonIn(stderr)}`
    if (!/ETARGET/.test(stderr)) break
  }
  return failure
}

const exact = (version) => version
const newestUpTo = (version) => `<=${version}`
const newest = () => 'latest'
const atVersion =
  (choose) =>
  ([name, version]) =>
    `${name}@${choose(version)}`

function npm(folder, wanted) {
  const quickly = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
  // Claude Code and Cline put their own program in place by an install script.
  const args = [
    'install',
    '--save-exact',
    '--ignore-scripts=false',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...quickly,
    ...wanted,
  ]
  return spawnSync('npm', args, { cwd: folder, encoding: 'utf8', timeout: 600_000 })
}

function versionIn(folder, pack) {
  return JSON.parse(readFileSync(join(folder, 'node_modules', pack, 'package.json'), 'utf8')).version
}

function reasonIn(stderr) {
  return stderr.match(/npm error code (\w+)/)?.[1] ?? stderr.trim().split('\n')[0] ?? 'no reason given'
}

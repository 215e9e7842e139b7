// `node scripts/lock.mjs`: writes package-lock.json anew and completes it. A registry that lacks the builds for other
// systems leaves them out of the lock, and `npm ci` then refuses; they are added by name, version, system and processor.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './setup.mjs'

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'aix', 'sunos', 'netbsd', 'openbsd']
const processors = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'wasm32', 'mips64el']

/** What a name such as `@x/binding-linux-arm-gnueabihf` says of where it runs. */
function placeOf(name) {
  const words = name.split('/').at(-1).split('-')
  const pick = (list) => list.filter((one) => words.some((word) => word === one))
  const [os, cpu] = [pick(systems), pick(processors)]
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : os[0] === 'linux' && words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : []
  return { ...(cpu.length && { cpu }), ...(libc.length && { libc }), ...(os.length && { os }) }
}

/** The packages folder a package stands in: where its neighbours are looked for. */
const folderOf = (path) => path.slice(0, path.lastIndexOf('node_modules/') + 'node_modules'.length)

function found(packages, from, name) {
  for (let at = from; ; at = dirname(at)) {
    const entry = packages[at === '.' || at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`]
    if (entry) return entry
    if (at === '.' || at === '') return undefined
  }
}

const temp = mkdtempSync(join(tmpdir(), 'handrail-lock-'))
cpSync(join(root, 'package.json'), join(temp, 'package.json'))
const { status } = spawnSync(
  'npm',
  ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
  { cwd: temp, stdio: 'inherit' },
)
if (status !== 0) process.exit(1)
const lock = JSON.parse(readFileSync(join(temp, 'package-lock.json'), 'utf8'))
rmSync(temp, { recursive: true })
// npm may leave in the lock what it tried on the way and then does not install.
for (const [path, entry] of Object.entries(lock.packages)) if (entry.extraneous) delete lock.packages[path]
let added = 0
for (const [path, entry] of Object.entries(lock.packages))
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (path === '' || found(lock.packages, path, name)?.version === version || !/^\d/.test(version)) continue
    lock.packages[`${folderOf(path)}/${name}`] ??= {
      version,
      ...placeOf(name),
      ...(entry.dev && { dev: true }),
      license: entry.license,
      optional: true,
    }
    added++
  }
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
for (const entry of Object.values(lock.packages)) delete entry.resolved
writeFileSync(join(root, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`)
process.stdout.write(`package-lock.json: ${Object.keys(lock.packages).length - 1} packages, ${added} completed\n`)

// `npm test`: sets up whatever is missing, then runs every test. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { root, setup } from './setup.mjs'
import { slowest } from './slowest.mjs'
import { ensure } from './system.mjs'

setup()
// What cannot be had is said there, and its tests are skipped.
spawnSync(process.execPath, [join(root, 'test', 'conformance', 'install.mjs')], { stdio: ['ignore', 2, 2] })
ensure('confinement', 'browser', 'python', 'database', 'redis')
// A run of some tests does not take the place of what is known of all.
const isWhole = process.argv.length === 2
const report = join(root, '.cache', isWhole ? 'tests.json' : 'some-tests.json')
rmSync(report, { force: true })
const memory = folderInMemory()
// Ctrl-C ends vitest, and then what it left in memory is cleared away.
process.on('SIGINT', () => undefined)
const { status } = spawnSync(join(root, 'node_modules', '.bin', 'vitest'), ['run', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    // Node 20 reads and parses all certificates at each of its starts where this names a file: 55 ms of the processor, some thousand times a run. A soak
    // installs packages of others.
    ...(!process.env.HANDRAIL_SOAK && { NODE_EXTRA_CA_CERTS: undefined }),
    npm_config_loglevel: 'error',
    HANDRAIL_TEST_REPORT: report,
    ...(memory && { HANDRAIL_TEST_MEMORY: memory }),
  },
})
if (memory) rmSync(memory, { recursive: true, force: true, maxRetries: 5 })
if (existsSync(report)) {
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  if (isWhole) process.stdout.write(`\nWhat cost most (node scripts/slowest.mjs):\n\n${slowest(report, 10)}\n`)
  process.stdout.write(failures(testResults))
  process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`)
}
// Some are on their way out.
let left = leftBehind()
for (let looks = 0; left.length && looks < 40; looks++) {
  await pause(500)
  left = leftBehind()
}
if (left.length) process.stderr.write(`handrail: these tests left processes behind, which is a fault:\n${left.join('\n')}\n`)
process.exit(left.length ? 1 : (status ?? 1))

/** What failed, once more and in few words: whoever reads only the end of a long log knows which tests, and why. */
function failures(files) {
  const short = (text) => (text ?? '').split('\n', 1)[0].slice(0, 300)
  const failed = files.flatMap(({ name, status, message, assertionResults }) => {
    const tests = assertionResults.filter((one) => one.status === 'failed')
    const whole = status === 'failed' && tests.length === 0 ? [`${short(message)}`] : []
    return [...whole, ...tests.map(({ fullName, failureMessages }) => `${fullName}\n    ${short(failureMessages?.[0])}`)].map(
      (says) => `  ${name.slice(root.length + 1)}: ${says}\n`,
    )
  })
  return failed.length ? `\nFailed:\n${failed.slice(0, 100).join('')}\n` : ''
}

/**
 * Where tests put their projects: in memory, where a flush costs nothing and most of what they would wait for is one. On the disk where
 * somebody says so with TMPDIR, in `npm run soak`, and where there is too little memory or nothing can be run from it.
 */
function folderInMemory() {
  if (process.env.TMPDIR || process.env.HANDRAIL_SOAK) return undefined
  let folder
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize < 4 * 2 ** 30) return undefined
    folder = mkdtempSync('/dev/shm/handrail-')
    // Some tests are run by two users.
    chmodSync(folder, 0o1777)
    writeFileSync(join(folder, 'runs'), '#!/bin/sh\n', { mode: 0o755 })
    if (spawnSync(join(folder, 'runs')).status === 0) return folder
  } catch {
    // The disk will do.
  }
  if (folder) rmSync(folder, { recursive: true, force: true })
  return undefined
}

/** Programs of this checkout whose parents are gone: whoever started them did not end them. */
function leftBehind() {
  const program = join(root, 'bin', 'handrail.js')
  const found = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  return found.flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]
      return parent === '1' && words.includes(program) ? [`${pid} ${words.join(' ')}`] : []
    } catch {
      return []
    }
  })
}

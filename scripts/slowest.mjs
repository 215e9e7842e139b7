// `node scripts/slowest.mjs [COUNT [REPORT]]`: the tests and the files that cost most in the last whole run; `npm test` ends with it too.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './setup.mjs'

/** In seconds of processor time; those of the clock, with a `c`, where tests share a process. Tables as CONTRIBUTING has one. */
export function slowest(report, count) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status !== 'skipped')
      .map(({ title, duration = 0, meta }) => ({
        file: name.slice(root.length + 1),
        says: title,
        isCounted: meta?.processorMs !== undefined,
        ms: meta?.processorMs ?? duration,
      })),
  )
  const files = new Map()
  for (const { file, isCounted, ms } of tests) {
    const known = files.get(file) ?? { file, count: 0, isCounted, ms: 0 }
    files.set(file, { ...known, count: known.count + 1, ms: known.ms + ms })
  }
  const whole = [...files.values()].map((one) => ({ ...one, says: `${one.count} tests` }))
  return `${table('test', tests, count)}\n\n${table('file', whole, count)}\n`
}

function table(what, found, count) {
  const most = found.toSorted((one, other) => other.ms - one.ms).slice(0, count)
  const rows = most.map(
    ({ file, says, isCounted, ms }) => `| ${(ms / 1_000).toFixed(1)}${isCounted ? '' : ' c'} | \`${file}\`: ${says} |`,
  )
  return [`| s | ${what} |`, '|---|---|', ...rows].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , count = '10', report = join(root, '.cache', 'tests.json')] = process.argv
  process.stdout.write(
    existsSync(report) ? slowest(report, Number(count)) : 'There is no report of a whole run: npm test makes one.\n',
  )
}

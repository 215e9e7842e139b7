import { createRequire } from 'node:module'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuMs, interleave } from './measure.mjs'
import { cleanEnv } from './servers.mjs'
import { row } from './table.mjs'

const require = createRequire(import.meta.url)
const library = (bench) => require(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))
const rounds = 5
const fileCount = 5_000

/** The index of a workspace of 5,000 sources: against reading and parsing them alone, and against itself when nothing has changed. */
export async function anchors(bench) {
  const project = join(bench.temp, 'anchors')
  const files = generate(project)
  const { parseSync } = await import('oxc-parser')
  const runtime = library(bench).openRuntime({ project, environment: cleanEnv(bench.temp) })
  const caller = { surface: 'cli', client: 'bench', session: 'bench', role: 'person' }
  runtime.openSession({ id: 'bench', surface: 'cli', client: 'bench' })
  const index = (factories) => runtime.call('anchor_index', { factories }, caller)
  // A factory that nobody has: nothing of what is known is found by it.
  const unknown = (round) => [{ kind: 'OtherDef', module: `no-such-module-${round}`, callee: 'make', id: '0', def: 1 }]
  try {
    // Both by processor time: what others do on the machine meanwhile is not ours.
    const spent = async (act) => {
      const before = cpuMs(process.pid)
      await act()
      return cpuMs(process.pid) - before
    }
    const warm = []
    const found = await interleave(rounds, {
      parsing: () =>
        spent(() => {
          for (const file of files) if (!parseSync(file, readFileSync(file, 'utf8')).program) throw new Error(file)
        }),
      first: async (round) => {
        const first = await spent(() => index(unknown(round)))
        warm.push(await spent(() => index(unknown(round))))
        return first
      },
    })
    return [
      row({
        part: 'anchors',
        what: 'index 5,000 sources',
        unit: 'ms cpu',
        ours: found.first,
        other: found.parsing,
        against: 'parsing',
        target: 1.5,
      }),
      row({
        part: 'anchors',
        what: '… again, unchanged',
        unit: 'ms cpu',
        ours: warm,
        other: found.first,
        against: 'first',
        target: 0.1,
      }),
    ]
  } finally {
    await runtime.close()
  }
}

/** Sources as projects have them: every one imports a library, every fourth defines something. */
function generate(project) {
  const body = Array.from(
    { length: 30 },
    (_, line) => `export function f${line}(a: number, b = ${line}): number {\n  return a * b + ${line}\n}\n`,
  ).join('')
  for (let folder = 0; folder < 50; folder++) {
    mkdirSync(join(project, 'src', `part-${folder}`), { recursive: true })
    for (let file = 0; file < fileCount / 50; file++) {
      const define =
        file % 4 === 0
          ? `export const useStore${file} = defineStore('store-${folder}-${file}', { state: () => ({ n: ${file} }) })\n`
          : ''
      writeFileSync(
        join(project, 'src', `part-${folder}`, `m${file}.ts`),
        `import { defineStore } from 'pinia'\n${define}${body}`,
      )
    }
  }
  const files = readdirSync(project, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(project, name))
  // Written a while ago, as far as anybody can tell: what is fresh is read again.
  for (const file of files) utimesSync(file, 1_700_000_000, 1_700_000_000)
  return files
}

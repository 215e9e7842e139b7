import { join } from 'node:path'
import { openRaw, using } from './clients.mjs'
import { interleave, medianOf, withCpu } from './measure.mjs'
import { smallProject } from './data.mjs'
import { flood } from './read.mjs'
import { copyProgram, ours, repository } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 31
const reads = 500

/**
 * What the audit costs a read. The same server is bundled twice: as it is, and without the end of a read's record, so that
 * no line is composed, hashed or written. The difference in processor time is the audit, locks and system calls included.
 */
export async function audit(bench) {
  const project = smallProject(bench.temp, 'audit')
  const loud = copyProgram(bench.temp, await bundle(bench, 'loud', false), 'with-audit')
  const mute = copyProgram(bench.temp, await bundle(bench, 'mute', true), 'without-audit')
  return using({ ours: [openRaw, ours(bench, project, loud)], other: [openRaw, ours(bench, project, mute)] }, async (clients) => [
    await compare(clients, 'one by one', (one) => medianOf(reads, one)),
    await compare(clients, '32 in flight', (one) => flood(reads, one)),
  ])
}

async function compare(clients, what, act) {
  const once = (who) => act(() => clients[who].call('read_file', { path: 'ten.txt' }))
  await interleave(3, { ours: () => once('ours'), other: () => once('other') })
  const { cpu } = await withCpu(rounds, clients, reads, once)
  const found = row({
    part: 'audit',
    what: `server CPU of a read, ${what}`,
    unit: 'ms',
    ...cpu,
    against: 'no audit',
    target: 1 / 0.9,
  })
  return { ...found, note: `${(100 * (1 - 1 / found.ratio)).toFixed(1)} % of a read is the audit (target 10 %, a ratio of 1.11)` }
}

/** Bundles the program as scripts/build.mjs does; with `mute`, one module is put in front of the real one. */
async function bundle(bench, name, mute) {
  const { rolldown } = await import('rolldown')
  const made = await rolldown({
    input: { handrail: join(repository, 'src/bin.ts') },
    platform: 'node',
    external: ['@photostructure/sqlite', '@vscode/ripgrep'],
    logLevel: 'warn',
    plugins: mute ? [instead('kernel/call-audit.ts', muteTrace)] : [],
  })
  const dir = join(bench.temp, `bundle-${name}`)
  await made.write({ dir, format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs', minify: true })
  await made.close()
  return dir
}

/** Serves `code` wherever the module at `path` is imported; the real one is at hand as `real:path`. */
function instead(path, code) {
  const real = join(repository, 'src', path)
  return {
    name: `instead of ${path}`,
    async resolveId(source, importer) {
      if (source === `real:${path}`) return real
      const found = await this.resolve(source, importer, { skipSelf: true })
      return found?.id === real ? `\0instead:${path}` : found
    },
    load: (id) => (id === `\0instead:${path}` ? code(`real:${path}`) : null),
  }
}

/** A record that is followed but, for a read, never composed and never handed to the audit. */
const muteTrace = (real) => `
  import { follow as begin } from '${real}'
  export * from '${real}'
  export const follow = (...parts) => Object.assign(Object.create(begin(...parts)), { end() {} })
`

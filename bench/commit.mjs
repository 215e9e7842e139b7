import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256, textOf } from './data.mjs'
import { interleave, timed } from './measure.mjs'
import { repository } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 7
const bytes = 2_048
const [modified, created, deleted] = [700, 200, 100]
const honest = 'ours keeps both states of every file, described, and is flushed before and after; all or nothing'

/** A thousand changed files through the journal, against writing them by hand, durably and not. */
export async function commit(bench) {
  const parts = await journalParts(dirname(dirname(bench.program)))
  const flat = { ours: [], durable: [], plain: [] }
  const contestant = (name, act) => async (round) => {
    const project = planted(bench.temp, `commit-${name}-${round}`)
    const change = act(project, round)
    flat[name].push(await timed(change))
    return project
  }
  const found = await interleave(rounds, {
    ours: contestant('ours', (project, round) => throughJournal(parts, project, round)),
    durable: contestant('durable', (project, round) => byHand(project, round, placeDurably)),
    plain: contestant('plain', (project, round) => byHand(project, round, writeFileSync)),
  })
  // Only now: a file system that freed many files a moment ago is slow to make new ones.
  for (const project of Object.values(found).flat()) rmSync(project, { recursive: true, force: true })
  const line = (what, other, against, more) => row({ part: 'commit', what, unit: 'ms', ours: flat.ours, other, against, ...more })
  return [
    line('commit 1,000 files, both states kept', flat.durable, 'temporary + fsync + rename each', { target: 3, note: honest }),
    line('… against writing them plainly', flat.plain, 'writeFileSync, nothing flushed'),
  ]
}

const pathOf = (index) => `src/part-${index % 20}/file-${index}.txt`
const change = { to: modified + deleted, all: modified + deleted + created }

/** The files that are there before, in a project of its own. */
function planted(temp, name) {
  const project = join(temp, name)
  for (let index = 0; index < 20; index++) mkdirSync(join(project, `src/part-${index}`), { recursive: true })
  for (let index = 0; index < change.to; index++) writeFileSync(join(project, pathOf(index)), textOf(bytes, index))
  return project
}

/** What a round does to each path: new content, or null where it goes. */
function contents(round) {
  return Array.from({ length: change.all }, (_, index) => {
    const goes = index >= modified && index < change.to
    return {
      path: pathOf(index),
      before: index < change.to ? textOf(bytes, index) : null,
      after: goes ? null : textOf(bytes, index + (round + 1) * 10_000),
    }
  })
}

function byHand(project, round, write) {
  const files = contents(round).map(({ path, after }) => ({
    path: join(project, path),
    after: after === null ? null : Buffer.from(after),
  }))
  return () => {
    for (const { path, after } of files)
      if (after === null) unlinkSync(path)
      else write(path, after)
  }
}

function placeDurably(path, content) {
  const temporary = `${path}.tmp`
  const fd = openSync(temporary, 'wx')
  writeSync(fd, content)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(temporary, path)
}

function throughJournal(parts, project, round) {
  const root = parts.openRoot(project)
  const state = parts.openStateFolder(`${project}-state`)
  const db = parts.openDatabase(state.file('handrail.db'), parts.schema, parts.schemaVersion)
  const snapshots = parts.openSnapshots(state.sub('snapshots'), db)
  const files = parts.judgedFiles(root, parts.pathRules([]), Number.MAX_SAFE_INTEGER)
  const journal = parts.openJournal({ root, files, snapshots, db, retention: 20, onDropped: () => undefined })
  const changes = contents(round).map(({ path, before, after }) => ({
    path,
    expect: before === null ? null : sha256(before),
    after: after === null ? null : () => Buffer.from(after),
    form: 'file',
  }))
  return () => journal.commit(changes, { call: `call_${round}`, session: 'bench', idempotencyKey: null })
}

/** The journal and what it stands on, as modules: nothing but a tree's worth of changes is to be measured. */
async function journalParts(home) {
  const { rolldown } = await import('rolldown')
  const names = [
    'host/database',
    'host/files',
    'host/paths',
    'host/state-folder',
    'host/walk',
    'stores/journal',
    'stores/schema',
    'stores/snapshots',
  ]
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name.replace('/', '-'), join(repository, 'src', `${name}.ts`)])),
    platform: 'node',
    external: ['@photostructure/sqlite'],
    logLevel: 'warn',
  })
  const dir = join(home, 'parts')
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  const modules = await Promise.all(names.map((name) => import(join(dir, `${name.replace('/', '-')}.mjs`))))
  return Object.assign({}, ...modules)
}

// A project with a long past. Written straight in the form the stores keep on disk, because a million calls would take an
// hour; `audit verify` and the tools themselves then judge whether it is accepted.
import { mkdirSync, writeFileSync, openSync, writeSync, closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { run } from './clients.mjs'
import { sha256 } from './data.mjs'
import { cleanEnv } from './servers.mjs'

const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite')
const genesis = '0'.repeat(64)

/** `paths` is a list of [path, number of states]; states of all paths alternate in time, in the order of the list. */
export async function projectWithPast(bench, name, { lines, timelines, onlyReads = false }) {
  const project = join(bench.temp, name)
  mkdirSync(project, { recursive: true })
  // One real command makes the folder, the schema and the first lines of state.
  const ours = (...args) =>
    run({ command: process.execPath, args: [bench.program, ...args, '--project', project], env: cleanEnv(bench.temp) }, true)
  await ours('sessions')
  const { text } = await ours('state', '--json')
  const state = JSON.parse(text).folder
  writeAudit(state, lines, onlyReads)
  writeSnapshots(project, state, timelines)
  return project
}

/** The chain: each line's hash covers its bytes up to the hash; the head file seals the last one (src/stores/audit.ts). */
function writeAudit(state, lines, onlyReads) {
  const file = openSync(join(state, 'audit.jsonl'), 'w', 0o600)
  const began = Date.now() - lines * 20
  let prev = genesis
  let end = 0
  let batch = []
  for (let seq = 1; seq <= lines; seq++) {
    const body = JSON.stringify({ seq, ...entry(onlyReads ? 0 : seq), at: new Date(began + seq * 20).toISOString(), prev })
    prev = sha256(body)
    batch.push(`${body.slice(0, -1)},"hash":"${prev}"}\n`)
    if (batch.length < 5_000 && seq < lines) continue
    end += writeSync(file, batch.join(''))
    batch = []
  }
  closeSync(file)
  const last = { seq: lines, hash: prev, end }
  writeFileSync(join(state, 'audit.head'), `${JSON.stringify({ sealed: last, intended: last }).padEnd(511)}\n`, { mode: 0o600 })
}

/** What a day's work leaves: mostly reads, now and then a write with its two lines. */
function entry(seq) {
  const path = `game/scene-${seq % 20}/part-${seq % 50}.txt`
  const who = {
    call: `call_${seq.toString(16).padStart(24, '0')}`,
    session: `sess_${(seq % 1_000).toString(16).padStart(16, '0')}`,
    surface: 'mcp-stdio',
    client: 'bench/1.0.0',
  }
  if (seq % 10 === 1)
    return {
      event: 'call.start',
      ...who,
      tool: 'write_to_file',
      risk: 'R1',
      input: { path, content: { bytes: 10_240, sha256: genesis }, dryRun: false },
      touches: [{ path, access: 'write' }],
      inputDigest: genesis,
    }
  if (seq % 10 === 2)
    return {
      event: 'call.end',
      ...who,
      tool: 'write_to_file',
      outcome: 'ok',
      snapshots: ['snap_20251101T093210_ab12cd34'],
      ms: 7.25,
    }
  return {
    event: 'call.read',
    ...who,
    tool: 'read_file',
    risk: 'R0',
    input: { path },
    touches: [{ path, access: 'read' }],
    outcome: 'ok',
    ms: 0.21,
  }
}

/** Rows and files of every state (src/stores/snapshots.ts), and the dry runs and sessions that go with them. */
function writeSnapshots(project, state, timelines) {
  const db = new DatabaseSync(join(state, 'handrail.db'))
  const insert = db.prepare(
    `INSERT INTO snapshots (id, path, ts, sha256, bytes, kind, call, session, idem_key, before_id, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'kept')`,
  )
  const rehearse = db.prepare(
    'INSERT OR IGNORE INTO rehearsals (session, tool, same_digest, state_digest, at) VALUES (?, ?, ?, ?, ?)',
  )
  const visit = db.prepare('INSERT OR IGNORE INTO sessions (id, surface, client, started_at, last_at) VALUES (?, ?, ?, ?, ?)')
  db.exec('BEGIN')
  const states = inTime(timelines)
  const began = Date.now() - 86_400_000 - states.length * 1_000
  const latest = new Map()
  mkdirSync(join(state, 'snapshots'), { recursive: true, mode: 0o700 })
  states.forEach((path, index) => {
    const snapshot = stateOf(path, index, began + index * 1_000, latest.get(path))
    const { id, timestamp, sha256: hash, bytes, kind, call, session, before, content } = snapshot
    keep(join(state, 'snapshots'), snapshot)
    insert.run(id, path, timestamp, hash, bytes, kind, call, session, null, before)
    if (session) rehearse.run(session, 'write_to_file', hash, hash, timestamp)
    if (session) visit.run(session, 'mcp-stdio', 'bench/1.0.0', timestamp, timestamp)
    latest.set(path, { id, content })
  })
  db.exec('COMMIT')
  db.close()
  for (const [path, { content }] of latest) {
    mkdirSync(join(project, path, '..'), { recursive: true })
    writeFileSync(join(project, path), content)
  }
}

/** The order in which states came to be: group after group, and within a group round after round over its paths. */
function inTime(groups) {
  return groups.flatMap(({ paths, states }) => Array.from({ length: states }, () => paths).flat())
}

function stateOf(path, index, timestamp, before) {
  const content = `state ${index} of ${path}\n`
  const clock = new Date(timestamp).toISOString().replace(/[-:]|\.\d+Z$/g, '')
  const first = before === undefined
  return {
    id: `snap_${clock}_${index.toString(16).padStart(8, '0')}`,
    path,
    timestamp,
    sha256: sha256(content),
    bytes: content.length,
    kind: first ? 'baseline' : 'write',
    call: first ? null : `call_${index.toString(16).padStart(24, '0')}`,
    session: first ? null : `sess_${(index % 1_000).toString(16).padStart(16, '0')}`,
    before: before?.id ?? null,
    content,
  }
}

function keep(folder, { content, ...snapshot }) {
  const { id, path, timestamp, sha256: hash, bytes, kind, call, session, before } = snapshot
  writeFileSync(join(folder, `${id}.txt`), content, { mode: 0o600 })
  writeFileSync(
    join(folder, `${id}.meta.json`),
    JSON.stringify({ id, path, timestamp, contentHash: hash.slice(0, 8), sha256: hash, bytes, kind, call, session, before }),
    { mode: 0o600 },
  )
}

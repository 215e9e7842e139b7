import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'
import { runInside } from '../support/inside.ts'
import { isSoak, sweep } from '../support/soak.ts'
import {
  counterFile,
  counterIn,
  dice,
  filesUnder,
  Lane,
  Ledger,
  type Server,
  serverOf,
  sha256,
  startStdio,
  tally,
  Writer,
} from '../support/writers.ts'

const many = ['--snapshot-retention', '1000000']

async function startHttp(project: string, args: string[]): Promise<Server> {
  const child = spawn(process.execPath, [program, 'serve', '--project', project, '--port', '0', '--json', ...args], {
    env: cleanEnv(dirname(project)),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const gone = once(child, 'close').then(() => undefined)
  const first = await Promise.race([once(createInterface(child.stdout), 'line').then(([line]) => String(line)), gone])
  if (first === undefined) throw new Error(`handrail serve did not start: ${said}`)
  const { url, tokenFile } = JSON.parse(first) as { url: string; tokenFile: string }
  const headers = { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` }
  const client = new Client({ name: 'crash-http', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return serverOf(
    client,
    child.pid ?? 0,
    () => said,
    gone,
    async () => {
      await client.close().catch(() => undefined)
      child.kill('SIGTERM')
      await gone
    },
  )
}

/** Resolves at the moment a name in a folder is made, moved or changed. */
function movedInto(folder: string, fits: (name: string) => boolean, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      watcher.close()
      resolve()
    }
    const watcher = watch(folder, (_, name) => {
      if (name !== null && fits(name)) done()
    })
    // Who writes no more moves nothing: whoever still waits for that would wait for ever.
    if (over.aborted) done()
    over.addEventListener('abort', done, { once: true })
  })
}

/** Processes of this machine that were started on this project. */
function processesOn(project: string): string[] {
  if (!existsSync('/proc/self/cmdline')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return words.includes(project) ? [`${pid} ${words}`] : []
      } catch {
        return []
      }
    })
}

/** Files whose content nobody tried to write, or that lost what was acknowledged last on a file with one writer. */
function wrongFiles(world: World, ledger: Ledger): string[] {
  return [...ledger.whole].flatMap(([path, attempts]) => {
    if (!existsSync(world.path(path)))
      return attempts.some((one) => one.state === 'acked') ? [`${path}: acknowledged and not there`] : []
    const found = world.read(path)
    const at = attempts.findLastIndex((one) => one.text === found)
    if (at < 0) return [`${path}: holds what nobody wrote (torn?): ${JSON.stringify(found.slice(0, 80))}`]
    if (attempts[at]?.state === 'refused') return [`${path}: holds what was refused`]
    const shared = path.startsWith('shared/')
    return !shared && attempts.slice(at + 1).some((one) => one.state === 'acked')
      ? [`${path}: a later acknowledged write is lost`]
      : []
  })
}

function wrongChunks(world: World, ledger: Ledger): string[] {
  return [...ledger.chunks].flatMap(([path, attempts]) => {
    const found = existsSync(world.path(path)) ? world.read(path) : ''
    const times = new Map<string, number>()
    for (const line of found.split('\n').slice(0, -1)) times.set(`${line}\n`, (times.get(`${line}\n`) ?? 0) + 1)
    const known = new Set(attempts.map((one) => one.text))
    return [
      ...(found === '' || found.endsWith('\n') ? [] : [`${path}: the last chunk is torn`]),
      ...[...times.keys()]
        .filter((text) => !known.has(text))
        .map((text) => `${path}: holds a torn chunk ${JSON.stringify(text)}`),
      ...attempts.flatMap(({ text, state }) => {
        const count = times.get(text) ?? 0
        const good = state === 'acked' ? count === 1 : state === 'refused' ? count === 0 : count <= 1
        return good ? [] : [`${path}: ${state} chunk stands ${count} times: ${JSON.stringify(text)}`]
      }),
    ]
  })
}

function wrongCounters(world: World, ledger: Ledger): string[] {
  const text = world.read(counterFile)
  return [...ledger.counters].flatMap(([id, { sure, maybe }]) => {
    const found = counterIn(text, id)
    return found === sure || found === maybe ? [] : [`${id} counts ${found}, acknowledged were ${sure}`]
  })
}

/** The newest kept state of every path must be what lies on the disk; every kept state must hold its content. */
function wrongSnapshots(world: World, ledger: Ledger): string[] {
  const kept = world.runtime.snapshots(1_000_000, '')
  const ids = new Set(kept.map((one) => one.id))
  const folder = world.state('snapshots')
  const hashes = new Map<string, string>()
  const seen = new Set<string>()
  return [
    ...ledger.acked
      .filter((one) => one.snapshot !== undefined && !ids.has(one.snapshot))
      .map((one) => `${one.path}: ${one.snapshot} was acknowledged and is not kept`),
    ...kept.flatMap((one) => {
      const wrong: string[] = []
      const file = join(folder, `${one.id}.txt`)
      if (!existsSync(file)) return [`${one.id} has no content`]
      const hash = hashes.get(one.id) ?? sha256(readFileSync(file))
      hashes.set(one.id, hash)
      if (hash !== one.sha256) wrong.push(`${one.id}: its content is not what it says`)
      if (!seen.has(one.path) && sha256(readFileSync(world.path(one.path))) !== one.sha256)
        wrong.push(`${one.path}: the newest state is not what is on disk`)
      seen.add(one.path)
      return wrong
    }),
  ]
}

function wrongLines(lines: readonly AuditLine[], ledger: Ledger): string[] {
  const starts = new Set(lines.filter((line) => line.event === 'call.start').map((line) => line.call))
  const ends = new Map(lines.filter((line) => line.event === 'call.end').map((line) => [line.call, line]))
  return ledger.acked.flatMap(({ call, path, snapshot, keyed }) => {
    const end = ends.get(call)
    if (!end) return [`${path}: ${call} was acknowledged and has no end line`]
    // A key that was answered before is not carried out again, so it starts nothing.
    if (keyed && end.outcome === 'replayed') return []
    if (!starts.has(call)) return [`${path}: ${call} has no start line`]
    if (end.outcome !== 'ok') return [`${path}: ${call} was acknowledged and ended as ${end.outcome}`]
    return snapshot === undefined || end.snapshots?.includes(snapshot)
      ? []
      : [`${path}: the end line of ${call} does not name ${snapshot}`]
  })
}

test(
  'many writes by three processes that are killed again and again lose nothing and tear nothing (soak: 10,000)',
  { timeout: 600_000 },
  async () => {
    const lanesEach = 4
    const total = sweep(10_000, 60)
    const killsInTurn = sweep(15, 3)
    // All of them at once, after those that are killed in turn: in a soak.
    const killsOfAll = sweep(1, 0)
    const names = ['a', 'b', 'h']
    const counters = names.flatMap((name) => Array.from({ length: lanesEach }, (_, lane) => `${name}${lane}=0;\n`)).join('')
    await using world = await openWorld({ files: { [counterFile]: counters }, flags: { 'snapshot-retention': '1000000' } })
    mkdirSync(world.path('own'))
    const began = performance.now()
    const ledger = new Ledger()
    const bare = [...many, '--write-requires-diff', 'false']
    const writers = [
      new Writer('a', false, () => startStdio(world.project, bare)),
      new Writer('b', true, () => startStdio(world.project, many)),
      new Writer('h', false, () => startHttp(world.project, bare)),
    ]
    const roll = dice(7)
    let killing: Promise<unknown> = Promise.resolve()
    const over = new AbortController()
    let strokes = 0
    const strike = (): void => {
      const due = Math.floor((ledger.jobs / total) * (killsInTurn + killsOfAll + 1))
      while (strokes < Math.min(due, killsInTurn + killsOfAll)) {
        const stroke = strokes++
        const victims = stroke === killsInTurn ? writers : [writers[stroke % writers.length] as Writer]
        // By turns at any moment, and right after one of its files was moved into place.
        const moment = (victim: Writer) =>
          stroke % 2 ? pause(roll(12)) : movedInto(world.path('own'), (name) => name.startsWith(victim.name), over.signal)
        killing = killing.then(() => Promise.all(victims.map((victim) => victim.kill(() => moment(victim)))))
      }
    }
    try {
      await Promise.all(
        writers.flatMap((writer) =>
          Array.from({ length: lanesEach }, async (_, number) => {
            const lane = new Lane(writer, number, ledger, world.project)
            while (ledger.jobs < total && !ledger.over) {
              ledger.jobs++
              strike()
              await lane.job()
            }
          }),
        ),
      )
      over.abort()
      await killing
    } finally {
      ledger.over = true
      await Promise.allSettled(writers.map((writer) => writer.stop()))
    }
    const seconds = (performance.now() - began) / 1000

    const runAnew = isSoak ? runCli : runInside
    const after = await runAnew(world.project, [
      'call',
      'write_to_file',
      JSON.stringify({ path: 'after.txt', content: 'after\n', dryRun: false }),
      ...bare,
    ])
    const verified = await runAnew(world.project, ['audit', 'verify'])
    const lines = [...world.runtime.audit.lines()]
    const conflicts = ledger.errors.get('E_CONFLICT') ?? 0
    const kept = new Set(world.runtime.snapshots(1_000_000, '').map((one) => one.id))
    const orphans = readdirSync(world.state('snapshots')).filter((name) => !kept.has(name.split('.')[0] as string))
    console.log(
      `crash: ${ledger.jobs} writes in ${seconds.toFixed(0)} s (${(ledger.jobs / seconds).toFixed(0)}/s), ${ledger.acked.length} acknowledged, ` +
        `${conflicts} conflicts, ${ledger.unknown} unanswered (${ledger.retried} asked again by key), ` +
        `${writers.map((writer) => writer.kills).join('+')} kills, ${kept.size} snapshots, ${lines.length} audit lines, ` +
        `${lines.filter((line) => line.event === 'recovered').length} recoveries, ${orphans.length} orphaned snapshot files`,
    )

    expect.soft(after, 'a new process can write').toMatchObject({ code: 0 })
    expect.soft(tally(writers.flatMap((writer) => writer.failedStarts)), 'every start succeeds').toEqual([])
    expect
      .soft(
        writers.flatMap((writer) => writer.ownDeaths),
        'no process dies on its own',
      )
      .toEqual([])
    expect.soft(writers.map((writer) => writer.kills)).toEqual(names.map(() => killsInTurn / names.length + killsOfAll))
    expect.soft(ledger.jobs).toBe(total)
    expect.soft(ledger.unknown, 'some kill hit a call').toBeGreaterThan(0)
    expect.soft(tally(ledger.faults), 'no error but E_CONFLICT').toEqual([])
    expect.soft(conflicts, 'conflicts are a small minority').toBeLessThan(total * 0.05)
    expect.soft(wrongFiles(world, ledger), 'files').toEqual([])
    expect.soft(wrongChunks(world, ledger), 'chunks').toEqual([])
    expect.soft(wrongCounters(world, ledger), 'counters').toEqual([])
    expect.soft(wrongSnapshots(world, ledger), 'snapshots').toEqual([])
    expect.soft(wrongLines(lines, ledger), 'audit lines').toEqual([])
    expect.soft(verified, 'audit verify').toMatchObject({ code: 0 })
    expect
      .soft(
        filesUnder(world.project).filter((name) => name.endsWith('.tmp')),
        'temporary files',
      )
      .toEqual([])
    expect.soft(processesOn(world.project), 'processes').toEqual([])
  },
)

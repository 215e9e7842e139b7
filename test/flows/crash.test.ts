import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { ErrorBody } from '../../src/contracts/errors.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'
import { sweep } from '../support/soak.ts'

/** What a call came to: an answer with its call id, the contract's error, or nothing because the process died first. */
type Answer =
  | { kind: 'done'; call: string; output: Record<string, unknown> }
  | { kind: 'refused'; error: ErrorBody['error'] }
  | { kind: 'unknown' }

interface Server {
  readonly pid: number
  /** What it wrote to stderr so far. */
  said(): string
  readonly gone: Promise<void>
  call(tool: string, input: Record<string, unknown>): Promise<Answer>
  stop(): Promise<void>
}

const many = ['--snapshot-retention', '1000000']

/** A connected client and the process behind it: a call the process does not live to answer is `unknown`. */
function serverOf(client: Client, pid: number, said: () => string, gone: Promise<void>, stop: () => Promise<void>): Server {
  let dead = false
  void gone.then(() => (dead = true))
  return {
    pid,
    said,
    gone,
    async call(tool, input) {
      if (dead) return { kind: 'unknown' }
      try {
        const result = await Promise.race([client.callTool({ name: tool, arguments: input }), gone.then(() => undefined)])
        if (!result) return { kind: 'unknown' }
        if (!result.isError)
          return {
            kind: 'done',
            call: String(result._meta?.['handrail/call']),
            output: result.structuredContent as Record<string, unknown>,
          }
        const [first] = result.content as { text: string }[]
        return { kind: 'refused', error: (JSON.parse(first?.text ?? '{}') as ErrorBody).error }
      } catch (cause) {
        if (await Promise.race([gone.then(() => true), pause(10_000, false)])) return { kind: 'unknown' }
        throw new Error(`a call failed although its server lives: ${String(cause)}`, { cause })
      }
    },
    stop,
  }
}

async function startStdio(project: string, args: string[]): Promise<Server> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', '--project', project, ...args],
    env: cleanEnv(dirname(project)),
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const client = new Client({ name: 'crash-stdio', version: '1.0.0' })
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no event target
  const gone = new Promise<void>((resolve) => (client.onclose = resolve))
  try {
    await client.connect(transport)
  } catch (cause) {
    throw new Error(`handrail mcp did not start: ${said || String(cause)}`, { cause })
  }
  return serverOf(
    client,
    transport.pid ?? 0,
    () => said,
    gone,
    () => client.close(),
  )
}

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

/** One of the three ways in, with whatever process stands behind it at the moment. */
class Writer {
  readonly name: string
  readonly dryRuns: boolean
  readonly pids: number[] = []
  readonly failedStarts: string[] = []
  readonly ownDeaths: string[] = []
  kills = 0
  now: Promise<Server>
  private readonly start: () => Promise<Server>
  private expected = false

  constructor(name: string, dryRuns: boolean, start: () => Promise<Server>) {
    this.name = name
    this.dryRuns = dryRuns
    this.start = start
    this.now = this.begin()
  }

  private async begin(): Promise<Server> {
    for (;;) {
      try {
        const server = await this.start()
        this.pids.push(server.pid)
        this.expected = false
        void server.gone.then(() => this.buried(server))
        return server
      } catch (cause) {
        this.failedStarts.push((cause as Error).message)
        if (this.failedStarts.length >= 200) throw cause
      }
    }
  }

  /** A process that went without being killed or stopped is a fault; the others go on all the same. */
  private buried(server: Server): void {
    if (this.expected) return
    this.ownDeaths.push(`${this.name} (${server.pid}) died on its own: ${server.said()}`)
    this.now = this.begin()
  }

  /** kill -9 when the moment has come, and a new process at once. */
  async kill(moment: () => Promise<unknown>): Promise<void> {
    const server = await this.now
    await moment()
    this.kills++
    this.expected = true
    process.kill(server.pid, 'SIGKILL')
    this.now = server.gone.then(() => this.begin())
    await this.now
  }

  async stop(): Promise<void> {
    const server = await this.now
    this.expected = true
    await server.stop()
    await server.gone
  }
}

type State = 'acked' | 'refused' | 'unknown'

interface Attempt {
  text: string
  state: State
}

/** What the writers tried and what they were told, to be held against the disk at the end. */
class Ledger {
  readonly whole = new Map<string, Attempt[]>()
  readonly chunks = new Map<string, Attempt[]>()
  readonly counters = new Map<string, { sure: number; maybe: number }>()
  readonly acked: { call: string; path: string; snapshot: string | undefined; keyed: boolean }[] = []
  readonly errors = new Map<string, number>()
  readonly faults: string[] = []
  jobs = 0
  unknown = 0
  retried = 0
  /** Set when the test ends, however it ends. */
  over = false

  attempt(of: 'whole' | 'chunks', path: string, text: string): Attempt {
    const attempt: Attempt = { text, state: 'unknown' }
    this[of].set(path, [...(this[of].get(path) ?? []), attempt])
    return attempt
  }

  settle(attempt: Attempt | undefined, path: string, keyed: boolean, answer: Answer): void {
    if (answer.kind === 'unknown') this.unknown++
    if (answer.kind === 'refused') {
      this.errors.set(answer.error.code, (this.errors.get(answer.error.code) ?? 0) + 1)
      if (answer.error.code !== 'E_CONFLICT') this.faults.push(`${answer.error.code} ${answer.error.message}`)
    }
    if (answer.kind === 'done')
      this.acked.push({ call: answer.call, path, snapshot: answer.output['snapshotId'] as string | undefined, keyed })
    if (attempt) attempt.state = answer.kind === 'done' ? 'acked' : answer.kind
  }
}

/** Numbers that look random and are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const counterFile = 'shared/counters.txt'

/** One lane of one writer: its jobs one after the other, so that the order on its own files is known. */
class Lane {
  readonly id: string
  private readonly writer: Writer
  private readonly ledger: Ledger
  private readonly roll: (below: number) => number
  private readonly project: string
  private count = 0

  constructor(writer: Writer, number: number, ledger: Ledger, project: string) {
    this.writer = writer
    this.ledger = ledger
    this.project = project
    this.id = `${writer.name}${number}`
    this.roll = dice(writer.name.charCodeAt(0) * 97 + number)
    ledger.counters.set(this.id, { sure: 0, maybe: 0 })
  }

  async job(): Promise<void> {
    const n = ++this.count
    const kind = this.roll(100)
    // Dry runs on files that everybody writes end in conflicts by nature, so that writer goes there rarely.
    const shared = this.writer.dryRuns ? 3 : 12
    if (kind < shared) await this.overwrite(`shared/over-${this.roll(4)}.txt`, n, this.roll(2) === 0)
    else if (kind < 2 * shared) await this.append(`shared/append-${this.roll(3)}.txt`, n, this.roll(3) > 0)
    else if (kind < 38) await this.replace(n)
    else if (kind < 55) await this.overwrite(`made/${this.id}/${n % 7}/${n}.txt`, n, false)
    else if (kind < 70) await this.append(`own/${this.id}-log-${this.roll(2)}.txt`, n, this.roll(2) === 0)
    else await this.overwrite(`own/${this.id}-${this.roll(6)}.txt`, n, this.roll(4) === 0)
  }

  private async overwrite(path: string, n: number, keyed: boolean): Promise<void> {
    const filler = `${this.id} line of ${n}\n`.repeat(this.roll(20) === 0 ? 800 : 1 + this.roll(12))
    const content = `begin ${path} ${this.id} ${n}\n${filler}end ${this.id} ${n}\n`
    const attempt = this.ledger.attempt('whole', path, content)
    await this.write(attempt, { path, content, mode: 'overwrite' }, keyed)
  }

  private async append(path: string, n: number, keyed: boolean): Promise<void> {
    const text = `<${this.id} ${n} ${'.'.repeat(this.roll(60))} ${this.id} ${n}>\n`
    const attempt = this.ledger.attempt('chunks', path, text)
    await this.write(attempt, { path, content: text, mode: 'append' }, keyed)
  }

  /** A key makes it safe to ask again when the process died before it answered. */
  private async write(attempt: Attempt, input: { path: string; content: string; mode: string }, keyed: boolean): Promise<void> {
    const key = keyed ? { idempotencyKey: randomUUID() } : {}
    while (!this.ledger.over) {
      const server = await this.writer.now
      if (this.writer.dryRuns) {
        const seen = await server.call('write_to_file', { ...input, dryRun: true })
        if (seen.kind === 'unknown') {
          await nextTurn()
          continue
        }
        if (seen.kind === 'refused') return this.ledger.settle(attempt, input.path, keyed, seen)
      }
      const answer = await server.call('write_to_file', { ...input, ...key, dryRun: false })
      this.ledger.settle(attempt, input.path, keyed, answer)
      if (answer.kind !== 'unknown' || !keyed) return
      this.ledger.retried++
      await nextTurn()
    }
  }

  /** Counts this lane's line of a file that all lanes count in. */
  private async replace(n: number): Promise<void> {
    const counter = this.ledger.counters.get(this.id) as { sure: number; maybe: number }
    if (counter.maybe !== counter.sure) counter.sure = counter.maybe = this.counted()
    const to = counter.sure + 1
    counter.maybe = to
    const server = await this.writer.now
    const answer = await server.call('replace_in_file', {
      path: counterFile,
      find: `${this.id}=${counter.sure};`,
      replace: `${this.id}=${to};`,
    })
    this.ledger.settle(undefined, counterFile, false, answer)
    if (answer.kind === 'unknown') return
    if (answer.kind === 'done' && answer.output['count'] !== 1)
      this.ledger.faults.push(`${this.id} ${n}: a counted step was lost`)
    counter.sure = counter.maybe = answer.kind === 'done' ? to : counter.sure
  }

  private counted(): number {
    return counterIn(readFileSync(join(this.project, counterFile), 'utf8'), this.id)
  }
}

function counterIn(text: string, id: string): number {
  return Number(new RegExp(`^${id}=(\\d+);$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** The same words once, with how often they were said. */
function tally(words: readonly string[]): string[] {
  const times = new Map<string, number>()
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1)
  return [...times].slice(0, 5).map(([word, count]) => `${count} × ${word.slice(0, 400)}`)
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
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
    const total = sweep(10_000, 1_200)
    const killsInTurn = 15
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
      const due = Math.floor((ledger.jobs / total) * (killsInTurn + 2))
      while (strokes < Math.min(due, killsInTurn + 1)) {
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

    const after = await runCli(world.project, [
      'call',
      'write_to_file',
      JSON.stringify({ path: 'after.txt', content: 'after\n', dryRun: false }),
      ...bare,
    ])
    const verified = await runCli(world.project, ['audit', 'verify'])
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
    expect.soft(writers.map((writer) => writer.kills)).toEqual([6, 6, 6])
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

/** Kills a process the moment a name in a folder is made, moved or changed. */
function killWhen(pid: number, folder: string, fits: (name: string) => boolean): Disposable {
  const watcher = watch(folder, (_, name) => {
    if (name === null || !fits(name)) return
    watcher.close()
    process.kill(pid, 'SIGKILL')
  })
  return { [Symbol.dispose]: () => watcher.close() }
}

const plainly = ['--write-requires-diff', 'false']

/** Makes a write and kills its server the moment a name appears in the project. */
async function writeKilledAt(world: World, fits: (name: string) => boolean, input: Record<string, unknown>): Promise<Answer> {
  const server = await startStdio(world.project, plainly)
  // The first write of a process is slower than the rest; the second one is the one to hit.
  await server.call('write_to_file', { path: 'warm.txt', content: `${server.pid}\n`, dryRun: false })
  using _ = killWhen(server.pid, world.project, fits)
  const answer = await server.call('write_to_file', { dryRun: false, ...input })
  if (answer.kind !== 'unknown') await server.stop()
  await server.gone
  return answer
}

/** A write by a new process, which takes the lock and so puts right what a killed one left. */
async function writeAnew(world: World, input: Record<string, unknown>): Promise<Answer> {
  const server = await startStdio(world.project, plainly)
  try {
    return await server.call('write_to_file', { dryRun: false, ...input })
  } finally {
    await server.stop()
    await server.gone
  }
}

const rounds = 5

interface Moment {
  when: string
  at: (name: string) => boolean
  landed: boolean
}

/** Where a kill hits a write: while its temporary file is written, and when it has been moved into place. */
const half: Moment = { when: 'before it landed', at: (name) => name.startsWith('.handrail-'), landed: false }
const done: Moment = { when: 'after it landed', at: (name) => name === 'log.txt', landed: true }

/** Large enough that it takes a while to write it again. */
const longLog = `${'x'.repeat(1_000_000)}\n`.repeat(3)

/** Appends with a key by a server that is killed on the way, and asks again: each chunk must be there once. */
async function appendOverKills(
  world: World,
  moment: Moment,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  let hits = 0
  for (let round = 0; round < rounds; round++) {
    const input = { path: 'log.txt', content: `chunk ${round}\n`, mode: 'append', idempotencyKey: `round-${round}` }
    const first = await writeKilledAt(world, moment.at, input)
    if (first.kind === 'unknown' && world.read('log.txt').includes(input.content) === moment.landed) hits++
    await between()
    expect(await writeAnew(world, input)).toMatchObject({ kind: 'done', output: { applied: true } })
    expect(world.read('log.txt').split(input.content), `chunk ${round} is there once`).toHaveLength(2)
  }
  expect(hits, `some kill came ${moment.when}`).toBeGreaterThan(0)
}

test.for([half, done])(
  'a keyed append whose server was killed $when is there once when it is asked again',
  { timeout: 300_000 },
  async (moment) => {
    await using world = await openWorld({ files: { 'log.txt': longLog } })
    await appendOverKills(world, moment)
  },
)

test('what a killed write left is put right alike by a process with narrower rules', { timeout: 300_000 }, async () => {
  await using world = await openWorld({ files: { 'log.txt': longLog, 'game/a.txt': '' } })
  const narrow = [...plainly, '--sandbox-root', 'game', '--forbidden-dirs', 'log.txt', '--max-read-bytes', '100']
  const input = JSON.stringify({ path: 'game/a.txt', content: 'narrow\n', dryRun: false })
  await appendOverKills(world, done, async () => {
    expect(await runCli(world.project, ['call', 'write_to_file', input, ...narrow])).toMatchObject({ code: 0 })
  })
  const [newest] = world.runtime.snapshots(1, 'log.txt')
  expect(newest?.sha256).toBe(sha256(world.read('log.txt')))
})

/** Large enough that writing it takes a while, in few lines. */
const large = (word: string): string => `${word.repeat(100_000).slice(0, 400_000)}\n`.repeat(8)

test(
  'what a write left that was killed half way is swept by the next process, and the file is as before',
  { timeout: 300_000 },
  async () => {
    await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
    let left = 0
    for (let round = 0; round < rounds; round++) {
      const before = world.read('big.txt')
      const content = large(`round ${round} `)
      const answer = await writeKilledAt(world, (name) => name.startsWith('.handrail-'), { path: 'big.txt', content })
      left += readdirSync(world.project).filter((name) => name.endsWith('.tmp')).length
      expect([before, content].includes(world.read('big.txt')), 'the old content or the new one').toBe(true)
      if (answer.kind === 'done') expect(world.read('big.txt')).toBe(content)
      expect((await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).kind).toBe('done')
      expect(filesUnder(world.project).filter((name) => name.endsWith('.tmp'))).toEqual([])
      const [newest] = world.runtime.snapshots(1, 'big.txt')
      if (newest) expect(newest.sha256).toBe(sha256(world.read('big.txt')))
    }
    expect(left, 'some kill left a temporary file').toBeGreaterThan(0)
    const recovered = [...world.runtime.audit.lines()].filter((line) => line.event === 'recovered' && line.snapshots)
    expect(recovered.length, 'what was put right is in the audit').toBeGreaterThan(0)
    expect(world.runtime.audit.verify().whole).toBe(true)
  },
)

test.for(['a folder', 'a link', 'a larger file'])(
  'a write killed half way to a file that is %s by then does not stop all other writes',
  { timeout: 300_000 },
  async (became) => {
    await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
    let left = 0
    for (let round = 0; round < rounds && left === 0; round++) {
      await writeKilledAt(world, (name) => name.startsWith('.handrail-'), { path: 'big.txt', content: large(`round ${round} `) })
      left += readdirSync(world.project).filter((name) => name.endsWith('.tmp')).length
    }
    expect(left, 'some kill left a write half way').toBeGreaterThan(0)
    rmSync(world.path('big.txt'))
    if (became === 'a folder') mkdirSync(world.path('big.txt'))
    else if (became === 'a link') symlinkSync(world.base, world.path('big.txt'))
    else world.write('big.txt', Buffer.alloc(6_000_000, 'x'))
    const answer = await writeAnew(world, { path: 'other.txt', content: 'other\n' })
    expect(answer).toMatchObject({ kind: 'done', output: { applied: true } })
    expect(world.read('other.txt')).toBe('other\n')
  },
)

test(
  'an undo of many files that is killed in the middle is finished or taken back, and counts as what it became',
  { timeout: 300_000 },
  async () => {
    const names = Array.from({ length: 16 }, (_, index) => `f-${String(index).padStart(2, '0')}.txt`)
    await using world = await openWorld({ files: Object.fromEntries(names.map((name) => [name, `old ${name}\n`])) })
    const contents = (): string[] => names.map((name) => world.read(name))
    let hits = 0
    for (let round = 0; round < rounds; round++) {
      const session = `sess_round${round}`
      const olds = contents()
      for (const path of names) {
        await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: true }, { session })
        await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: false }, { session })
      }
      const news = contents()
      const child = spawn(process.execPath, [program, 'undo', '--session', session, '--yes', '--project', world.project], {
        env: cleanEnv(world.base),
        stdio: 'ignore',
      })
      using _ = killWhen(child.pid ?? 0, world.project, (name) => name === names[3])
      await once(child, 'close')
      const mixed = contents().some((text) => olds.includes(text)) && contents().some((text) => news.includes(text))
      if (mixed) hits++
      expect((await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).kind).toBe('done')
      const now = contents()
      expect([olds, news], 'all files or none').toContainEqual(now)
      const again = await runCli(world.project, ['undo', '--session', session, '--yes'])
      if (now[0] === olds[0])
        expect(again, 'it is undone, so there is nothing left to undo').toMatchObject({
          code: 1,
          err: expect.stringContaining('Nothing to undo') as string,
        })
      else expect(again).toMatchObject({ code: 0 })
      expect(contents()).toEqual(olds)
    }
    expect(hits, 'some kill came between two files').toBeGreaterThan(0)
  },
)

test('processes that start at once on a new project all work', { timeout: 300_000 }, async () => {
  for (let round = 0; round < 3; round++) {
    await using world = await openWorld()
    const project = world.path(`fresh-${round}`)
    mkdirSync(project)
    const write = (name: string) =>
      runCli(project, ['call', 'write_to_file', JSON.stringify({ path: name, content: `${name}\n`, dryRun: false }), ...plainly])
    const names = Array.from({ length: 8 }, (_, index) => `f${index}.txt`)
    const ends = await Promise.all(names.map(write))
    expect(tally(ends.filter((end) => end.code !== 0).map((end) => end.err))).toEqual([])
    expect(names.map((name) => readFileSync(join(project, name), 'utf8'))).toEqual(names.map((name) => `${name}\n`))
    expect(await runCli(project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  }
})

import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import { cleanEnv, program } from './world.ts'
import { patienceMs } from './patience.ts'

/** What a call came to: an answer with its call id, the contract's error, or nothing because the process died first. */
export type Answer =
  | { kind: 'done'; call: string; output: Record<string, unknown> }
  | { kind: 'refused'; error: ErrorBody['error'] }
  | { kind: 'unknown' }

export interface Server {
  readonly pid: number
  /** What it wrote to stderr so far. */
  said(): string
  readonly gone: Promise<void>
  call(tool: string, input: Record<string, unknown>): Promise<Answer>
  stop(): Promise<void>
}

/** A connected client and the process behind it: a call the process does not live to answer is `unknown`. */
export function serverOf(
  client: Client,
  pid: number,
  said: () => string,
  gone: Promise<void>,
  stop: () => Promise<void>,
): Server {
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
        if (await Promise.race([gone.then(() => true), pause(patienceMs, false)])) return { kind: 'unknown' }
        throw new Error(`a call failed although its server lives: ${String(cause)}`, { cause })
      }
    },
    stop,
  }
}

export async function startStdio(project: string, args: string[], env: Record<string, string> = {}): Promise<Server> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', '--project', project, ...args],
    env: cleanEnv(dirname(project), env),
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

/** One of the three ways in, with whatever process stands behind it at the moment. */
export class Writer {
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
export class Ledger {
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
export function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const counterFile = 'shared/counters.txt'

/** One lane of one writer: its jobs one after the other, so that the order on its own files is known. */
export class Lane {
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

export function counterIn(text: string, id: string): number {
  return Number(new RegExp(`^${id}=(\\d+);$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** The same words once, with how often they were said. */
export function tally(words: readonly string[]): string[] {
  const times = new Map<string, number>()
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1)
  return [...times].slice(0, 5).map(([word, count]) => `${count} × ${word.slice(0, 400)}`)
}

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

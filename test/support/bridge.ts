import { once } from 'node:events'
import { WebSocket, type ClientOptions } from 'ws'
import type { CliPlane, CommandOutcome, ParsedCommand } from '../../src/contracts/command-result.ts'
import { asFault } from '../../src/contracts/faults/fault.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { serveBridge, type DevServer, type DevServerOptions } from '../../src/runtime/bridge.ts'
import { openWorld, type World } from './world.ts'

export const protocol = 'intent-flow.devserver.v1'
export const token = 'a-token-of-the-tests_0123456789abcdef'

export interface BridgeWorld extends AsyncDisposable {
  world: World
  server: DevServer
  url: string
  port: number
  /** What commands were run with, as the bridge handed it on. */
  ran: { argv: readonly string[]; allowWrite: boolean }[]
}

/** The bridge alone on a project, in this process, with the commands of the program (`real`) or those below. */
export async function openBridgeWorld(
  options: {
    files?: Record<string, string>
    config?: unknown
    commands?: CliPlane
    real?: boolean
  } & Partial<DevServerOptions> = {},
): Promise<BridgeWorld> {
  const { files = { 'a.txt': 'a0\n' }, config, commands, real, ...more } = options
  const world = await openWorld({ files, ...(config !== undefined && { config }) })
  const ran: BridgeWorld['ran'] = []
  const server = await serveBridge(world.runtime, {
    host: '127.0.0.1',
    port: 0,
    allowRemote: false,
    allowOrigins: [],
    allowWrite: false,
    token,
    stateFile: `${world.base}/bridge.json`,
    ...more,
    ...(!real && { commands: commands ?? commandsOn(world.runtime, ran) }),
  })
  return {
    world,
    server,
    ran,
    url: server.state.url,
    port: server.state.port,
    async [Symbol.asyncDispose]() {
      await server.close()
      await world[Symbol.asyncDispose]()
    },
  }
}

/**
 * Commands for the bridge to run: `read FILE`, `write FILE TEXT --mode write`, `wait` until it is cancelled, `traced BYTES`, `fail`. What they do goes the one
 * road, so that a test sees it in the log.
 */
export function commandsOn({ gate }: Operator, ran: BridgeWorld['ran'] = []): CliPlane {
  const parse = (argv: readonly string[]): ParsedCommand => {
    const words: string[] = []
    const flags = new Map<string, string>()
    for (let at = 0; at < argv.length; at++) {
      const [, name, joined] = /^--([a-zA-Z]+)(?:=(.*))?$/.exec(argv[at] as string) ?? []
      if (name === undefined) words.push(argv[at] as string)
      else flags.set(name.toLowerCase(), joined ?? (argv[++at] as string))
    }
    const known = ['read', 'write', 'wait', 'traced', 'fail'].includes(words[0] ?? '')
    const writes = flags.get('mode') === 'write'
    return {
      command: known ? (words[0] as string) : 'unknown',
      effect: writes ? 'writes-source' : 'read',
      writes,
      help: argv.length === 0 || argv.includes('-h'),
      runId: flags.get('runid'),
      stdin: words.includes('-'),
      outFolder: flags.get('out'),
    }
  }
  return {
    parse,
    config: () => ({ found: false }),
    async run(argv, { allowWrite, caller, signal }) {
      ran.push({ argv, allowWrite })
      const { command, runId = 'missing-runId', help, outFolder } = parse(argv)
      if (help) return { kind: 'help', text: 'handrail COMMAND', exitCode: 0 }
      const words = argv.filter((one) => !one.startsWith('--'))
      const [first, second] = words.slice(words.indexOf(command) + 1)
      const end = (exitCode: 0 | 1 | 2, more: object): CommandOutcome => ({
        kind: 'result',
        exitCode,
        outFolder,
        result: { schemaVersion: 1, kind: 'CommandResult', runId, command, ok: exitCode === 0, artifacts: [], ...more } as never,
      })
      const artifact = (fields: object): object => ({ artifacts: [{ kind: 'X', ok: true, ...fields }] })
      const by = caller as never
      try {
        if (command === 'unknown') return end(2, { error: { code: 'CLI_INVALID_COMMAND', message: 'No such command' } })
        if (command === 'fail') return end(1, { error: { code: 'CLI_COMMAND_FAILED', message: 'It failed' } })
        if (command === 'wait')
          await new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          )
        if (command === 'write') {
          const { output } = await gate.call('write_to_file', { path: first, content: second, dryRun: true }, by)
          return end(0, artifact({ outputKey: 'plan', inline: output }))
        }
        if (command === 'read') {
          const { output } = await gate.call('list_files', { path: first }, by)
          return end(0, artifact({ outputKey: 'read', inline: output }))
        }
        const bytes = Number(first)
        if (outFolder !== undefined) return end(0, artifact({ outputKey: 'traceSlim', file: 'trace.slim.json' }))
        if (second === 'cut')
          return end(0, artifact({ outputKey: 'traceSlim', inline: { _tag: 'oversized', bytes, preview: 'the beginning' } }))
        return end(0, artifact({ outputKey: 'traceSlim', inline: { text: '漢'.repeat(bytes) } }))
      } catch (thrown) {
        const { message } = asFault(thrown)
        return end(1, { error: { code: 'CLI_COMMAND_FAILED', message: message.slice(0, 256) } })
      }
    },
  }
}

export interface Answer {
  protocol: string
  type: 'response' | 'event'
  requestId: string
  ok?: boolean
  result?: Record<string, unknown>
  error?: { code: string; message: string; data?: Record<string, unknown> }
  event?: { kind: string; payload: Record<string, unknown>; seq: number }
}

export interface RawClient {
  socket: WebSocket
  heard: Answer[]
  say(message: unknown): void
  /** A request in the protocol's form. */
  ask(requestId: string, method: string, params?: unknown, more?: object): void
  /** The next response with this id that was not waited for yet. */
  response(requestId: string): Promise<Answer>
  event(requestId: string, kind: string): Promise<Answer>
  /** The code it is closed with. */
  closed: Promise<number>
}

/** A WebSocket that says exactly what a test says. */
export async function openRawClient(url: string, options: ClientOptions & { own?: string | null } = {}): Promise<RawClient> {
  const { own = token, ...rest } = options
  // Shown at once: a test may be late with its first words.
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    ...(own !== null && { headers: { Authorization: `Bearer ${own}` } }),
    ...rest,
  })
  const heard: Answer[] = []
  const given = new Set<Answer>()
  const waiting: { fits: (one: Answer) => boolean; tell: (one: Answer) => void }[] = []
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  socket.on('message', (data: Buffer) => {
    const one = JSON.parse(data.toString('utf8')) as Answer
    heard.push(one)
    const at = waiting.findIndex(({ fits }) => fits(one))
    if (at < 0) return
    given.add(one)
    waiting.splice(at, 1)[0]?.tell(one)
  })
  await once(socket, 'open')
  const next = (fits: (one: Answer) => boolean, what: string): Promise<Answer> => {
    const there = heard.find((one) => !given.has(one) && fits(one))
    if (there) {
      given.add(there)
      return Promise.resolve(there)
    }
    return new Promise((resolve, reject) => {
      waiting.push({ fits, tell: resolve })
      void closed.then((code) => reject(new Error(`closed with ${code} before ${what}`)))
    })
  }
  return {
    socket,
    heard,
    closed,
    say: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    ask: (requestId, method, params = {}, more = {}) =>
      socket.send(
        JSON.stringify({
          protocol,
          type: 'request',
          requestId,
          method,
          params,
          ...(own !== null && { auth: { token: own } }),
          ...more,
        }),
      ),
    response: (requestId) =>
      next((one) => one.type === 'response' && one.requestId === requestId, `the response to ${requestId}`),
    event: (requestId, kind) => next((one) => one.event?.kind === kind && one.requestId === requestId, `${kind} of ${requestId}`),
  }
}

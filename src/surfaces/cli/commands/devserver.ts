import { bridgeProtocol, type BridgeMethod, type DevServerState } from '../../../contracts/bridge.ts'
import { asFault, Fault } from '../../../contracts/faults/fault.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command, Invocation } from '../command.ts'
import { say, warnFolded } from '../print.ts'
import { longestTimer, wholeNumber } from '../whole-number.ts'
import { callMethod, type Called } from './devserver-call.ts'

export const devserver: Command = {
  name: 'devserver',
  summary: 'The dev bridge alone: one local WebSocket for editors and tools (intent-flow.devserver.v1)',
  usage: 'handrail devserver [start | status | stop | call METHOD [-- WORDS…]] --project DIR [options]',
  mostWords: Number.POSITIVE_INFINITY,
  about: `\`start\` listens on a loopback port, prints one line of JSON (DevServerStarted) and runs until it is stopped. A token is made up and kept, with the address,
in a file that only you can read; \`status\`, \`stop\` and \`call\` find the server by it. It is read-only unless you say --allowWrite. \`call\` sends
one request and prints its response as one line: dev.info, dev.workspace.snapshot, dev.run, dev.runChecks, dev.cancel, dev.stop. Its exit code says whether
the call worked (2: wrong usage), what came of it is in the response. The same bridge is at /dev of \`handrail serve\`. docs/guide/bridge.md shows every message.`,
  options: [
    { name: 'port', value: 'N', says: 'start: port to listen on. Default 0, any free one.' },
    { name: 'host', value: 'IP', says: 'start: address to listen on. Default 127.0.0.1.' },
    { name: 'allow-remote', says: 'start: allow a --host that other machines can reach.' },
    { name: 'allowOrigin', value: 'URL', says: 'start: web pages that may connect: exact origins, separated by commas.' },
    { name: 'allowWrite', says: 'start: let commands write source (--mode write). Without it the server is read-only.' },
    { name: 'readOnly', says: 'start: do not; this is the default.' },
    { name: 'maxMessageBytes', value: 'N', says: 'start: the longest message. Default 1000000.' },
    { name: 'shutdownAfterMs', value: 'N', says: 'start: end after this long, whoever is connected.' },
    { name: 'idleShutdownMs', value: 'N', says: 'start: end when nobody was connected for this long.' },
    {
      name: 'stateFile',
      value: 'FILE',
      says: 'The state file. Default: $HANDRAIL_DEVSERVER_STATE_FILE, else one for each project.',
    },
    { name: 'tokenFile', value: 'FILE', says: 'A file that holds the token.' },
    {
      name: 'token',
      value: 'TOKEN',
      says: 'The token itself, which other users may see in the list of processes. Also $HANDRAIL_DEVSERVER_TOKEN.',
    },
    { name: 'url', value: 'URL', says: 'call: the address of a server, instead of a state file.' },
    { name: 'method', value: 'NAME', says: 'call: the method, where it is not the next word.' },
    { name: 'requestId', value: 'ID', says: 'call: the id of the request. Default: a random one.' },
    { name: 'includeEvents', says: 'call: print the events of the request as well, as `events`.' },
    {
      name: 'timeoutMs',
      value: 'N',
      says: 'status, stop: how long to wait. call dev.runChecks: how long each check may take. Other calls: as --callTimeoutMs.',
    },
    {
      name: 'callTimeoutMs',
      value: 'N',
      says: 'call: how long to wait for the response. Default 30000; dev.runChecks: all checks and 10 s.',
    },
    { name: 'maxBytes', value: 'N', says: 'call dev.workspace.snapshot: most bytes of the settings.' },
    { name: 'checks', value: 'LIST', says: 'call dev.runChecks: typecheck, lint, test; separated by commas.' },
    { name: 'targetRequestId', value: 'ID', says: 'call dev.cancel: which request.' },
    { name: 'trace', says: 'call dev.run: stream the trace of the command as events.' },
    { name: 'traceMaxBytes', value: 'N', says: 'call dev.run: most bytes of the trace.' },
    { name: 'traceChunkBytes', value: 'N', says: 'call dev.run: most bytes of one event of it.' },
  ],
  examples: [
    'handrail devserver start --project ./my-app',
    'handrail devserver call dev.runChecks --checks typecheck,lint --project ./my-app',
    'handrail devserver call dev.run --project ./my-app -- anchor index',
    'handrail devserver stop --project ./my-app',
  ],
  async run(invocation) {
    const [act = 'start'] = invocation.words
    if (act === 'start') return start(invocation)
    if (act === 'status' || act === 'health') return status(invocation)
    if (act === 'stop') return stop(invocation)
    if (act === 'call') return call(invocation)
    throw new Fault('bad-input', `devserver cannot ${act.slice(0, 40)}`, { hint: 'It can start, status, call and stop.' })
  },
}

type Options = Invocation['options']

const print = (kind: string, fields: object): void =>
  say(terminalJson({ schemaVersion: 1, kind, protocol: bridgeProtocol, ...fields }))

export const numberOf = (options: Options, name: string, least = 0, most = longestTimer): number | undefined =>
  wholeNumber(options[name], name, least, most)

/** What the person named; the list of processes shows a flag to everybody, so a file is better and a variable will do. */
async function tokenOf({ options, dependencies }: Invocation): Promise<string | undefined> {
  if (options['token'] !== undefined && options['tokenFile'] !== undefined)
    throw new Fault('bad-input', 'Both --token and --tokenFile', { hint: 'Give one of them.' })
  const file = options['tokenFile']
  const read = file === undefined ? undefined : await dependencies.readText(String(file), 4_096)
  if (file !== undefined && read === undefined)
    throw new Fault('bad-input', `--tokenFile cannot be read: ${String(file)}`, { hint: 'It must be a small text file.' })
  const token = read?.trim() ?? (options['token'] as string | undefined)
  if (token === undefined) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(token))
    throw new Fault('bad-input', 'A token is 1 to 200 letters, digits and signs without spaces', {
      hint: 'Leave it out to have one made up.',
    })
  return token
}

const fromEnvironment = (name: string): string | undefined => process.env[name]?.trim() || undefined
const stateFileOf = (options: Options): string | undefined =>
  (options['stateFile'] as string | undefined) ?? fromEnvironment('HANDRAIL_DEVSERVER_STATE_FILE')

async function start(invocation: Invocation): Promise<number> {
  const { options, dependencies, openLive } = invocation
  const failed = (code: string, message: string): void => print('DevServerStartFailed', { error: { code, message } })
  let wanted: Parameters<typeof dependencies.serveBridge>[1]
  try {
    if (options['allowWrite'] === true && options['readOnly'] === true)
      throw new Fault('bad-input', 'Both --allowWrite and --readOnly', { hint: 'Give one of them.' })
    const port = numberOf(options, 'port', 0, 65_535) ?? 0
    const token = (await tokenOf(invocation)) ?? fromEnvironment('HANDRAIL_DEVSERVER_TOKEN')
    if (token !== undefined && token.length < 16) warnFolded('handrail: that token is short, and can be guessed.')
    const numbers = {
      // Of none at all the length would not be looked at.
      maxMessageBytes: numberOf(options, 'maxMessageBytes', 1) ?? 1_000_000,
      shutdownAfterMs: numberOf(options, 'shutdownAfterMs'),
      idleShutdownMs: numberOf(options, 'idleShutdownMs'),
    }
    wanted = {
      host: String(options['host'] ?? '127.0.0.1'),
      port,
      allowRemote: options['allow-remote'] === true,
      allowOrigins: String(options['allowOrigin'] ?? '')
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean),
      allowWrite: options['allowWrite'] === true,
      token,
      stateFile: stateFileOf(options),
      ...(Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)) as object),
    }
  } catch (thrown) {
    failed('ERR_INVALID_ARGS', wordsOf(thrown))
    return 2
  }
  let runtime: ReturnType<typeof openLive> | undefined
  try {
    runtime = openLive()
    const server = await dependencies.serveBridge(runtime, wanted)
    const { cwd: _, kind: __, ...state } = server.state
    print('DevServerStarted', { ...state, stateFile: server.stateFile })
    await Promise.race([
      server.asked,
      new Promise<void>((resolve) => ['SIGINT', 'SIGTERM'].forEach((name) => process.once(name, () => resolve()))),
    ])
    await server.close()
    await runtime.close()
    return 0
  } catch (thrown) {
    const { reason } = asFault(thrown)
    failed(
      reason === 'internal' ? 'ERR_UNHANDLED' : reason === 'bad-input' ? 'ERR_INVALID_ARGS' : 'ERR_START_FAILED',
      wordsOf(thrown),
    )
    await runtime?.close()
    return reason === 'bad-input' ? 2 : 1
  }
}

const wordsOf = (thrown: unknown): string => {
  const fault = asFault(thrown)
  return typeof fault.hint === 'string' ? `${fault.message}. ${fault.hint}` : fault.message
}

type Found = { state: DevServerState; token: string | undefined } | { error: { code: string; message: string } }

/** The server of a state file. Its token goes to its own address, and nowhere else. */
async function findServer(invocation: Invocation): Promise<Found> {
  const { options, dependencies, project } = invocation
  const file = await dependencies.openBridgeState(project, stateFileOf(options))
  const found = file.read()
  if (!('state' in found)) {
    const why = {
      missing: `No dev server is known: there is no ${file.path}`,
      stale: `The dev server of ${file.path} no longer runs (process ${'pid' in found ? found.pid : ''})`,
      foreign: `${file.path} is not a state file of this user`,
    }
    return { error: { code: 'ERR_STATE_NOT_FOUND', message: why[found.gone] } }
  }
  const token = (await tokenOf(invocation)) ?? found.state.token ?? fromEnvironment('HANDRAIL_DEVSERVER_TOKEN')
  return { state: found.state, token }
}

const shown = (state: DevServerState): object => Object.fromEntries(Object.entries(state).filter(([name]) => name !== 'token'))

async function status(invocation: Invocation): Promise<number> {
  const found = await findServer(invocation)
  if ('error' in found) {
    print('DevServerStatus', { ok: false, error: found.error })
    return 1
  }
  const { response } = await ask(invocation, found, 'dev.info', {})
  const info = response.ok ? (response.result as { cwd?: unknown }) : undefined
  if (info && typeof info.cwd === 'string') {
    print('DevServerStatus', { ok: true, state: shown(found.state), info })
    return 0
  }
  const error = response.ok ? { code: 'ERR_INVALID_RESPONSE', message: 'What answers there is no dev server' } : response.error
  print('DevServerStatus', { ok: false, state: shown(found.state), error: { code: error.code, message: error.message } })
  return 1
}

async function stop(invocation: Invocation): Promise<number> {
  const found = await findServer(invocation)
  if ('error' in found) {
    print('DevServerStopResult', { ok: false, error: found.error })
    return 1
  }
  const { response } = await ask(invocation, found, 'dev.stop', {})
  if (!response.ok) {
    print('DevServerStopResult', { ok: false, error: { code: response.error.code, message: response.error.message } })
    return 1
  }
  await invocation.dependencies.goneWith(found.state)
  print('DevServerStopResult', { ok: true, stopped: true })
  return 0
}

function ask(
  invocation: Invocation,
  { state, token }: { state: DevServerState; token: string | undefined },
  method: BridgeMethod,
  params: object,
): Promise<Called> {
  const timeoutMs = numberOf(invocation.options, 'timeoutMs') ?? 10_000
  return callMethod(invocation.dependencies.connectBridge, { url: state.url, token, method, params, timeoutMs })
}

async function call(invocation: Invocation): Promise<number> {
  const { options, words } = invocation
  const id = options['requestId'] as string | undefined
  const fail = (code: string, message: string): void =>
    say(
      terminalJson({
        protocol: bridgeProtocol,
        type: 'response',
        requestId: id ?? 'unknown',
        ok: false,
        error: { code, message, data: {} },
      }),
    )
  const named = options['method'] as string | undefined
  const [method, argv] = named === undefined ? [words[1], words.slice(2)] : [named, words.slice(1)]
  try {
    if (method === undefined) throw new Fault('bad-input', 'Which method?', { hint: 'handrail devserver call dev.info' })
    const params = paramsOf(method, options, argv)
    const url = options['url'] as string | undefined
    const found = await findServer(invocation)
    if (url === undefined && 'error' in found) {
      fail(found.error.code, found.error.message)
      return 1
    }
    const own = 'state' in found && (url === undefined || found.state.url === url.replace(/\/$/, '')) ? found : undefined
    const token = own ? own.token : ((await tokenOf(invocation)) ?? fromEnvironment('HANDRAIL_DEVSERVER_TOKEN'))
    const { response, events } = await callMethod(invocation.dependencies.connectBridge, {
      url: url ?? (own?.state.url as string),
      token,
      method,
      params,
      timeoutMs: numberOf(options, 'callTimeoutMs') ?? patience(method, options, params),
      ...(id !== undefined && { requestId: id }),
    })
    say(terminalJson({ ...response, ...(options['includeEvents'] === true && { events }) }))
    return response.ok ? 0 : 1
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.reason !== 'bad-input') throw thrown
    fail('ERR_INVALID_ARGS', wordsOf(thrown))
    return 2
  }
}

/** What a call waits for its response: checks for as long as they may take. */
function patience(method: string, options: Options, params: { checks?: string[]; timeoutMs?: number }): number {
  if (method === 'dev.runChecks')
    return Math.min((params.checks?.length ?? 0) * (params.timeoutMs ?? 120_000) + 10_000, longestTimer)
  return numberOf(options, 'timeoutMs') ?? 30_000
}

function paramsOf(method: string, options: Options, argv: readonly string[]): Record<string, unknown> {
  const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  if (method === 'dev.workspace.snapshot') return defined({ maxBytes: numberOf(options, 'maxBytes') })
  if (method === 'dev.cancel') return defined({ targetRequestId: options['targetRequestId'] })
  if (method === 'dev.runChecks') {
    const checks = String(options['checks'] ?? '')
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean)
    return defined({ checks, timeoutMs: numberOf(options, 'timeoutMs') })
  }
  if (method !== 'dev.run') return {}
  const trace = {
    enabled: true,
    ...defined({ maxBytes: numberOf(options, 'traceMaxBytes'), chunkBytes: numberOf(options, 'traceChunkBytes') }),
  }
  return { argv, ...(options['trace'] === true && { trace }) }
}

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { main } from '../../src/bin.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { serveHttp } from '../../src/runtime/serve.ts'
import { serveMcpStdio } from '../../src/surfaces/mcp/stdio.ts'
import { openSerialQueue } from '../../src/text/serial-queue.ts'
import { leftOpen } from './left-open.ts'
import type { Served } from './serve.ts'
import { callOf, cleanEnv, program, repository, type CliEnd, type Peer } from './world.ts'

const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }

/** One command at a time: they share the environment and the streams of this process. */
let inTurn = openSerialQueue()

/**
 * The command line inside the test process: the very function that the program calls, with its words, its environment and its streams.
 * Starting the program (`runCli` in `world.ts`) costs ten times as much: that is for commands that run at once, are killed or sit at a
 * terminal, and for each command once.
 */
export function runInside(
  project: string,
  args: string[],
  // With `asIs` the words are all there is: no project is named that they do not name.
  { env = {}, input, asIs = false }: { env?: Record<string, string>; input?: string; asIs?: boolean } = {},
): Promise<CliEnd> {
  return inTurn(async () => {
    const before = { env: process.env, argv: process.argv, toOut: process.stdout.write, toErr: process.stderr.write }
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
    let [out, err] = ['', '']
    const restore = (): void => {
      Object.defineProperty(process, 'stdin', stdin)
      process.env = before.env
      process.argv = before.argv
      process.stdout.write = before.toOut
      process.stderr.write = before.toErr
    }
    // A command that never ends keeps no other file waiting.
    let isGivenUp = false
    const ended = leftOpen(() => {
      isGivenUp = true
      restore()
      inTurn = openSerialQueue()
    })
    process.env = cleanEnv(dirname(project), env)
    process.argv = [process.execPath, program]
    if (input !== undefined) Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([input]) })
    process.stdout.write = (piece: string | Uint8Array) => Boolean((out += String(piece)))
    process.stderr.write = (piece: string | Uint8Array) => Boolean((err += String(piece)))
    try {
      return { code: await main(asIs ? args : [...args, '--project', project], version), out, err }
    } finally {
      ended()
      if (!isGivenUp) restore()
    }
  })
}

export interface InsideOptions {
  args?: string[]
  env?: Record<string, string>
}

/** A runtime as a command opens one: with its words, and in its environment. */
export function openLive(project: string, { args = [], env }: InsideOptions): Operator {
  const valueAt = (at: number): string | true => (args[at]?.startsWith('--') === false ? (args[at] as string) : true)
  const flags = Object.fromEntries(
    args.flatMap((word, at) => (word.startsWith('--') ? [[word.slice(2), valueAt(at + 1)] as const] : [])),
  )
  return openRuntime({ live: true, project, environment: cleanEnv(dirname(project), env), flags })
}

/** `handrail mcp` inside the test process: everything but the process itself. */
export interface StdioInside {
  readonly input: PassThrough
  readonly output: PassThrough
  /** Once its input has ended. */
  readonly ended: Promise<void>
}

export function stdioInside(project: string, options: InsideOptions = {}): StdioInside {
  const runtime = openLive(project, options)
  const [input, output] = [new PassThrough(), new PassThrough()]
  const closed = leftOpen(() => input.end())
  const ended = serveMcpStdio(runtime.gate, runtime.forms, input, output).then(async () => {
    await runtime.close()
    closed()
  })
  return { input, output, ended }
}

/** The same for the official client. */
export function transportInside(project: string, options: InsideOptions = {}): Transport {
  const { input, output, ended } = stdioInside(project, options)
  const transport: Transport = {
    async start() {
      createInterface(output).on('line', (line) => transport.onmessage?.(JSON.parse(line) as JSONRPCMessage))
    },
    async send(message) {
      input.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      input.end()
      await ended
      transport.onclose?.()
    },
  }
  return transport
}

/** `handrail mcp` inside the test process, driven by the official client. */
export async function openInside(project: string, options: InsideOptions & { client?: string } = {}): Promise<Peer> {
  const client = new Client({ name: options.client ?? 'handrail-test', version: '1.0.0' })
  await client.connect(transportInside(project, options))
  return { client, call: callOf(client), [Symbol.asyncDispose]: () => client.close() }
}

/** `handrail serve` inside the test process, for whatever does not ask what a process of its own does: its memory, its end, its words. */
export async function serveInside(
  project: string,
  { allowOrigins = [], ...options }: InsideOptions & { allowOrigins?: string[] } = {},
): Promise<Served> {
  const runtime = openLive(project, options)
  const listening = await serveHttp(runtime, { host: '127.0.0.1', port: 0, allowRemote: false, allowOrigins })
  const close = async (): Promise<void> => {
    await listening.close()
    await runtime.close()
  }
  const closed = leftOpen(close)
  return {
    url: listening.url,
    port: listening.port,
    pid: process.pid,
    token: runtime.token().token,
    stderr: () => '',
    async [Symbol.asyncDispose]() {
      await close()
      closed()
    },
  }
}

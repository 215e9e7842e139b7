import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { main } from '../../src/bin.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { serveMcpStdio } from '../../src/surfaces/mcp/stdio.ts'
import { openSerialQueue } from '../../src/text/serial-queue.ts'
import { callOf, cleanEnv, program, repository, type CliEnd, type Peer } from './world.ts'

const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }

/** One command at a time: they share the environment and the streams of this process. */
const inTurn = openSerialQueue()

/**
 * The command line inside the test process: the very function that the program calls, with its words, its environment and its streams.
 * Starting the program (`runCli` in `world.ts`) costs ten times as much: that is for commands that run at once, are killed or sit at a
 * terminal, and for each command once.
 */
export function runInside(project: string, args: string[], { env = {} }: { env?: Record<string, string> } = {}): Promise<CliEnd> {
  return inTurn(async () => {
    const before = { env: process.env, argv: process.argv, toOut: process.stdout.write, toErr: process.stderr.write }
    let [out, err] = ['', '']
    process.env = cleanEnv(dirname(project), env)
    process.argv = [process.execPath, program]
    process.stdout.write = (piece: string | Uint8Array) => Boolean((out += String(piece)))
    process.stderr.write = (piece: string | Uint8Array) => Boolean((err += String(piece)))
    try {
      return { code: await main([...args, '--project', project], version), out, err }
    } finally {
      process.env = before.env
      process.argv = before.argv
      process.stdout.write = before.toOut
      process.stderr.write = before.toErr
    }
  })
}

/** `handrail mcp` inside the test process, driven by the official client over a pair of pipes: everything but the process itself. */
export async function openInside(
  project: string,
  options: { args?: string[]; env?: Record<string, string>; client?: string } = {},
): Promise<Peer> {
  const { args = [] } = options
  const valueAt = (at: number): string | true => (args[at]?.startsWith('--') === false ? (args[at] as string) : true)
  const flags = Object.fromEntries(
    args.flatMap((word, at) => (word.startsWith('--') ? [[word.slice(2), valueAt(at + 1)] as const] : [])),
  )
  const runtime = openRuntime({ live: true, project, environment: cleanEnv(dirname(project), options.env), flags })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = serveMcpStdio(runtime.gate, runtime.forms, input, output)
  const client = new Client({ name: options.client ?? 'handrail-test', version: '1.0.0' })
  await client.connect(overPipes(input, output))
  return {
    client,
    call: callOf(client),
    async [Symbol.asyncDispose]() {
      await client.close()
      await served
      await runtime.close()
    },
  }
}

function overPipes(input: PassThrough, output: PassThrough): Transport {
  const transport: Transport = {
    async start() {
      createInterface(output).on('line', (line) => transport.onmessage?.(JSON.parse(line) as JSONRPCMessage))
    },
    async send(message) {
      input.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      input.end()
      transport.onclose?.()
    },
  }
  return transport
}

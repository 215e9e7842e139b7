import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import { transportInside } from './inside.ts'
import { leftOpen } from './left-open.ts'
import { isSoak } from './soak.ts'
import { asUser, cleanEnv, program } from './world.ts'

export interface Served {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly token: string
  /** What it has said to people so far. */
  stderr(): string
  [Symbol.asyncDispose](): Promise<void>
}

/** The real program, serving a project over HTTP. */
export async function openServe(
  project: string,
  options: { args?: string[]; env?: Record<string, string>; uid?: number } = {},
): Promise<Served> {
  const args = [program, 'serve', '--project', project, '--port', '0', '--json', ...(options.args ?? [])]
  const child = spawn(process.execPath, args, {
    env: cleanEnv(dirname(project), options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid !== undefined && { ...asUser(options.uid), cwd: dirname(project) }),
  })
  const gone = once(child, 'close')
  void gone.then(leftOpen(() => child.kill('SIGKILL')))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), gone.then(() => [''])])) as [string]
  if (!line) throw new Error(`serve ended before it was ready: ${stderr}`)
  const { url, tokenFile, pid } = JSON.parse(line) as { url: string; tokenFile: string; pid: number }
  return {
    url,
    pid,
    port: Number(new URL(url).port),
    token: readFileSync(tokenFile, 'utf8').trim(),
    stderr: () => stderr,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
      await gone
      clearTimeout(timer)
    },
  }
}

/** Every way an MCP client can come in. */
export const ways = ['stdio 2025', 'stdio 2026', 'http 2025', 'http 2026', 'sse'] as const
export type Way = (typeof ways)[number]

/** One of each kind, over pipes and over HTTP, in each era; all of them in `npm run soak`. For what does not hang on the way it comes by. */
export const someWays: readonly Way[] = isSoak ? ways : ['stdio 2025', 'http 2026']

export interface Said {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

export interface McpOptions {
  /** Answers what the client is asked to show to its person; without it the client has no elicitation. */
  onAsked?: (params: Record<string, unknown>) => Said | Promise<Said>
  name?: string
  /** Over HTTP, with every request. */
  headers?: Record<string, string>
  /** For stdio. */
  args?: string[]
  env?: Record<string, string>
  /** For stdio: the real program, which costs ten times as much as inside the test process. */
  real?: true
}

export interface McpConnection {
  readonly client: Client
  /** The structured answer, or the contract's error object as `error`. */
  call(tool: string, input: Record<string, unknown>): Promise<Record<string, unknown> & Partial<ErrorBody>>
  [Symbol.asyncDispose](): Promise<void>
}

/** The official client over one of the ways. */
export async function openMcp(
  way: Way,
  project: string,
  served: Served | undefined,
  options: McpOptions = {},
): Promise<McpConnection> {
  const client = new Client(
    { name: options.name ?? 'handrail-test', version: '1.0.0' },
    {
      capabilities: options.onAsked ? { elicitation: { form: {}, url: {} } } : {},
      ...(way.endsWith('2026') && { versionNegotiation: { mode: 'auto' as const } }),
    },
  )
  const { onAsked } = options
  if (onAsked) client.setRequestHandler('elicitation/create', async ({ params }) => (await onAsked(params)) as never)
  const inside = way.startsWith('stdio') && !options.real
  await client.connect(inside ? transportInside(project, options) : transportFor(way, project, served, options))
  return {
    client,
    async call(tool, input) {
      const result = await client.callTool({ name: tool, arguments: input })
      const [first] = result.content as { type: string; text: string }[]
      return (result.structuredContent ?? JSON.parse(first?.text ?? '{}')) as Record<string, unknown> & Partial<ErrorBody>
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The transport of a way, for whoever speaks without a client. */
export function transportFor(way: Way, project: string, served: Served | undefined, { args = [], env, headers }: McpOptions) {
  if (way.startsWith('stdio'))
    return new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', '--project', project, ...args],
      env: cleanEnv(dirname(project), env),
      stderr: 'pipe',
    })
  if (!served) throw new Error(`${way} needs a server`)
  const requestInit = { headers: { ...headers, Authorization: `Bearer ${served.token}` } }
  return way === 'sse'
    ? new SSEClientTransport(new URL(`${served.url}/sse`), { requestInit })
    : new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { requestInit })
}

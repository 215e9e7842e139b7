import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { asUser, cleanEnv, program, runToExit, type CliEnd } from './world.ts'

/** A listener on this machine that counts who came, and a name for it. */
export async function listen(where: { port: number; host: string } | { path: string }) {
  const came: string[] = []
  const server = createServer((socket) => {
    came.push('somebody')
    socket.on('error', () => undefined).end('SECRET-net')
  })
  server.listen(where)
  await once(server, 'listening')
  const address = server.address()
  return { came, port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() }
}

export const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

export function cli(uid: number, base: string, args: string[], env: Record<string, string> = {}): Promise<CliEnd> {
  const own = cleanEnv(base, { SECRET_PARENT: 'SECRET-parent', ...env })
  return runToExit(process.execPath, [program, ...args], { env: own, cwd: base, ...asUser(uid) })
}

/** One `handrail mcp` of a user whose every change is a card first unless it is said otherwise, asked as often as one likes: starting a program anew for each command costs ten times as much. */
export interface Talk extends Disposable {
  /** A command, answered as the command line would: what it found, or the fault. */
  shell(input: Record<string, unknown>): Promise<CliEnd>
  /** The same for any tool. */
  ends(name: string, input: Record<string, unknown>): Promise<CliEnd>
  /** What a tool answered. */
  call(name: string, input: Record<string, unknown>): Promise<unknown>
}

export async function openTalk(
  uid: number,
  base: string,
  project: string,
  more: string[] = [],
  asks: readonly string[] = ['--ask-from', 'R1'],
): Promise<Talk> {
  const args = [program, 'mcp', '--project', project, '--enable-shell', ...asks, '--approval-wait-ms', '0', ...more]
  const child = spawn(process.execPath, args, {
    env: cleanEnv(base, { SECRET_PARENT: 'SECRET-parent' }),
    cwd: base,
    stdio: ['pipe', 'pipe', 'ignore'],
    ...asUser(uid),
  })
  const waiting = new Map<number, (result: { structuredContent?: unknown; content: { text: string }[] }) => void>()
  createInterface(child.stdout).on('line', (line) => {
    const { id, result } = JSON.parse(line) as { id: number; result: { content: { text: string }[] } }
    waiting.get(id)?.(result)
  })
  let count = 0
  const ask = (method: string, params: object): Promise<{ structuredContent?: unknown; content: { text: string }[] }> =>
    new Promise((resolve) => {
      waiting.set(++count, resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: count, method, params })}\n`)
    })
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'walls', version: '1' } })
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  const ends: Talk['ends'] = async (name, input) => {
    const { structuredContent, content } = await ask('tools/call', { name, arguments: input })
    const found = structuredContent as { error?: unknown } | undefined
    return found && !found.error
      ? { code: 0, out: JSON.stringify(found), err: '' }
      : { code: 1, out: '', err: content.map((one) => one.text).join('\n') }
  }
  return {
    shell: (input) => ends('shell', input),
    ends,
    call: async (name, input) => (await ask('tools/call', { name, arguments: input })).structuredContent,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

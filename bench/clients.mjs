// Two ways to talk to a server: a raw one that costs next to nothing, and the official client.
import { spawn } from 'node:child_process'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'handrail-bench', version: '1.0.0' } }
const children = new Set()

/** Ends what is still running; called when the suite ends, however it ends. */
export function killAll() {
  for (const child of children) {
    try {
      child.kill('SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

/** A child process that does not outlive the suite. */
export function start(command, args, options) {
  const child = spawn(command, args, options)
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

/** JSON-RPC by the line. Replies come back as bytes; only their id is looked at. */
export async function openRaw({ command, args, env }) {
  const child = start(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const waiting = new Map()
  let last = 0
  let said = ''
  child.stderr.on('data', (chunk) => (said = `${said}${chunk}`.slice(-1_000)))
  child.stdin.on('error', () => undefined)
  readLines(child.stdout, (line) => {
    const id = idOf(line)
    waiting.get(id)?.resolve(line)
    waiting.delete(id)
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  void ended.then(() => waiting.forEach(({ reject }) => reject(new Error(`the server ended: ${said.trim()}`))))
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject })
      send({ id: last, method, params })
    })
  await request('initialize', hello)
  send({ method: 'notifications/initialized' })
  return {
    pid: child.pid,
    list: () => request('tools/list'),
    call: (name, input) => request('tools/call', { name, arguments: input }),
    close: () => end(child, ended),
  }
}

function readLines(stream, take) {
  let pieces = []
  stream.on('data', (chunk) => {
    let from = 0
    for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, from)) {
      pieces.push(chunk.subarray(from, newline))
      take(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
      pieces = []
      from = newline + 1
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from))
  })
}

/** Servers write the id first or last; both ends are short. */
function idOf(line) {
  const tail = /"id":(\d+)\}$/.exec(line.toString('latin1', Math.max(0, line.length - 40)))
  return Number((tail ?? /^\{[^{]*?"id":(\d+)/.exec(line.toString('latin1', 0, 80)))?.[1])
}

async function end(child, ended) {
  child.stdin.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000)
  await ended
  clearTimeout(timer)
}

/** The official client, with everything it does by itself, such as checking answers against their schema. */
export async function openSdk({ command, args, env }) {
  const transport = new StdioClientTransport({ command, args, env, stderr: 'ignore' })
  const client = new Client(hello.clientInfo)
  await client.connect(transport)
  const child = { kill: (signal) => process.kill(transport.pid, signal) }
  children.add(child)
  return {
    pid: transport.pid,
    list: () => client.listTools(),
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close().finally(() => children.delete(child)),
  }
}

/** Opens, lists the tools as every client does, uses, and closes. */
export async function using(servers, act) {
  const open = {}
  try {
    for (const [name, [how, server]] of Object.entries(servers)) {
      open[name] = await how(server)
      await open[name].list()
    }
    return await act(open)
  } finally {
    await Promise.all(Object.values(open).map((client) => client.close()))
  }
}

/** A command to its end; the output is read and counted, not kept, unless asked for. */
export function run({ command, args, env, cwd }, keep = false) {
  return new Promise((resolve, reject) => {
    const child = start(command, args, { env, cwd, stdio: ['ignore', 'pipe', keep ? 'pipe' : 'ignore'] })
    const out = []
    let bytes = 0
    child.stdout.on('data', (chunk) => {
      bytes += chunk.length
      if (keep) out.push(chunk)
    })
    child.stderr?.on('data', (chunk) => out.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, bytes, text: Buffer.concat(out).toString('utf8') }))
  })
}

/** The answer of a tool as an object, whichever client it came through; throws where it is an error. */
export function answerOf(reply) {
  const result = Buffer.isBuffer(reply) ? JSON.parse(reply.toString('utf8')).result : reply
  if (!result || result.isError) throw new Error(`the call failed: ${JSON.stringify(result ?? String(reply)).slice(0, 300)}`)
  return result
}

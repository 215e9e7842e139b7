import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { start } from './clients.mjs'
import { smallProject } from './data.mjs'
import { medianOf, timed, withCpu } from './measure.mjs'
import { flood } from './read.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 11
const sequential = 200
const together = 800
const least = 0.7

/** Reads of 10,240 bytes at `/mcp`, beside a bare handler of the same SDK and HTTP library, in both eras of the protocol. */
export async function http(bench) {
  const project = smallProject(bench.temp, 'http')
  const env = cleanEnv(bench.temp)
  const children = {
    ours: start(process.execPath, [bench.program, 'serve', '--project', project, '--port', '0', '--json'], { env }),
    other: start(process.execPath, [join(repository, 'bench', 'bare-http.mjs'), project], { env }),
  }
  try {
    const { url, tokenFile } = await ready(children.ours)
    const urls = { ours: url, other: (await ready(children.other)).url }
    const rows = []
    for (const era of ['2026', '2025']) {
      const clients = {}
      for (const who of ['ours', 'other']) {
        const { call } = await openHttp(era, urls[who], tokenFile)
        clients[who] = { pid: children[who].pid, read: () => call('read_file', { path: 'ten.txt' }) }
      }
      rows.push(...(await compare(era, clients)))
    }
    return rows
  } finally {
    for (const child of Object.values(children)) child.kill('SIGKILL')
  }
}

async function compare(era, clients) {
  for (const { read } of Object.values(clients)) {
    if ((await read()).length < 20_480) throw new Error('a read came back short')
    await flood(together, read)
  }
  const alone = await withCpu(rounds, clients, sequential, (who) => medianOf(sequential, clients[who].read))
  const crowd = await withCpu(
    rounds,
    clients,
    together,
    async (who) => together / ((await timed(() => flood(together, clients[who].read))) / 1000),
  )
  const line = (what, unit, { ours, other }, more = {}) =>
    row({ part: 'http', what: `${what}, ${era}`, unit, ours, other, against: 'bare', ...more })
  return [
    line('/mcp read 10 KB, 32 in flight', '/s', crowd.found, { target: least, more: true }),
    line('… server CPU per read', 'ms', crowd.cpu),
    line('/mcp read 10 KB, one by one', '/s', rate(alone.found), { target: least, more: true }),
  ]
}

const rate = (times) => Object.fromEntries(Object.entries(times).map(([who, all]) => [who, all.map((ms) => 1000 / ms)]))

/** What a server says first. */
export function ready(child) {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (said.includes('\n')) resolve(JSON.parse(said.slice(0, said.indexOf('\n'))))
    })
    child.stderr.on('data', () => undefined)
    child.once('close', () => reject(new Error('a server ended before it was ready')))
  })
}

const version = { 2026: '2026-07-28', 2025: '2025-11-25' }
const clientInfo = { name: 'handrail-bench', version: '1.0.0' }

/** A client that costs next to nothing: one message, one answer, as text. */
export async function openHttp(era, url, tokenFile) {
  const token = readFileSync(tokenFile, 'utf8').trim()
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': version[era],
  }
  const post = (message, more = {}) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message })
      const sending = httpRequest(`${url}/mcp`, {
        method: 'POST',
        agent,
        headers: { ...headers, 'Content-Length': Buffer.byteLength(body), ...more },
      })
      sending.once('error', reject)
      sending.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.once('end', () =>
          response.statusCode < 300 ? resolve({ text, response }) : reject(new Error(`${response.statusCode} ${text}`)),
        )
      })
      sending.end(body)
    })
  let id = 0
  if (era === '2025') {
    const { response } = await post({
      id: ++id,
      method: 'initialize',
      params: { protocolVersion: version[era], capabilities: {}, clientInfo },
    })
    headers['Mcp-Session-Id'] = response.headers['mcp-session-id']
    await post({ method: 'notifications/initialized' })
    return {
      call: async (name, input) => (await post({ id: ++id, method: 'tools/call', params: { name, arguments: input } })).text,
      close: () => agent.destroy(),
    }
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version[era],
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': clientInfo,
  }
  const call = async (name, input) => {
    const more = { 'Mcp-Method': 'tools/call', 'Mcp-Name': name }
    return (await post({ id: ++id, method: 'tools/call', params: { name, arguments: input, _meta } }, more)).text
  }
  return { call, close: () => agent.destroy() }
}

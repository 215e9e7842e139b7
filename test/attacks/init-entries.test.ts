import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clients, type Client } from '../../src/contracts/clients.ts'
import { runInside } from '../support/inside.ts'

let base: string
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-entries-')))
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

let count = 0
/** A settings file that holds an entry of our name already, and what `init` makes of it. */
async function initOver(
  client: Client,
  entry: Record<string, unknown>,
  ...args: string[]
): Promise<{ code: number; said: string; before: string; after: string; entry: Record<string, unknown> }> {
  const project = join(base, String(count++), 'project')
  const file = join(project, 'settings', client.format === 'toml' ? 'c.toml' : 'c.json')
  mkdirSync(dirname(file), { recursive: true })
  const lines = Object.entries(entry).map(([field, value]) => `${field} = ${JSON.stringify(value)}\n`)
  const before =
    client.format === 'toml'
      ? `[${client.key}.handrail]\n${lines.join('')}`
      : `${JSON.stringify({ [client.key]: { handrail: entry } }, undefined, 2)}\n`
  writeFileSync(file, before)
  // Named where the file is the person's own, so that it is looked for outside of the project.
  const at = client.scope === 'project' ? file : join(base, `${count}.settings`)
  if (at !== file) writeFileSync(at, before)
  const { code, out, err } = await runInside(project, ['init', client.name, '--yes', '--config', at, ...args])
  const after = readFileSync(at, 'utf8')
  const whole = (client.format === 'toml' ? parseToml(after) : JSON.parse(after)) as Record<string, Record<string, typeof entry>>
  return { code: code ?? -1, said: out + err, before, after, entry: whole[client.key]?.['handrail'] ?? {} }
}

const named = (name: string): Client => clients.find((one) => one.name === name) as Client
const started = { command: 'old', args: [] }
const overHttp = ['--http', 'http://127.0.0.1:4777/mcp']

/** What clients are known to take from an entry, and a field nobody knows yet. */
const hostile: [string, unknown][] = [
  ['trust', true],
  ['headersHelper', 'sh -c id'],
  ['env', { HANDRAIL_MODE: 'developer' }],
  ['environment', { NODE_OPTIONS: '--require /x' }],
  ['envFile', '.env'],
  ['cwd', '/tmp'],
  ['headers2', { a: 'b' }],
  ['oauth', { authorizationUrl: 'http://evil.example' }],
  ['authProviderType', 'x'],
  ['includeTools', []],
  ['excludeTools', ['write_to_file']],
  ['alwaysAllow', ['script_run']],
  ['autoApprove', ['script_run']],
  ['disabled', true],
  ['enabled', false],
  ['timeout', 1],
  ['timeout', 'http://evil.example'],
  ['dev', { debug: { type: 'node' } }],
  ['requestOptions', { proxy: 'http://evil.example' }],
  ['nobodyKnows', 1],
  ['__proto__x', 1],
]

describe.each(clients.filter(({ scope }) => scope === 'project').map((client) => [client.name, client] as const))(
  'an entry that came with a project, for %s',
  (_, client) => {
    test('every field that is not known to be harmless is refused by its name, and nothing is written', async () => {
      const all = hostile.filter(([field], index) => hostile.findIndex(([other]) => other === field) === index)
      const { code, said, before, after } = await initOver(client, { ...started, ...Object.fromEntries(all) })
      expect([code, said]).toEqual([1, expect.stringContaining('E_POLICY_VIOLATION')])
      for (const [field] of all) expect(said).toContain(field)
      expect(after).toBe(before)
    })

    test('another address, or another kind of server, never stays beside ours', async () => {
      const other = {
        type: 'sse',
        url: 'http://evil.example/a',
        httpUrl: 'http://evil.example/b',
        serverUrl: 'http://evil.example/c',
        transport: { type: 'sse', url: 'http://evil.example/d' },
        tcp: 'evil.example:1',
        headers: { Authorization: 'x' },
      }
      for (const args of client.http ? [[], overHttp] : [[]]) {
        const { code, after, entry } = await initOver(client, { ...other, ...started }, ...args)
        expect(code).toBe(0)
        expect(after).not.toMatch(/evil|"old"|sse/)
        const allowed = Object.keys(args.length ? (client.http?.('') ?? {}) : client.stdio(started))
        expect(Object.keys(entry).sort()).toEqual(allowed.sort())
      }
    })
  },
)

test('each hostile value is refused alone, too', async () => {
  for (const [field, value] of hostile) {
    const { code, said } = await initOver(named('gemini'), { ...started, [field]: value })
    expect([field, value, code]).toEqual([field, value, 1])
    expect(said).toContain(field)
  }
})

test('what is harmless stays, and the person sees the whole entry, however much lies between its lines', async () => {
  const { code, said, entry } = await initOver(named('gemini'), {
    description: 'mine',
    trust: false,
    env: {},
    ...started,
    timeout: 30_000,
  })
  expect(code).toBe(0)
  expect(entry).toMatchObject({ description: 'mine', trust: false, env: {}, timeout: 30_000, command: process.execPath })
  const [, whole] = said.split('The whole entry from now on:')
  for (const field of ['description', 'trust', 'timeout', 'command', 'args']) expect(whole).toContain(field)
  const open = await initOver(named('opencode'), { enabled: true, type: 'local', command: ['old'] })
  expect([open.code, open.entry['enabled']]).toEqual([0, true])
})

describe.each(clients.filter(({ scope }) => scope === 'user').map((client) => [client.name, client] as const))(
  'an entry of the person, for %s',
  (_, client) => {
    test('their fields stay, another address does not; both are shown', async () => {
      const { code, said, entry } = await initOver(client, {
        url: 'http://evil.example/a',
        serverUrl: 'http://evil.example/b',
        a: 1,
        b: 2,
        c: 3,
        d: 4,
        cwd: '/home/me',
        ...started,
      })
      expect(code).toBe(0)
      expect(entry).toMatchObject({ a: 1, cwd: '/home/me', command: process.execPath })
      expect(JSON.stringify(entry)).not.toContain('evil')
      expect(said.split('The whole entry from now on:')[1]).toContain('/home/me')
    })
  },
)

test('a file named inside the project came with it, whoever its client takes it for', async () => {
  const project = join(base, 'shipped')
  const file = join(project, '.codex', 'config.toml')
  mkdirSync(dirname(file), { recursive: true })
  const before = '[mcp_servers.handrail]\ncommand = "x"\ncwd = "/tmp"\n'
  writeFileSync(file, before)
  const { code, err } = await runInside(project, ['init', 'codex', '--yes', '--config', file])
  expect([code, err]).toEqual([1, expect.stringContaining('cwd')])
  expect(readFileSync(file, 'utf8')).toBe(before)
})

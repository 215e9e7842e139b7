import { expect, test } from 'vitest'
import { clients, type Client } from '../contracts/clients.ts'
import { ownFields, serverStart } from './client-start.ts'

const client = (name: string): Client => clients.find((one) => one.name === name) as Client
const args = ['--project', '/a b']

const copy = { node: 'n', program: 'p' }
const published = { ...copy, published: '1.2.3' }

test('on Windows the package is started through cmd, elsewhere by itself, and always in one version', () => {
  expect(serverStart(client('cursor'), 'linux', args, published)).toEqual({
    command: 'npx',
    args: ['-y', 'handrail@1.2.3', 'mcp', ...args],
  })
  expect(serverStart(client('cursor'), 'win32', args, published)).toEqual({
    command: 'cmd',
    args: ['/c', 'npx', '-y', 'handrail@1.2.3', 'mcp', ...args],
  })
  expect(serverStart(client('cursor'), 'win32', args, { node: 'C:\\node.exe', program: 'C:\\h\\bin\\handrail.js' })).toEqual({
    command: 'C:\\node.exe',
    args: ['C:\\h\\bin\\handrail.js', 'mcp', ...args],
  })
})

test('what cmd would run is refused, but for a start that does without it', () => {
  for (const path of ['C:\\a&calc', 'C:\\%TEMP%', 'C:\\a^b', 'C:\\a|b', 'C:\\a!b'])
    expect(() => serverStart(client('codex'), 'win32', ['--project', path], published)).toThrow(/would not pass this on/)
  const local = serverStart(client('codex'), 'win32', ['--project', 'C:\\a&b'], copy)
  expect(local.args.at(-1)).toBe('C:\\a&b')
})

test('what a client would take for a variable is refused, and only there', () => {
  const start = (name: string, path: string) => () => serverStart(client(name), 'linux', ['--project', path], published)
  for (const name of ['claude-code', 'cursor', 'vscode', 'cline', 'gemini'])
    expect(start(name, '/x/${HOME}')).toThrow(/would not pass this on/)
  expect(start('gemini', '/x/$HOME')).toThrow(/would not pass this on/)
  expect(start('gemini', '/x/5$')).not.toThrow()
  expect(start('cursor', '/x/$HOME')).not.toThrow()
  expect(start('codex', '/x/${HOME}')).not.toThrow()
})

test('no entry holds a token, and extras are never fields of ours', () => {
  for (const one of clients) {
    const entry = JSON.stringify(one.http?.('http://127.0.0.1:1/mcp') ?? {})
    expect(entry === '{}' || /HANDRAIL_TOKEN|THE-TOKEN/.test(entry)).toBe(true)
    expect(Object.keys(one.extras ?? {}).filter((field) => ownFields(one).includes(field))).toEqual([])
  }
})

import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parse as parseToml } from 'smol-toml'
import { afterAll, expect, test } from 'vitest'
import { clients, type Client, type Entry } from '../contracts/clients.ts'
import { putJson, takeJson } from './client-config-json.ts'
import { putToml, takeToml } from './client-config-toml.ts'
import { openClientConfigs } from './client-config.ts'
import { sweep } from '../../test/support/soak.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-configs-')))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const client = (name: string): Client => clients.find((one) => one.name === name) as Client
const entry: Entry = { type: 'stdio', command: 'npx', args: ['-y', 'handrail'] }
const machine = (platform: string, environment: Record<string, string> = {}): ReturnType<typeof openClientConfigs> =>
  openClientConfigs({ platform, home: '/home/me', environment })

test('every system has its place, and a variable moves it where it names a whole path', () => {
  const at = (name: string, platform: string, environment?: Record<string, string>): string =>
    machine(platform, environment).locate(client(name), '/p')
  expect(at('claude-desktop', 'darwin')).toBe('/home/me/Library/Application Support/Claude/claude_desktop_config.json')
  expect(at('claude-desktop', 'linux')).toBe('/home/me/.config/Claude/claude_desktop_config.json')
  expect(at('claude-desktop', 'linux', { XDG_CONFIG_HOME: '/x' })).toBe('/x/Claude/claude_desktop_config.json')
  expect(at('claude-desktop', 'linux', { XDG_CONFIG_HOME: 'x' })).toBe('/home/me/.config/Claude/claude_desktop_config.json')
  expect(at('claude-desktop', 'win32', { APPDATA: '/roaming' })).toBe('/roaming/Claude/claude_desktop_config.json')
  expect(at('cline', 'win32')).toBe('/home/me/.cline/data/settings/cline_mcp_settings.json')
  expect(at('cline', 'linux', { CLINE_DATA_DIR: '/c' })).toBe('/c/settings/cline_mcp_settings.json')
  expect(at('cline', 'linux', { CLINE_MCP_SETTINGS_PATH: '/c/$&.json' })).toBe('/c/$&.json')
  expect(at('codex', 'darwin', { CODEX_HOME: '/codex' })).toBe('/codex/config.toml')
  expect(at('vscode', 'freebsd')).toBe('/p/.vscode/mcp.json')
})

test('a file that changed after it was shown is not overwritten, and nothing is left beside it', () => {
  const file = join(base, 'moved.json')
  writeFileSync(file, '{}\n')
  const configs = openClientConfigs({ platform: 'linux', home: base, environment: {} })
  const change = configs.propose({ client: client('cursor'), file, name: 'handrail', project: base, entry })
  writeFileSync(file, '{"mcpServers": {"theirs": {}}}\n')
  expect(() => configs.write(change)).toThrow(expect.objectContaining({ reason: 'conflict' }))
  expect(readFileSync(file, 'utf8')).toBe('{"mcpServers": {"theirs": {}}}\n')
  expect(readdirSync(base)).toEqual(['moved.json'])
})

test('a file that came to be after it was missing is not overwritten', () => {
  const file = join(base, 'new', 'deep', 'mcp.json')
  const configs = openClientConfigs({ platform: 'linux', home: base, environment: {} })
  const change = configs.propose({ client: client('cursor'), file, name: 'handrail', project: base, entry })
  expect(existsSync(join(base, 'new'))).toBe(false)
  configs.write(change)
  expect(() => configs.write(change)).toThrow(expect.objectContaining({ reason: 'conflict' }))
  expect(readFileSync(file, 'utf8')).toBe(change.after)
})

/** JSON as people write it: comments and blanks anywhere, commas behind the last, tabs, CRLF, all on one line. */
const gap = fc.constantFrom('', ' ', '\n', '\n  ', ' // note, { "x": 1 }\n', '/* a, } */', '\n\t/* b */ // c\n')
const jsonc = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('1', 'null', '"a, // b"', '"}"', '[]', '[1, /* x */ 2]'),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.constantFrom('a', 'b', '__proto__', 'constructor', 'handrail2', ''), { maxLength: 3 }),
      fc.array(fc.tuple(gap, gap, gap, gap, tie('value')), { minLength: 3, maxLength: 3 }),
      gap,
      fc.boolean(),
    )
    .map(([names, parts, end, trailing]) => {
      const rows = names.map((name, index) => {
        const [before, key, colon, after, value] = parts[index] as string[]
        return `${before}${JSON.stringify(name)}${key}:${colon}${value}${after}`
      })
      return `{${rows.join(',')}${trailing && rows.length ? ',' : ''}${end}}`
    }),
})).object

const comments = (text: string): string[] => text.match(/\/\/ (note|c).*|\/\* [abx].*?\*\//g) ?? []

test('JSON: whatever stands there stays, comments too, and taking the entry out gives back what was', () => {
  fc.assert(
    fc.property(jsonc, jsonc, gap, fc.boolean(), (servers, others, top, windows) => {
      const written = `${top}{"x": ${others},${top}"mcpServers":${servers}${top}}\n`
      const text = windows ? written.replaceAll('\n', '\r\n') : written
      const place = { text, client: client('claude-code'), name: 'handrail', file: 'f', shipped: false }
      const put = putJson(place, entry)
      expect(comments(put)).toEqual(comments(text))
      expect(putJson({ ...place, text: put }, entry)).toBe(put)
      const taken = takeJson({ ...place, text: put })
      expect(comments(taken)).toEqual(comments(text))
      expect(taken.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''))
      if (windows) expect(put).not.toMatch(/(?<!\r)\n/)
    }),
    { numRuns: sweep(1_000, 300) },
  )
})

test('JSON: a key that stands twice is refused rather than guessed', () => {
  const text = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}'
  expect(() => putJson({ text, client: client('cursor'), name: 'handrail', file: 'f', shipped: false }, entry)).toThrow(
    expect.objectContaining({ reason: 'unsupported' }),
  )
})

const tomlPiece = fc.constantFrom(
  'model = "x"\n',
  '# [mcp_servers.handrail]\n',
  '\n',
  'text = """\n[mcp_servers.handrail]\ncommand = "no"\n"""" # odd end\n',
  "raw = '''\n[mcp_servers.handrail]\n'''\n",
  'list = [ # [mcp_servers.handrail]\n  "]", \'[\', [1, 2],\n]\n',
  'inline = { a = "}", b = [1] }\n',
  'when = 1979-05-27T07:32:00Z\n',
  'big = 99999999999999999999\n',
)
const tomlTable = fc.tuple(
  fc.constantFrom(
    '[tui]',
    '[ mcp_servers . "other.one" ]',
    '[[rows]]',
    '["mcp_servers".handrail-2]',
    "[mcp_servers.'x']",
    '[a.b]',
  ),
  fc.uniqueArray(tomlPiece, { maxLength: 4 }),
)

test('TOML: whatever stands there stays, and taking the entry out gives back what was', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(tomlPiece, { maxLength: 4 }),
      fc.uniqueArray(tomlTable, { maxLength: 4, selector: ([header]) => header }),
      fc.boolean(),
      (top, tables, windows) => {
        const written = top.join('') + tables.map(([header, pieces]) => `${header}\n${pieces.join('')}`).join('')
        const text = windows ? written.replaceAll('\n', '\r\n') : written
        const place = { text, client: client('codex'), name: 'handrail', file: 'f', shipped: false }
        const put = putToml(place, { command: 'npx', args: ['-y', 'a"b\\c\u007f\u0000é'] })
        expect(put.startsWith(text)).toBe(true)
        const again = putToml({ ...place, text: put }, { url: 'http://127.0.0.1:1', bearer_token_env_var: 'T' })
        expect(again.startsWith(text)).toBe(true)
        expect(parseToml(again, { integersAsBigInt: 'asNeeded' })).toHaveProperty('mcp_servers.handrail', {
          url: 'http://127.0.0.1:1',
          bearer_token_env_var: 'T',
        })
        expect(takeToml({ ...place, text: again }).trimEnd()).toBe(text.trimEnd())
      },
    ),
    { numRuns: sweep(1_000, 300) },
  )
})

test('TOML: only our fields of our table change; what a person added, and its comments, stay', () => {
  const text = [
    '[mcp_servers.handrail] # mine',
    'command = "old" # why',
    'startup_timeout_sec = 20',
    '',
    '# about env',
    '[mcp_servers.handrail.env]',
    'A = "1"',
    '',
    '# about tui',
    '[tui]',
    '',
  ].join('\n')
  const place = { text, client: client('codex'), name: 'handrail', file: 'f', shipped: false }
  const put = putToml(place, { command: 'npx', args: ['x'] })
  expect(put).toBe(
    text.replace('"old"', '"npx"').replace('startup_timeout_sec = 20\n', 'startup_timeout_sec = 20\nargs = ["x"]\n'),
  )
  expect(takeToml({ ...place, text: put })).toBe('\n# about tui\n[tui]\n')
})

test('TOML: an entry in another form is refused rather than doubled', () => {
  for (const text of [
    '[mcp_servers]\nhandrail = { command = "x" }\n',
    'mcp_servers.handrail.command = "x"\n',
    'mcp_servers = { a = {} }\n',
  ]) {
    const place = { text, client: client('codex'), name: 'handrail', file: 'f', shipped: false }
    expect(() => putToml(place, { command: 'npx', args: [] })).toThrow(expect.objectContaining({ reason: 'unsupported' }))
  }
})

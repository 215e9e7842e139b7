import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { clients, type Client } from '../../src/contracts/clients.ts'
import { runInside, serveInside } from '../support/inside.ts'
import { openServe } from '../support/serve.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { cleanEnv, program, repository, runCli, type CliEnd } from '../support/world.ts'

/** A home with a project in it, and the command line in both. */
function openHome(projectName = 'project'): Disposable & {
  base: string
  project: string
  init(...args: string[]): Promise<CliEnd>
  /** The same through the real program. */
  start(...args: string[]): Promise<CliEnd>
  file(client: Client): string
} {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-init-')))
  const project = join(base, projectName)
  mkdirSync(project)
  return {
    base,
    project,
    init: (...args) => runInside(project, ['init', ...args]),
    start: (...args) => runCli(project, ['init', ...args]),
    file(client) {
      const template = client.files.linux.find((one) => !one.startsWith('$') || one.startsWith('$XDG_CONFIG_HOME'))
      const path = (template as string).replace('$XDG_CONFIG_HOME', join(base, 'config')).replace(/^~/, base)
      return path.startsWith('/') ? path : join(project, path)
    },
    [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }),
  }
}

/** What a client with a longer limit of its own is told besides. */
const patience = ({ answerWithinMs }: Client): string[] =>
  answerWithinMs === undefined ? [] : [`--answer-within-ms=${answerWithinMs}`]

type Entries = Record<string, Record<string, unknown>>

function entriesIn(client: Client, text: string): Entries {
  const bare = text.replace(/^\s*\/\/.*$/gm, '')
  return ((client.format === 'toml' ? parseToml(text) : JSON.parse(bare)) as Record<string, Entries>)[client.key] as Entries
}

function place(file: string, text: string, mode = 0o664): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
  return text
}

const clientNamed = (name: string): Client => clients.find((one) => one.name === name) as Client

/** A settings file as a person keeps it: other things first and last, another server, comments. */
function livedIn(client: Client): string {
  if (client.format === 'toml')
    return '# my settings\nmodel = "gpt"\n\n[mcp_servers.other] # keep\ncommand = "other"\n\n# about the screen\n[tui]\ntheme = "dark"\n'
  return `{
    // first
    "zebra": true,
    "${client.key}": {
        // the other one
        "other": { "command": "other", "args": [] }
    },
    // last
    "apple": [1, 2]
}
`
}

describe.each(clients.map((client) => [client.name, client] as const))('init %s', (name, client) => {
  test('a fresh file holds what --print shows, and nothing else is made', async () => {
    using home = openHome()
    const file = home.file(client)
    const shown = await home.init(name, '--print')
    expect(shown.code).toBe(0)
    expect(existsSync(file)).toBe(false)
    const end = await home.init(name, '--yes')
    expect(end).toMatchObject({ code: 0, err: '' })
    expect(end.out).toContain(`+++ ${file}`)
    expect(end.out).toContain(`It starts this copy of Handrail: ${program}.`)
    expect(end.out).toContain(`init ${name} --remove --project ${home.project}`)
    expect(readFileSync(file, 'utf8')).toBe(shown.out)
    expect(entriesIn(client, shown.out)['handrail']).toEqual({
      ...client.stdio({ command: process.execPath, args: [program, 'mcp', '--project', home.project, ...patience(client)] }),
      ...client.extras,
    })
    expect(existsSync(join(home.project, '.handrail'))).toBe(false)
    expect(readdirSync(dirname(file)).filter((one) => one.includes('tmp'))).toEqual([])
  })

  test('other servers, comments, order and mode stay; twice changes nothing; --remove gives the file back', async () => {
    using home = openHome()
    const file = home.file(client)
    const before = place(file, livedIn(client))
    const added = await home.init(name, '--yes')
    expect(added.code).toBe(0)
    const with1 = readFileSync(file, 'utf8')
    expect(Object.keys(entriesIn(client, with1))).toEqual(['other', 'handrail'])
    expect(with1.match(/(\/\/|#).*/g)).toEqual(before.match(/(\/\/|#).*/g))
    expect(statSync(file).mode & 0o777).toBe(0o664)
    const twice = await home.init(name, '--yes')
    expect(twice).toMatchObject({ code: 0, err: '' })
    expect(twice.out).toBe(`Already there: handrail in ${file}\n`)
    expect(readFileSync(file, 'utf8')).toBe(with1)
    const removed = await home.init(name, '--remove', '--yes')
    expect(removed.code).toBe(0)
    expect(removed.out).toContain(`Taken out: handrail from ${file}`)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(statSync(file).mode & 0o777).toBe(0o664)
    expect((await home.init(name, '--remove', '--yes')).out).toBe(`Not there: handrail in ${file}\n`)
  })

  test('without a terminal and without --yes the change is shown and nothing is written', async () => {
    using home = openHome()
    const end = await home.init(name)
    expect(end.code).toBe(1)
    expect(end.out).toContain('--- /dev/null')
    expect(end.out).toMatch(/^\+.*handrail/m)
    expect(end.err).toMatch(/Nothing was written[^]*--yes/)
    expect(readdirSync(home.base)).toEqual(['project'])
    expect(readdirSync(home.project)).toEqual([])
  })

  test('a broken file is named with its place, and left as it is', async () => {
    using home = openHome()
    const file = home.file(client)
    const before = place(file, client.format === 'toml' ? 'a = 1\nb = = 2\n' : '{\n  "a": 1\n  "b": 2\n}\n')
    for (const args of [['--yes'], ['--remove', '--yes']]) {
      const end = await home.init(name, ...args)
      expect(end.code).toBe(1)
      expect(end.err).toMatch(/E_PARSE_FAIL .*line [23], column \d+[^]*Nothing was written/)
      expect(readFileSync(file, 'utf8')).toBe(before)
    }
  })

  test('over HTTP the entry names where the token comes from, not the token', async () => {
    using home = openHome()
    const end = await home.init(name, '--http', 'http://127.0.0.1:4777/mcp', '--yes')
    if (!client.http || client.tokenByHand) {
      expect(end.code).toBe(1)
      expect(end.err).toContain('E_UNSUPPORTED')
      expect(existsSync(home.file(client))).toBe(false)
      return
    }
    expect(end.out).toContain('HANDRAIL_TOKEN')
    const { handrail } = entriesIn(client, readFileSync(home.file(client), 'utf8'))
    expect(handrail).toEqual({ ...client.http('http://127.0.0.1:4777/mcp'), ...client.extras })
    expect((await home.init(name, '--yes')).code).toBe(0)
    const stdio = entriesIn(client, readFileSync(home.file(client), 'utf8'))['handrail']
    expect(Object.keys(stdio ?? {})).toEqual(expect.arrayContaining(['command']))
    expect(JSON.stringify(stdio)).not.toMatch(/4777|TOKEN/)
  })
})

test('what a person put into the entry stays when it is renewed', async () => {
  using home = openHome()
  const cline = clientNamed('cline')
  await home.init('cline', '--yes')
  const file = home.file(cline)
  const edited = readFileSync(file, 'utf8').replace(
    '"autoApprove": []',
    '"autoApprove": ["read_file"],\n      // mine\n      "env": {}',
  )
  writeFileSync(file, edited)
  await home.init('cline', '--yes', '--read-only')
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('// mine')
  expect(entriesIn(cline, text)['handrail']).toMatchObject({ autoApprove: ['read_file'], env: {}, timeout: 60 })
  expect(entriesIn(cline, text)['handrail']?.['args']).toContain('--read-only=true')
})

test('settings go into the entry; a value that cannot be is refused before anything is shown', async () => {
  using home = openHome()
  const end = await home.init('codex', '--print', '--mode', 'developer', '--no-read-only')
  expect(entriesIn(clientNamed('codex'), end.out)['handrail']?.['args']).toEqual([
    program,
    'mcp',
    '--project',
    home.project,
    '--mode=developer',
    '--read-only=false',
    '--answer-within-ms=170000',
  ])
  const bad = await home.init('codex', '--yes', '--mode', 'god')
  expect(bad).toMatchObject({ code: 2, out: '' })
  expect(bad.err).toContain('E_BAD_ARGS')
})

test('nothing is started by a name alone, which nobody has published: this copy, or one exact version', async () => {
  using home = openHome()
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  const commandOf = async (run: (...args: string[]) => Promise<CliEnd>, ...args: string[]): Promise<unknown[]> => {
    const { out } = await run('claude-desktop', '--print', ...args)
    const { command, args: rest } = entriesIn(clientNamed('claude-desktop'), out)['handrail'] as {
      command: string
      args: string[]
    }
    return [command, ...rest].slice(0, 3)
  }
  expect(await commandOf(home.init)).toEqual([process.execPath, program, 'mcp'])
  expect(await commandOf(home.init, '--published')).toEqual(['npx', '-y', `handrail@${version}`])
  // As npm leaves it behind, taken from the registry or from somewhere else.
  const folder = join(home.base, 'prefix/node_modules/handrail')
  mkdirSync(folder, { recursive: true })
  for (const part of ['bin', 'dist', 'package.json']) cpSync(join(repository, part), join(folder, part), { recursive: true })
  const installed = join(folder, 'bin/handrail.js')
  const run = (...args: string[]): Promise<CliEnd> => runCli(home.project, ['init', ...args], { program: installed })
  const resolved = (at: string): void =>
    writeFileSync(
      join(folder, '../.package-lock.json'),
      JSON.stringify({ packages: { 'node_modules/handrail': { version, resolved: at, integrity: 'sha512-x' } } }),
    )
  expect(await commandOf(run)).toEqual([process.execPath, installed, 'mcp'])
  const places = [`file:../handrail-${version}.tgz`, 'https://example.org/x.tgz', 'git+ssh://git@example.org/handrail.git']
  for (const elsewhere of isSoak ? places : [places[draws('where it is from')(places.length)] as string]) {
    resolved(elsewhere)
    expect([elsewhere, ...(await commandOf(run))]).toEqual([elsewhere, process.execPath, installed, 'mcp'])
  }
  resolved(`https://registry.example.org/handrail/-/handrail-${version}.tgz`)
  expect(await commandOf(run)).toEqual(['npx', '-y', `handrail@${version}`])
  expect(await commandOf(run, '--local')).toEqual([process.execPath, installed, 'mcp'])
})

test('Codex does not start without it, and waits longer than it takes', async () => {
  using home = openHome()
  for (const args of [[], ['--http', 'http://127.0.0.1:4777/mcp']]) {
    const { out } = await home.init('codex', '--print', ...args)
    expect(entriesIn(clientNamed('codex'), out)['handrail']).toMatchObject({ required: true, tool_timeout_sec: 180 })
  }
  // An entry from before is renewed too.
  const file = home.file(clientNamed('codex'))
  place(file, '[mcp_servers.handrail]\ncommand = "npx"\nargs = ["-y", "handrail", "mcp"]\n')
  await home.init('codex', '--yes')
  const entry = entriesIn(clientNamed('codex'), readFileSync(file, 'utf8'))['handrail']
  expect(entry).toMatchObject({ required: true, command: process.execPath })
  expect(readFileSync(file, 'utf8')).not.toContain('"-y"')
})

const oddNames = ['with space', `it's "quoted"`, 'back\\slash', '日本語 é 🛟', 'new\nline', '-dash', '$HOME', '% & ;#']

describe.each(['claude-desktop', 'codex'])('the entry init %s writes', (name) => {
  const client = clientNamed(name)
  const entryFor = async (home: ReturnType<typeof openHome>): Promise<{ command: string; args: string[] }> => {
    expect((await home.init(name, '--local', '--yes')).code).toBe(0)
    return entriesIn(client, readFileSync(home.file(client), 'utf8'))['handrail'] as { command: string; args: string[] }
  }

  test.each(oddNames)('names a project called %j', async (projectName) => {
    using home = openHome(projectName)
    const { command, args } = await entryFor(home)
    expect([command, ...args]).toEqual([process.execPath, program, 'mcp', '--project', home.project, ...patience(client)])
  })

  test('starts a server, whatever the project is called', async () => {
    using home = openHome(oddNames.toReversed().join(' '))
    const { command, args } = await entryFor(home)
    const mcp = new McpClient({ name: 'test', version: '1' })
    await mcp.connect(new StdioClientTransport({ command, args, env: cleanEnv(home.base), stderr: 'ignore' }))
    const answer = await mcp.callTool({ name: 'get_runtime_info', arguments: {} })
    expect(answer.structuredContent).toMatchObject({ projectRoot: home.project })
    await mcp.close()
  })
})

test('the entry for HTTP opens a running server, once the client has put the token in', async () => {
  using home = openHome()
  await using served = await (isSoak ? openServe : serveInside)(home.project)
  for (const client of clients.filter((one) => one.http)) {
    const { out } = await home.init(client.name, '--print', '--http', `${served.url}/mcp`)
    const entry = entriesIn(client, out)['handrail'] as Record<string, string> & { headers?: { Authorization: string } }
    const header = entry.headers?.Authorization ?? `Bearer \${${entry['bearer_token_env_var']}}`
    const filled = header.replace(/\$?\{(env:)?HANDRAIL_TOKEN\}|THE-TOKEN/, served.token)
    const mcp = new McpClient({ name: 'test', version: '1' })
    const url = new URL(entry['url'] ?? (entry['httpUrl'] as string))
    await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: filled } } }))
    expect((await mcp.listTools()).tools.length).toBeGreaterThan(5)
    await mcp.close()
  }
})

test('a path the client would take for a variable is refused', async () => {
  using home = openHome('${HOME}')
  const end = await home.init('claude-code', '--yes')
  expect(end.code).toBe(1)
  expect(end.err).toContain('E_UNSUPPORTED')
  expect(readdirSync(home.project)).toEqual([])
})

test.each(['', 'a b', 'a"b', "a'b", 'a.b', 'a]', '__proto__', '../x', 'ключ', 'x\n[y]', '-x', 'a'.repeat(64)])(
  'the name %j is refused',
  async (odd) => {
    using home = openHome()
    const end = await home.init('codex', `--name=${odd}`, '--yes')
    expect(end).toMatchObject({ code: 2, out: '' })
    expect(readdirSync(home.base)).toEqual(['project'])
  },
)

test.each(['constructor', 'toString', 'Handrail_2-b'])('the name %j is a name like any other', async (name) => {
  using home = openHome()
  for (const client of [clientNamed('cursor'), clientNamed('codex')]) {
    expect((await home.init(client.name, '--name', name, '--yes')).code).toBe(0)
    expect(Object.keys(entriesIn(client, readFileSync(home.file(client), 'utf8')))).toEqual([name])
    expect((await home.init(client.name, '--name', name, '--yes')).out).toContain('Already there')
  }
})

test('a link in the place of my own settings is followed and stays a link', async () => {
  using home = openHome()
  const file = home.file(clientNamed('codex'))
  const real = join(home.base, 'dotfiles', 'codex.toml')
  place(real, 'model = "x"\n', 0o600)
  mkdirSync(dirname(file))
  symlinkSync(real, file)
  const end = await home.init('codex', '--yes')
  expect(end.code).toBe(0)
  expect(end.out).toContain(`${file} is a link to ${real}`)
  expect(lstatSync(file).isSymbolicLink()).toBe(true)
  expect(readFileSync(real, 'utf8')).toMatch(/^model = "x"\n\n\[mcp_servers\.handrail\]\n/)
  expect(statSync(real).mode & 0o777).toBe(0o600)
})

test('a link in the project that leads out of it is refused, file or folder, unless the file is named', async () => {
  using home = openHome()
  const outside = join(home.base, 'outside')
  const before = place(join(outside, 'mcp.json'), '{}\n')
  symlinkSync(outside, join(home.project, '.vscode'))
  symlinkSync(join(outside, 'mcp.json'), join(home.project, '.mcp.json'))
  for (const name of ['vscode', 'claude-code']) {
    const end = await home.init(name, '--yes')
    expect(end.code).toBe(1)
    expect(end.err).toContain('E_DENY_PATH')
  }
  expect(readFileSync(join(outside, 'mcp.json'), 'utf8')).toBe(before)
  expect((await home.init('vscode', '--yes', '--config', join(home.project, '.vscode', 'mcp.json'))).code).toBe(0)
})

test('a link that leads nowhere, a folder, a pipe and a second name are refused', async () => {
  using home = openHome()
  const at = (name: string): string => join(home.base, name)
  symlinkSync(at('nowhere'), at('dangling.json'))
  mkdirSync(at('folder.json'))
  execFileSync('mkfifo', [at('pipe.json')])
  place(at('one.json'), '{}\n')
  execFileSync('ln', [at('one.json'), at('two.json')])
  for (const name of ['dangling.json', 'folder.json', 'pipe.json', 'two.json']) {
    const end = await home.init('cursor', '--yes', '--config', at(name))
    expect([name, end.code, /E_IO/.test(end.err)]).toEqual([name, 1, true])
  }
  expect(existsSync(at('nowhere'))).toBe(false)
  expect(readFileSync(at('one.json'), 'utf8')).toBe('{}\n')
})

test('a read-only file is left alone, and nothing stays beside it', async () => {
  using home = openHome()
  const file = home.file(clientNamed('cursor'))
  const before = place(file, '{ "mcpServers": {} }\n', 0o444)
  const end = await home.init('cursor', '--yes')
  expect(end.code).toBe(1)
  expect(end.err).toMatch(/E_IO Read-only/)
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(readdirSync(dirname(file))).toEqual(['mcp.json'])
})

test('text that is no UTF-8, and settings of a strange shape, are refused and left', async () => {
  using home = openHome()
  const file = join(home.base, 'odd.json')
  const cases: [string | Buffer, string][] = [
    [Buffer.from([0x7b, 0xff, 0x7d]), 'E_ENCODING'],
    [Buffer.from('\ufeff{}', 'utf16le'), 'E_ENCODING'],
    ['[]', 'E_PARSE_FAIL'],
    ['"x"', 'E_PARSE_FAIL'],
    ['{"mcpServers": []}', 'E_PARSE_FAIL'],
    ['{"mcpServers": {"handrail": null}}', 'E_PARSE_FAIL'],
    ['{} {}', 'E_PARSE_FAIL'],
    ['['.repeat(sweep(200_000, 20_000)), 'E_PARSE_FAIL'],
    ['{"mcpServers": {}, "mcpServers": {}}', 'E_UNSUPPORTED'],
  ]
  for (const [content, code] of cases) {
    writeFileSync(file, content)
    const end = await home.init('cursor', '--yes', '--config', file)
    expect([String(content).slice(0, 40), end.code, end.err.split(' ')[0]]).toEqual([String(content).slice(0, 40), 1, code])
    expect(readFileSync(file)).toEqual(Buffer.from(content))
  }
})

test('an empty file, a byte order mark, CRLF and tabs are taken as they are', async () => {
  using home = openHome()
  const file = join(home.base, 'odd.json')
  const run = async (content: string): Promise<string> => {
    writeFileSync(file, content)
    expect((await home.init('vscode', '--yes', '--config', file)).code).toBe(0)
    return readFileSync(file, 'utf8')
  }
  expect(await run('')).toBe((await home.init('vscode', '--print')).out)
  expect(await run('// only this\n')).toMatch(/^\/\/ only this\n\{\n {2}"servers"/)
  expect(await run('\ufeff{}')).toMatch(/^\ufeff\{\n {2}"servers"/)
  expect(await run('{\r\n\t"a": 1\r\n}\r\n')).toMatch(/^\{\r\n\t"a": 1,\r\n\t"servers": \{\r\n\t\t"handrail": \{\r\n\t\t\t"type"/)
  expect(await run('{"servers":{"a":{}}}')).toMatch(/^\{"servers":\{"a":\{\},\n {2}"handrail": \{/)
})

test('--json says the same to a program', async () => {
  using home = openHome()
  const file = home.file(clientNamed('gemini'))
  const asked = await home.start('gemini', '--json')
  expect(asked.code).toBe(1)
  expect(JSON.parse(asked.out)).toMatchObject({ client: 'gemini', file, name: 'handrail', changed: true, written: false })
  expect((JSON.parse(asked.out) as { hint: string }).hint).toContain('--yes')
  const done = await home.start('gemini', '--json', '--yes')
  expect(JSON.parse(done.out)).toMatchObject({ changed: true, written: true, diff: expect.stringContaining('+++ ') as string })
  expect(JSON.parse((await home.init('gemini', '--json', '--yes')).out)).toMatchObject({
    changed: false,
    written: false,
    diff: '',
  })
  const print = await home.init('gemini', '--json', '--print')
  expect((JSON.parse(print.out) as { snippet: string }).snippet).toBe(readFileSync(file, 'utf8'))
})

test.each([
  [[], 'Which client?'],
  [['emacs'], 'No such client'],
  [['cursor', 'vscode'], 'One client'],
  [['cursor', '--print', '--remove'], 'do not go together'],
  [['cursor', '--http', 'ftp://x'], 'Not an HTTP address'],
  [['cursor', '--http', 'http://127.0.0.1:1/mcp', '--read-only'], 'starts nothing'],
])('init %j is refused as wrong usage', async (args, why) => {
  using home = openHome()
  const end = await home.init(...args)
  expect(end).toMatchObject({ code: 2, out: '' })
  expect(end.err).toContain(why)
})

test('a project that is not there is refused; taking the entry out needs none', async () => {
  using home = openHome()
  await home.init('codex', '--yes')
  const gone = join(home.base, 'gone')
  const end = await runCli(gone, ['init', 'codex', '--yes'])
  expect(end.code).toBe(1)
  expect(end.err).toContain('E_NOT_FOUND')
  expect((await runInside(gone, ['init', 'codex', '--remove', '--yes'])).out).toContain('Taken out')
})

/** Gives a command a terminal of its own. */
const terminal = '/usr/bin/script'

test.skipIf(process.platform !== 'linux' || !existsSync(terminal))(
  'a person at a terminal is asked, and no means no',
  async () => {
    using home = openHome()
    const file = home.file(clientNamed('cursor'))
    const answer = (word: string): Promise<{ code: number | null; out: string }> =>
      new Promise((resolve) => {
        const command = `"${process.execPath}" "${program}" init cursor --project "${home.project}"`
        const child = spawn(terminal, ['-qec', command, '/dev/null'], {
          env: cleanEnv(home.base),
          stdio: ['pipe', 'pipe', 'inherit'],
        })
        let out = ''
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          if (!out.includes('[y/N]') && (out + text).includes('[y/N]')) child.stdin.write(`${word}\r`)
          out += text
        })
        child.once('close', (code) => resolve({ code, out }))
      })
    const no = await answer('n')
    expect(no.code).toBe(1)
    expect(no.out).toContain('Nothing was written.')
    expect(existsSync(file)).toBe(false)
    const yes = await answer('y')
    expect(yes.code).toBe(0)
    expect(existsSync(file)).toBe(true)
  },
)

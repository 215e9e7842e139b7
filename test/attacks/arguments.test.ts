import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { stdioInside } from '../support/inside.ts'
import { stdioProgram } from '../support/raw-client.ts'
import { openWorld, type World } from '../support/world.ts'

interface Message {
  jsonrpc?: string
  id?: unknown
  result?: { isError?: boolean; content?: { text: string }[]; structuredContent?: unknown }
  error?: { code: number; message: string }
}

/** `handrail mcp`, spoken to in raw lines. Whatever it says on stdout must be JSON, one message a line. */
interface Line {
  readonly world: World
  send(...lines: string[]): void
  raw(bytes: Buffer): void
  /** The next message with this id. */
  answer(id: unknown): Promise<Message>
  /** Sends a ping and waits for its answer: the proof that it still lives and listens. */
  ping(): Promise<void>
  /** What a tool answers to these arguments, given as JSON text: 'ok', the contract's code, or the number of a protocol error. */
  call(tool: string, input: string): Promise<string | number>
  readonly messages: Message[]
  readonly stray: string[]
  [Symbol.asyncDispose](): Promise<void>
}

interface LineOptions {
  args?: string[]
  files?: Record<string, string>
  /** The program itself, whose stdout is all that it says; for a few of them. */
  real?: true
}

async function openLine({ files = { 'a.txt': 'one\n' }, args = [], real }: LineOptions): Promise<Line> {
  const world = await openWorld({ files })
  await world.runtime.close()
  const { input, output, ended } = (real ? stdioProgram : stdioInside)(world.project, { args })
  const messages: Message[] = []
  const stray: string[] = []
  const waiting = new Map<string, ((message: Message) => void)[]>()
  let rest = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
  const take = (line: string): void => {
    let message: Message
    try {
      message = JSON.parse(line) as Message
    } catch {
      stray.push(line.slice(0, 300))
      return
    }
    if (message.jsonrpc !== '2.0') stray.push(line.slice(0, 300))
    messages.push(message)
    waiting.get(JSON.stringify(message.id))?.shift()?.(message)
  }
  let count = 0
  const line: Line = {
    world,
    messages,
    stray,
    send: (...lines) => void input.write(lines.map((one) => `${one}\n`).join('')),
    raw: (bytes) => void input.write(bytes),
    answer: (id) =>
      new Promise((resolve, reject) => {
        const key = JSON.stringify(id)
        waiting.set(key, [...(waiting.get(key) ?? []), resolve])
        void ended.then(() => reject(new Error(`it ended before it answered ${key}`)))
      }),
    async ping() {
      const id = `ping-${++count}`
      const answered = line.answer(id)
      line.send(`{"jsonrpc":"2.0","id":"${id}","method":"ping"}`)
      expect((await answered).result).toBeDefined()
    },
    async call(tool, input) {
      const id = `call-${++count}`
      const answered = line.answer(id)
      line.send(
        `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":${JSON.stringify(tool)},"arguments":${input}}}`,
      )
      const { error, result } = await answered
      if (error) return error.code
      if (!result?.isError) return 'ok'
      return (JSON.parse(result.content?.[0]?.text ?? '{}') as { error: { code: string } }).error.code
    },
    async [Symbol.asyncDispose]() {
      input.end()
      await ended
      await world.reopen()
      await world[Symbol.asyncDispose]()
    },
  }
  const hello = line.answer(0)
  line.send(
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"attacker","version":"1"}}}',
  )
  await hello
  line.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return line
}

/** One attack on one line: it must still answer after it, and have said nothing but JSON (X01). */
function attack(name: string, run: (line: Line) => Promise<void>, options: LineOptions = {}): void {
  test(name, async () => {
    await using line = await openLine(options)
    await run(line)
    await line.ping()
    expect(line.stray).toEqual([])
  })
}

const calls = async (line: Line, rows: [tool: string, input: string, code: string | number | RegExp][]): Promise<void> => {
  for (const [tool, input, code] of rows) {
    const short = input.slice(0, 120)
    expect([tool, short, String(await line.call(tool, input))]).toEqual([
      tool,
      short,
      code instanceof RegExp ? expect.stringMatching(code) : String(code),
    ])
  }
}

attack('A01 wrong types: a number, null, an array, an object, a boolean as path, content, globs, limits', (line) =>
  calls(line, [
    ...['read_file', 'list_files', 'write_to_file', 'replace_in_file', 'search_files'].flatMap((tool) =>
      ['42', 'null', '["a.txt"]', '{"toString":"a.txt"}', 'true', '-0', '""'].map((path): [string, string, RegExp] => [
        tool,
        `{"path":${path},"content":"x","dryRun":true}`,
        /^E_BAD_ARGS$/,
      ]),
    ),
    ['write_to_file', '{"path":"a.txt","content":42,"dryRun":false}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":["x"],"dryRun":false}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":"x","dryRun":"false"}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":"x","dryRun":0}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":"x","dryRun":null}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":"x","dryRun":true,"mode":"truncate"}', 'E_BAD_ARGS'],
    ['list_files', '{"path":".","globs":"**"}', 'E_BAD_ARGS'],
    ['list_files', '{"path":".","globs":[1]}', 'E_BAD_ARGS'],
    ['search_files', '{"path":".","regex":{}}', 'E_BAD_ARGS'],
    ['search_files', '{"path":".","regex":"x","maxMatches":"5"}', 'E_BAD_ARGS'],
    ['replace_in_file', '{"path":"a.txt","find":1,"replace":2}', 'E_BAD_ARGS'],
    ['list_snapshots', '{"limit":"all"}', 'E_BAD_ARGS'],
    ['restore_snapshot', '{"snapshotId":1}', 'E_BAD_ARGS'],
  ]),
)

attack('A01 arguments that are no object at all are refused by the protocol or the contract', async (line) => {
  for (const input of ['[]', '"a.txt"', '42', 'true', 'null', '[{"path":"a.txt"}]'])
    expect([input, String(await line.call('read_file', input))]).toEqual([
      input,
      expect.stringMatching(/^(E_BAD_ARGS|-32602|-32600)$/),
    ])
})

attack('A02 missing arguments', async (line) => {
  await calls(line, [
    ['read_file', '{}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"a.txt","content":"x"}', 'E_BAD_ARGS'],
    ['write_to_file', '{"content":"x","dryRun":true}', 'E_BAD_ARGS'],
    ['replace_in_file', '{"path":"a.txt"}', 'E_BAD_ARGS'],
    ['search_files', '{"path":"."}', 'E_BAD_ARGS'],
    ['restore_snapshot', '{}', 'E_BAD_ARGS'],
  ])
  const none = line.answer(77)
  line.send('{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"read_file"}}')
  expect(JSON.parse((await none).result?.content?.[0]?.text ?? '{}').error.code).toBe('E_BAD_ARGS')
  for (const params of ['{}', 'null', '[]', '{"arguments":{}}', '{"name":5}', '{"name":null,"arguments":{}}']) {
    const refused = line.answer(78)
    line.send(`{"jsonrpc":"2.0","id":78,"method":"tools/call","params":${params}}`)
    expect([params, (await refused).error?.code]).toEqual([params, expect.any(Number)])
  }
  expect(line.world.read('a.txt')).toBe('one\n')
})

attack('A03 an unknown property is refused, and named', async (line) => {
  await calls(line, [
    ['read_file', '{"path":"a.txt","encoding":"latin1"}', 'E_BAD_ARGS'],
    ['write_to_file', '{"path":"b.txt","content":"x","dryRun":true,"force":true}', 'E_BAD_ARGS'],
    ['list_files', '{"path":".","recursive":true}', 'E_BAD_ARGS'],
    ['get_runtime_info', '{"verbose":true}', 'E_BAD_ARGS'],
    ['list_snapshots', '{"limit":-1,"offset":5}', 'E_BAD_ARGS'],
  ])
  expect(line.messages.at(-1)?.result?.content?.[0]?.text).toContain('offset')
})

attack(
  'A04 __proto__, constructor and prototype as properties: refused or dropped, never in force, and nothing is polluted',
  async (line) => {
    await calls(line, [
      // The limit of one byte would show as E_TOO_LARGE.
      ['read_file', '{"path":"a.txt","__proto__":{"maxBytes":1}}', /^(ok|E_BAD_ARGS)$/],
      ['read_file', '{"__proto__":{"path":"a.txt"}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"__proto__":{"path":"b.txt","content":"x","dryRun":false}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"b.txt","content":"x","__proto__":{"dryRun":true}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","constructor":{"prototype":{"dryRun":true}}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","toString":"x"}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","hasOwnProperty":"x"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x"}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt"}', 'ok'],
    ])
    expect(existsSync(line.world.path('b.txt'))).toBe(false)
  },
)

test('A04 the kernel itself refuses a __proto__ property, whatever a protocol library lets through', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  for (const input of [
    '{"path":"a.txt","__proto__":{"maxBytes":1}}',
    '{"__proto__":{"path":"a.txt"}}',
    '{"path":"a.txt","__proto__":null}',
  ])
    expect((await world.fault('read_file', JSON.parse(input))).code).toBe('E_BAD_ARGS')
})

attack('A05 unknown tools, also those every object has, and the one only a person may use', async (line) => {
  for (const tool of [
    'no_such_tool',
    '',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'undo',
    'READ_FILE',
    ' read_file',
    'read_file\u0000',
    '../read_file',
    'x'.repeat(100_000),
  ])
    expect([tool.slice(0, 30), await line.call(tool, '{"last":true,"dryRun":false}')]).toEqual([
      tool.slice(0, 30),
      expect.any(Number),
    ])
  for (const method of ['tools/undo', 'constructor', '__proto__', 'handrail/approve', '', 'TOOLS/CALL']) {
    const refused = line.answer('m')
    line.send(JSON.stringify({ jsonrpc: '2.0', id: 'm', method, params: {} }))
    expect([method, (await refused).error?.code]).toEqual([method, expect.any(Number)])
  }
})

attack(
  'A06 malformed JSON is answered, and the next line is read as usual',
  async (line) => {
    for (const bad of [
      '{',
      '}',
      '{"jsonrpc":"2.0",',
      'hello',
      "{'jsonrpc':'2.0'}",
      '\u0000',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
      '{"a":NaN}',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
    ]) {
      const refused = line.answer(null)
      line.send(bad)
      expect([bad, (await refused).error?.code]).toEqual([bad, -32700])
      await line.ping()
    }
    line.send('', '   ', '\t', '\r', '\ufeff')
  },
  { real: true },
)

attack('A06 valid JSON that is no JSON-RPC message', async (line) => {
  for (const bad of [
    'null',
    'true',
    '5',
    '"ping"',
    '{}',
    '{"jsonrpc":"1.0","method":"ping"}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","method":5}',
    '{"method":"ping"}',
    '{"jsonrpc":"2.0","method":"ping","params":[1]}',
  ]) {
    const before = line.messages.length
    const refused = line.answer(null)
    line.send(bad)
    expect([bad, (await refused).error?.code]).toEqual([bad, -32600])
    expect(line.messages.length).toBe(before + 1)
  }
})

attack('A06 a message that comes byte by byte, split inside its characters', async (line) => {
  const answered = line.answer('海')
  for (const byte of Buffer.from('{"jsonrpc":"2.0","id":"海","method":"ping"}\r\n')) {
    line.raw(Buffer.from([byte]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await answered).result).toBeDefined()
})

attack(
  'A06 bytes that are no UTF-8 are refused, not turned into other text and written',
  async (line) => {
    const refused = line.answer(null)
    line.raw(Buffer.from([0x7b, 0xff, 0xfe, 0x22, 0x0a]))
    expect((await refused).error?.code).toBe(-32700)
    const [head, tail] = [
      '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"b.txt","dryRun":false,"content":"',
      '"}}}\n',
    ]
    line.raw(Buffer.concat([Buffer.from(head as string), Buffer.from([0x63, 0xe9]), Buffer.from(tail as string)]))
    await line.ping()
    expect(existsSync(line.world.path('b.txt'))).toBe(false)
  },
  { args: ['--write-requires-diff', 'false'] },
)

attack(
  'A07 JSON nested 20,000 and 2,000,000 deep',
  async (line) => {
    for (const depth of [20_000, 2_000_000]) {
      const deep = '['.repeat(depth) + ']'.repeat(depth)
      expect([depth, String(await line.call('read_file', `{"path":${deep}}`))]).toEqual([
        depth,
        expect.stringMatching(/^(E_BAD_ARGS|-32\d+)$/),
      ])
      expect([depth, String(await line.call('read_file', `{"path":"a.txt","more":${deep}}`))]).toEqual([
        depth,
        expect.stringMatching(/^(E_BAD_ARGS|-32\d+)$/),
      ])
      await line.ping()
    }
    const objects = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)
    expect(String(await line.call('write_to_file', `{"path":"a.txt","content":${objects},"dryRun":true}`))).toMatch(
      /^(E_BAD_ARGS|-32\d+)$/,
    )
    const refused = line.answer(null)
    line.send('['.repeat(1_000_000))
    expect((await refused).error?.code).toBe(-32700)
  },
  { real: true },
)

attack('A08 64 MB argument string: an error that names the request, then a ping is answered', async (line) => {
  const refused = line.answer(901)
  line.send(
    `{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"big.txt","dryRun":false,"content":"${'x'.repeat(64 << 20)}"}}}`,
  )
  expect((await refused).error?.code).toBe(-32600)
  await line.ping()
  expect(existsSync(line.world.path('big.txt'))).toBe(false)
})

attack('A08 20 MB of content and a path of 20 MB fit the line, and are refused by the contract', async (line) => {
  const big = 'x'.repeat(20 << 20)
  expect(await line.call('write_to_file', `{"path":"big.txt","content":"${big}","dryRun":true}`)).toBe('E_TOO_LARGE')
  expect(await line.call('read_file', `{"path":"${big}"}`)).toBe('E_DENY_PATH')
  expect(await line.call('search_files', `{"path":".","regex":"${big}"}`)).toBe('E_BAD_ARGS')
  expect(JSON.stringify(line.messages).length).toBeLessThan(50_000)
  expect(readFileSync(line.world.state('audit.jsonl')).length).toBeLessThan(50_000)
})

attack('A09 lone surrogates in path, content, find, replace, regex and globs', async (line) => {
  await calls(line, [
    ['read_file', '{"path":"\\ud800.txt"}', 'E_DENY_PATH'],
    ['read_file', '{"path":"a\\udfff"}', 'E_DENY_PATH'],
    ['list_files', '{"path":"\\udc00"}', 'E_DENY_PATH'],
    ['write_to_file', '{"path":"b.txt","content":"\\ud800","dryRun":true}', 'E_ENCODING'],
    ['write_to_file', '{"path":"b.txt","content":"ok \\udc00\\ud800","dryRun":false}', /^(E_ENCODING|E_POLICY_VIOLATION)$/],
    ['replace_in_file', '{"path":"a.txt","find":"one","replace":"\\ud83d"}', 'E_ENCODING'],
    ['replace_in_file', '{"path":"a.txt","find":"\\ud83d","replace":"x"}', /^(ok|E_BAD_ARGS|E_ENCODING)$/],
    ['search_files', '{"path":".","regex":"\\ud800"}', /^(ok|E_BAD_ARGS)$/],
    ['list_files', '{"path":".","globs":["\\ud800*"]}', /^(ok|E_BAD_ARGS)$/],
    ['write_to_file', '{"path":"b.txt","content":"x","dryRun":true,"idempotencyKey":"\\ud800"}', /^(ok|E_BAD_ARGS)$/],
  ])
  expect(line.world.read('a.txt')).toBe('one\n')
  expect(existsSync(line.world.path('b.txt'))).toBe(false)
})

attack('A10 numbers at the edge: -0, 1e308, 1e400, fractions, negative, NaN as text', (line) =>
  calls(line, [
    ['read_file', '{"path":"a.txt","maxBytes":1e308}', 'ok'],
    ['read_file', '{"path":"a.txt","maxBytes":1e400}', 'E_BAD_ARGS'],
    ['read_file', '{"path":"a.txt","maxBytes":-0}', 'E_BAD_ARGS'],
    ['read_file', '{"path":"a.txt","maxBytes":-1}', 'E_BAD_ARGS'],
    ['read_file', '{"path":"a.txt","maxBytes":1.5}', 'E_BAD_ARGS'],
    ['read_file', '{"path":"a.txt","maxBytes":"NaN"}', 'E_BAD_ARGS'],
    ['read_file', '{"path":"a.txt","maxBytes":1}', 'E_TOO_LARGE'],
    ['read_file', '{"path":"a.txt","maxBytes":99999999999999999999}', 'ok'],
    ['search_files', '{"path":".","regex":"one","maxMatches":1e308}', 'ok'],
    ['search_files', '{"path":".","regex":"one","maxMatches":0}', 'E_BAD_ARGS'],
    ['search_files', '{"path":".","regex":"one","maxMatches":1e400}', 'E_BAD_ARGS'],
    ['list_snapshots', '{"limit":-0}', 'ok'],
    ['list_snapshots', '{"limit":-1e308}', 'ok'],
    ['list_snapshots', '{"limit":1e308}', 'E_BAD_ARGS'],
    ['list_snapshots', '{"limit":1e400}', 'E_BAD_ARGS'],
    ['list_snapshots', '{"limit":2.5}', 'ok'],
    ['list_snapshots', '{"limit":"NaN"}', 'E_BAD_ARGS'],
  ]),
)

attack(
  'A11 duplicate keys: the last one counts, for the check and for the act alike',
  async (line) => {
    await calls(line, [
      ['read_file', '{"path":"a.txt","path":"../outside"}', 'E_DENY_PATH'],
      ['read_file', '{"path":"../outside","path":"a.txt"}', 'ok'],
      ['write_to_file', '{"path":"a.txt","path":".git/config","content":"x","dryRun":false}', 'E_DENY_PATH'],
      ['write_to_file', '{"path":"b.txt","content":"x","dryRun":false,"dryRun":true}', 'ok'],
    ])
    expect(existsSync(line.world.path('b.txt'))).toBe(false)
    const twice = line.answer('second')
    line.send('{"jsonrpc":"2.0","id":"first","id":"second","method":"ping"}')
    expect((await twice).result).toBeDefined()
  },
  { args: ['--write-requires-diff', 'false'] },
)

const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype', 'valueOf']
attack('A12 names every object has, as path: written, read back and found like any other', async (line) => {
  for (const name of inherited) {
    const content = `${name} one\\n`
    expect([name, await line.call('read_file', `{"path":"${name}"}`)]).toEqual([name, 'E_NOT_FOUND'])
    expect([name, await line.call('write_to_file', `{"path":"${name}","content":"${content}","dryRun":true}`)]).toEqual([
      name,
      'ok',
    ])
    expect([name, await line.call('write_to_file', `{"path":"${name}","content":"${content}","dryRun":false}`)]).toEqual([
      name,
      'ok',
    ])
    expect(line.world.read(name)).toBe(`${name} one\n`)
    expect([name, await line.call('replace_in_file', `{"path":"${name}","find":"one","replace":"two"}`)]).toEqual([name, 'ok'])
    expect([name, await line.call('list_snapshots', `{"path":"${name}"}`)]).toEqual([name, 'ok'])
  }
})

attack('A12 a change on disk after the dry run is noticed for these names too', async (line) => {
  for (const name of inherited) {
    line.world.write(`./${name}`, 'before\n')
    expect([name, await line.call('write_to_file', `{"path":"${name}","content":"mine\\n","dryRun":true}`)]).toEqual([name, 'ok'])
    line.world.write(`./${name}`, 'theirs\n')
    expect([name, await line.call('write_to_file', `{"path":"${name}","content":"mine\\n","dryRun":false}`)]).toEqual([
      name,
      'E_CONFLICT',
    ])
    expect(line.world.read(name)).toBe('theirs\n')
  }
})

attack(
  'A12 names every object has, as idempotencyKey: remembered like any other',
  async (line) => {
    for (const name of inherited) {
      const write = (content: string): string =>
        `{"path":"k.txt","content":"${content}","dryRun":false,"idempotencyKey":"${name}"}`
      expect([name, await line.call('write_to_file', write(`${name} a`))]).toEqual([name, 'ok'])
      expect([name, await line.call('write_to_file', write(`${name} a`))]).toEqual([name, 'ok'])
      expect([name, await line.call('write_to_file', write(`${name} b`))]).toEqual([name, 'E_CONFLICT'])
      expect(line.world.read('k.txt')).toBe(`${name} a`)
    }
  },
  { args: ['--write-requires-diff', 'false'] },
)

attack('A14 batch arrays are refused whole, and nothing in them is done', async (line) => {
  const write =
    '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"b.txt","content":"x","dryRun":false}}}'
  for (const batch of ['[]', `[${write}]`, `[${write},${write}]`, '[1,2,3]', '[[]]']) {
    const refused = line.answer(null)
    line.send(batch)
    expect([batch.slice(0, 20), (await refused).error?.code]).toEqual([batch.slice(0, 20), -32600])
  }
  expect(existsSync(line.world.path('b.txt'))).toBe(false)
})

attack('A14 ids: null, fractional, huge, an object, a very long text', async (line) => {
  for (const id of ['null', '1.5', '{}', '[1]', 'true', '1e400', '-1e308']) {
    const before = line.messages.length
    line.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)
    await line.ping()
    const [answer] = line.messages.slice(before)
    expect([id, answer?.result]).toEqual([id, undefined])
    expect([id, answer?.error?.code]).toEqual([id, -32600])
  }
  for (const id of [0, -1, Number.MAX_SAFE_INTEGER, '', '__proto__', 'x'.repeat(100_000), '\u2028"\\\n']) {
    const answered = line.answer(id)
    line.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }))
    expect((await answered).result).toBeDefined()
  }
})

attack('A14 the same id twice at once: two answers, no confusion', async (line) => {
  const both = [line.answer(5), line.answer(5)]
  line.send('{"jsonrpc":"2.0","id":5,"method":"ping"}', '{"jsonrpc":"2.0","id":5,"method":"ping"}')
  await Promise.all(both)
})

attack('A14 many notifications (soak: 100,000), known and unknown, and cancellations of what was never asked', async (line) => {
  const kinds = [
    '{"jsonrpc":"2.0","method":"notifications/x"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"n.txt","content":"x","dryRun":false}}}',
  ]
  for (let round = 0; round < sweep(100, 2); round++)
    line.send(...Array.from({ length: 1_000 }, (_, index) => kinds[index % kinds.length] as string))
  await line.ping()
  expect(line.messages.filter((message) => message.id === undefined || message.id === null)).toEqual([])
  expect(existsSync(line.world.path('n.txt'))).toBe(false)
})

attack('A14 answers to questions that were never asked', async (line) => {
  line.send(
    '{"jsonrpc":"2.0","id":12345,"result":{}}',
    '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"x":1}}}',
  )
})

/** A request of exactly this many bytes, newline not counted. */
function sized(bytes: number, id: string): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"pad":"`
  return `${head}${'x'.repeat(bytes - head.length - 3)}"}}`
}

const longest = 32 << 20

attack('A15 a message of 32 MB is taken, one byte more is answered with an error', async (line) => {
  const taken = line.answer(1001)
  line.send(sized(longest, '1001'))
  expect((await taken).result).toBeDefined()
  const refused = line.answer(1002)
  line.send(sized(longest + 1, '1002'))
  expect((await refused).error?.code).toBe(-32600)
  await line.ping()
  const named = line.answer('a name')
  line.send(sized(longest + 1, '"a name"'))
  expect((await named).error?.code).toBe(-32600)
})

const oddIds = [
  ['a number with leading zeros', '007'],
  ['a text with a raw tab in it', '"a\tb"'],
  ['a text with a raw control character in it', '"a\u0001b"'],
  ['a fraction', '1.5'],
  ['a number too large', '9'.repeat(400)],
] as const
/** All of them in a soak, else two of them, others with every seed: each takes 32 MB. */
const firstOdd = draws('odd ids')(oddIds.length)
for (const [what, id] of isSoak ? oddIds : [...oddIds, ...oddIds].slice(firstOdd, firstOdd + 2))
  attack(
    `X01 the answer to a message that is too long is JSON, and claims no other id, where its id is ${what}`,
    async (line) => {
      const before = line.messages.length
      line.send(sized(longest + 1, id))
      await line.ping()
      expect(line.stray).toEqual([])
      const [answer] = line.messages.slice(before)
      expect(answer?.error?.code).toBe(-32600)
      expect([null, JSON.parse(id.startsWith('"') || id === '007' ? 'null' : id)]).toContainEqual(answer?.id)
    },
  )

attack('A15 a line that never ends is dropped as it comes, and the one after it is read', async (line) => {
  const refused = line.answer(null)
  line.send(`${' '.repeat(longest)}${'y'.repeat(1 << 20)}`)
  expect((await refused).error?.code).toBe(-32600)
})

attack(
  'X01 nothing but JSON on stdout, whatever is asked',
  async (line) => {
    for (const tool of [
      'list_files',
      'read_file',
      'write_to_file',
      'replace_in_file',
      'search_files',
      'list_snapshots',
      'restore_snapshot',
      'get_runtime_info',
      'ask_followup_question',
      'attempt_completion',
    ])
      for (const input of [
        '{}',
        '{"path":"."}',
        '{"path":"a.txt"}',
        '{"path":".","regex":"("}',
        '{"question":"a\\nb\\u001b[2J"}',
        '{"result":"\\u2028\\n{"}',
      ])
        await line.call(tool, input)
  },
  { real: true },
)

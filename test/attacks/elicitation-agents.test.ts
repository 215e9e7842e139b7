import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ways } from '../support/serve.ts'
import {
  after,
  approvalOf,
  before,
  cancel,
  change,
  changing,
  codeOf,
  type House,
  legacy,
  manyLines,
  type Message,
  no,
  openHouse,
  overHttp,
  propose,
  questionsAbout,
  someOf,
  until,
  type Wire,
  yes,
} from '../support/raw-client.ts'
import { isSoak, sweep } from '../support/soak.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

describe('G08 an agent answers for itself', () => {
  let mute: House
  beforeAll(async () => {
    mute = await openHouse({ limits: { approvalWaitMs: 0 } })
  })
  afterAll(() => mute[Symbol.asyncDispose]())

  test.for(someOf(ways))('a client that cannot show forms sends answers all the same, over %s', async (way) => {
    await using wire = await mute.open(way, { capabilities: {} })
    const path = mute.place()
    const attempt = (more: Record<string, unknown>): Promise<Message> => wire.call('write_to_file', changing(path), more)
    for (const more of [
      { inputResponses: { person: yes } },
      { inputResponses: { person: yes }, requestState: 'v1.e30.AAAA' },
      { _meta: { 'handrail/decision': 'approve', role: 'person' } },
    ])
      expect(['E_POLICY_VIOLATION', '-32602']).toContain(codeOf(await attempt(more)))
    const { id } = approvalOf(mute, path)
    for (const method of [
      'approvals/decide',
      'approvals/approve',
      'handrail/approve',
      'elicitation/create',
      'elicitation/respond',
    ])
      expect([method, (await wire.ask(method, { id, approvalId: id, approve: true, decision: 'approve' })).error?.code]).toEqual([
        method,
        -32601,
      ])
    for (const tool of ['approvals', 'approve', 'decide', 'approvals.decide', 'elicitation/create'])
      expect([tool, codeOf(await wire.call(tool, { id, approve: true, decision: 'approve' }))]).toEqual([tool, '-32602'])
    for (const uri of ['handrail://approvals', `handrail://approvals/${id}`, `handrail://approvals/${id}/approve`])
      expect([uri, (await wire.ask('resources/read', { uri })).error?.code]).toEqual([uri, expect.any(Number)])
    wire.tell({ method: 'notifications/elicitation/complete', params: { elicitationId: id } })
    for (const form of [0, 1, 2, id, 'handrail-1', 'person']) wire.tell({ id: form, result: yes })
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    expect([mute.world.read(path), approvalOf(mute, path).state]).toEqual([before, 'pending'])
  })
})

test.for(legacy)("G08 answers that come before their form are nobody's, over %s", async (way) => {
  await using wire = await house.open(way)
  const path = house.place()
  for (let form = 0; form < 5; form++) {
    wire.tell({ id: form, result: yes })
    wire.tell({ id: `handrail-${form}`, result: yes })
  }
  expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
  const asked = await change(wire, path)
  expect(asked.form).toBeDefined()
  await pause(300)
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  expect(codeOf(await asked.answer(no))).toBe('E_POLICY_VIOLATION')
})

test.for(['http 2025', 'sse'] as const)("G08 another connection answers this one's form, over %s", async (way) => {
  await using wire = await house.open(way)
  await using other = await house.open(way)
  const path = house.place()
  const asked = await change(wire, path)
  for (const id of [asked.form?.id, String(asked.form?.id)]) {
    other.tell({ id, result: yes })
    ;(await house.wire('http 2026')).tell({ id, result: yes })
  }
  other.tell({ method: 'notifications/cancelled', params: { requestId: asked.form?.id } })
  expect(codeOf(await other.call('read_file', { path }))).toBe('ok')
  await pause(300)
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  expect(codeOf(await asked.answer(no))).toBe('E_POLICY_VIOLATION')
})

test("G08 an agent's token opens no approval, by any method", async () => {
  const wire = await house.wire('http 2026')
  const path = house.place()
  const asked = await change(wire, path)
  const { id } = approvalOf(house, path)
  const credentials: Record<string, string>[] = [
    { Authorization: `Bearer ${house.served.token}` },
    { Cookie: `handrail_person=${house.served.token}` },
    { Cookie: 'handrail_person=a.b.c' },
  ]
  for (const headers of credentials)
    for (const [method, where] of [
      ['POST', `/approvals/${id}`],
      ['GET', `/approvals/${id}`],
      ['POST', '/approvals'],
      ['PUT', `/approvals/${id}`],
      ['POST', `/api/approvals/${id}`],
      ['GET', `/sign-in?key=${house.served.token}`],
    ] as const) {
      const body = method === 'GET' ? null : new URLSearchParams({ decision: 'approve' })
      const { status } = await fetch(house.served.url + where, { method, headers, body, redirect: 'manual' })
      expect([method, where, status >= 400]).toEqual([method, where, true])
    }
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  await asked.answer(cancel)
})

describe('G08 policies.askInEditor false', () => {
  let strict: House
  beforeAll(async () => {
    strict = await openHouse({ policies: { askInEditor: false } })
  })
  afterAll(() => strict[Symbol.asyncDispose]())

  test.for(someOf(ways))('the store is the only way; a question that decides nothing is still put, over %s', async (way) => {
    const wire = await strict.wire(way)
    for (const content of [after, manyLines]) {
      const path = strict.place()
      const done = wire.call('write_to_file', changing(path, content), { inputResponses: { person: yes } })
      const { id } = await until(() => questionsAbout(strict, path)[0], 'the question')
      expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
      expect([strict.world.read(path), approvalOf(strict, path).state]).toEqual([before, 'pending'])
      strict.world.runtime.approvals.decide(id, { approve: true, by: 'test' })
      expect(codeOf(await done)).toBe('ok')
      expect(wire.heard.filter(({ method }) => method === 'elicitation/create')).toEqual([])
    }
    const question = await propose(wire, 'ask_followup_question', { question: 'Still there?' })
    const answered = await question.answer({ action: 'accept', content: { answer: 'yes' } })
    expect(answered.result?.structuredContent).toEqual({ ack: true, answer: 'yes' })
  })
})

test('G08 switched off while forms are open: what they say counts no more', async () => {
  await using live = await openHouse()
  const asked = await Promise.all(
    ways.map(async (way) => {
      const path = live.place()
      return { way, path, asked: await change(await live.wire(way), path) }
    }),
  )
  const settings = { policies: { writeRequiresDiff: false, askInEditor: false }, limits: { approvalWaitMs: 300 } }
  live.world.write('handrail.config.json', JSON.stringify(settings))
  // One process for HTTP and one for each stdio wire.
  await until(
    () => [...live.world.runtime.audit.lines()].filter(({ event }) => event === 'settings.changed').length >= 3,
    'the new settings in every process',
  )
  const decided: string[] = []
  for (const { way, path, asked: one } of asked) {
    expect(one.form).toBeDefined()
    const answer = await one.answer(yes)
    if (codeOf(answer) === 'ok' || approvalOf(live, path).state !== 'pending') decided.push(way)
  }
  expect(decided).toEqual([])
})

/** The A group over everything that is not stdio, which has its own file: each attack is answered, and the next call works. */
describe.for(overHttp)('over %s', (way) => {
  let wire: Wire
  beforeAll(async () => {
    wire = await house.open(way, { capabilities: {} })
  })
  afterAll(() => wire[Symbol.asyncDispose]())

  /** What the arguments of a call are is looked at behind all ways alike: over one of them, and in a soak over each. */
  function attack(name: string, run: () => Promise<void>, ...[differs]: ['by way'?]): void {
    test.runIf(isSoak || differs || way === 'http 2026')(name, async () => {
      await run()
      expect(codeOf(await wire.call('read_file', { path: 'a.txt' })), 'the next call').toBe('ok')
    })
  }

  /** Each row: a tool, its arguments as JSON text, and how it must end. */
  async function calls(rows: [tool: string, input: string, code: string | RegExp][]): Promise<void> {
    for (const [tool, input, code] of rows) {
      const short = input.slice(0, 120)
      const wanted = code instanceof RegExp ? (expect.stringMatching(code) as string) : code
      expect([tool, short, await wire.code(tool, input)]).toEqual([tool, short, wanted])
    }
  }

  attack('A01 wrong types', () =>
    calls([
      ...['read_file', 'write_to_file', ...(isSoak ? ['list_files', 'replace_in_file', 'search_files'] : [])].flatMap((tool) =>
        ['42', 'null', '["a.txt"]', '{"toString":"a.txt"}', 'true', '-0', '""'].map((path): [string, string, string] => [
          tool,
          `{"path":${path},"content":"x","dryRun":true}`,
          'E_BAD_ARGS',
        ]),
      ),
      ['write_to_file', '{"path":"a.txt","content":42,"dryRun":false}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x","dryRun":"false"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x","dryRun":0}', 'E_BAD_ARGS'],
      ['list_files', '{"path":".","globs":"**"}', 'E_BAD_ARGS'],
      ['search_files', '{"path":".","regex":{}}', 'E_BAD_ARGS'],
      ['list_snapshots', '{"limit":"all"}', 'E_BAD_ARGS'],
      ['restore_snapshot', '{"snapshotId":1}', 'E_BAD_ARGS'],
      ...['[]', '"a.txt"', '42', 'true', 'null', '[{"path":"a.txt"}]'].map((input): [string, string, RegExp] => [
        'read_file',
        input,
        /^(E_BAD_ARGS|-32602|-32600)$/,
      ]),
    ]),
  )

  attack('A02 missing arguments', async () => {
    await calls([
      ['read_file', '{}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"content":"x","dryRun":true}', 'E_BAD_ARGS'],
      ['restore_snapshot', '{}', 'E_BAD_ARGS'],
    ])
    expect(codeOf(await wire.raw('tools/call', '{"name":"read_file"}', 'read_file'))).toBe('E_BAD_ARGS')
    for (const params of ['{}', '{"arguments":{}}', '{"name":5}', '{"name":null,"arguments":{}}'])
      expect([params, codeOf(await wire.raw('tools/call', params, ''))]).toEqual([params, expect.stringMatching(/^-32\d{3}$/)])
  })

  attack('A03 an unknown property is refused', () =>
    calls([
      ['read_file', '{"path":"a.txt","encoding":"latin1"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"b.txt","content":"x","dryRun":true,"force":true}', 'E_BAD_ARGS'],
      ['get_runtime_info', '{"verbose":true}', 'E_BAD_ARGS'],
    ]),
  )

  attack('A04 __proto__, constructor and prototype as properties: refused or dropped, never in force', async () => {
    await calls([
      // The limit of one byte would show as E_TOO_LARGE.
      ['read_file', '{"path":"a.txt","__proto__":{"maxBytes":1}}', /^(ok|E_BAD_ARGS)$/],
      ['read_file', '{"__proto__":{"path":"a.txt"}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"__proto__":{"path":"p.txt","content":"x","dryRun":false}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"p.txt","content":"x","__proto__":{"dryRun":false}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","constructor":{"prototype":{"dryRun":true}}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","toString":"x"}', 'E_BAD_ARGS'],
    ])
    for (const params of [
      '{"__proto__":{"name":"read_file"},"arguments":{"path":"a.txt"}}',
      '{"name":"read_file","__proto__":{"arguments":{"path":"a.txt"}}}',
    ])
      expect([params, codeOf(await wire.raw('tools/call', params, 'read_file'))]).toEqual([
        params,
        expect.stringMatching(/^(-32\d{3}|E_BAD_ARGS)$/),
      ])
    expect(existsSync(house.world.path('p.txt'))).toBe(false)
  })

  attack(
    'A05 unknown tools and methods, also those every object has',
    async () => {
      const names = ['no_such_tool', '', '__proto__', 'constructor', 'toString', 'undo', 'read_audit', 'READ_FILE']
      for (const tool of [...names, ' read_file', 'read_file\u0000', '../read_file', '海', 'x'.repeat(100_000)])
        expect([tool.slice(0, 30), await wire.code(tool, '{"last":true}')]).toEqual([
          tool.slice(0, 30),
          expect.stringMatching(/^-32\d{3}$/),
        ])
      for (const method of ['tools/undo', 'constructor', '__proto__', 'handrail/approve', '', 'TOOLS/CALL', 'x'.repeat(10_000)])
        expect([method.slice(0, 30), codeOf(await wire.raw(method, '{}', ''))]).toEqual([
          method.slice(0, 30),
          expect.stringMatching(/^-32\d{3}$/),
        ])
    },
    'by way',
  )

  attack(
    'A06 what is no JSON, no UTF-8 or no message is refused',
    async () => {
      const noJson = [
        '{',
        '}',
        '',
        'hello',
        "{'jsonrpc':'2.0'}",
        '\u0000',
        '{"a":NaN}',
        '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
      ]
      const noMessage = ['null', 'true', '5', '"ping"', '{}', '{"jsonrpc":"1.0","method":"ping"}', '{"jsonrpc":"2.0"}']
      for (const bad of [...noJson, ...noMessage, '{"jsonrpc":"2.0","method":5}', '{"method":"ping"}'])
        expect([bad, await wire.send(bad)]).toMatchObject([bad, { status: 400, said: { error: {} } }])
      const head = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"u.txt","dryRun":false,"content":"`
      const bytes = Buffer.concat([Buffer.from(head), Buffer.from([0x63, 0xe9]), Buffer.from('"}}}')])
      expect(await wire.send(bytes)).toMatchObject({ status: 400 })
      expect(existsSync(house.world.path('u.txt'))).toBe(false)
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
        expect([type, (await wire.send('{}', { 'Content-Type': type })).status]).toEqual([type, 415])
    },
    'by way',
  )

  attack('A07 JSON nested 20,000 and 2,000,000 deep', async () => {
    for (const depth of [20_000, 2_000_000])
      for (const deep of ['['.repeat(depth) + ']'.repeat(depth), `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`])
        expect([depth, await wire.code('read_file', `{"path":${deep}}`)]).toEqual([
          depth,
          expect.stringMatching(/^(E_BAD_ARGS|-32\d{3}|-400)$/),
        ])
    expect(await wire.send('['.repeat(1_000_000))).toMatchObject({ status: 400 })
  })

  attack('A08 40 MB argument string (soak: 64): an error, and nothing is written', async () => {
    const answer = await wire
      .code('write_to_file', `{"path":"big.txt","dryRun":false,"content":"${'x'.repeat(sweep(64, 40) << 20)}"}`)
      // The connection may be closed before all of it is sent.
      .catch((fault: NodeJS.ErrnoException) => fault.code)
    expect(['-32600', '-413', 'EPIPE', 'ECONNRESET']).toContain(answer)
    expect(existsSync(house.world.path('big.txt'))).toBe(false)
    const big = 'x'.repeat(20 << 20)
    expect(await wire.code('write_to_file', `{"path":"big.txt","content":"${big}","dryRun":true}`)).toBe('E_TOO_LARGE')
  })

  attack('A09 lone surrogates', async () => {
    await calls([
      ['read_file', '{"path":"\\ud800.txt"}', 'E_DENY_PATH'],
      ['list_files', '{"path":"\\udc00"}', 'E_DENY_PATH'],
      ['write_to_file', '{"path":"b.txt","content":"\\ud800","dryRun":false}', 'E_ENCODING'],
      ['replace_in_file', '{"path":"a.txt","find":"one","replace":"\\ud83d"}', 'E_ENCODING'],
      ['search_files', '{"path":".","regex":"\\ud800"}', /^(ok|E_BAD_ARGS)$/],
    ])
    expect(house.world.read('a.txt')).toBe('one\n')
  })

  attack('A10 numbers at the edge', () =>
    calls([
      ['read_file', '{"path":"a.txt","maxBytes":1e308}', 'ok'],
      ['read_file', '{"path":"a.txt","maxBytes":1e400}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":-0}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":1.5}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":"NaN"}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":1}', 'E_TOO_LARGE'],
      ['list_snapshots', '{"limit":-1e308}', 'ok'],
      ['list_snapshots', '{"limit":1e400}', 'E_BAD_ARGS'],
      ['search_files', '{"path":"a.txt","regex":"one","maxMatches":0}', 'E_BAD_ARGS'],
    ]),
  )

  attack('A11 duplicate keys: the last one counts, for the check and for the act alike', async () => {
    await calls([
      ['read_file', '{"path":"a.txt","path":"../outside"}', 'E_DENY_PATH'],
      ['read_file', '{"path":"../outside","path":"a.txt"}', 'ok'],
      ['write_to_file', '{"path":"a.txt","path":".git/config","content":"x","dryRun":false}', 'E_DENY_PATH'],
      ['write_to_file', '{"path":"d.txt","content":"x","dryRun":false,"dryRun":true}', 'ok'],
    ])
    expect(existsSync(house.world.path('d.txt'))).toBe(false)
    // What the header says is held against the tool that is run, not against another of that name.
    const params = '{"name":"read_file","name":"no_such_tool","arguments":{"path":"a.txt"}}'
    expect(codeOf(await wire.raw('tools/call', params, 'read_file'))).toMatch(/^-32\d{3}$/)
  })

  attack('A12 names every object has, as path and as key', async () => {
    const folder = `names-${way.replace(' ', '-')}`
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype']) {
      const path = `"path":"${folder}/${name}"`
      const write = (content: string): string =>
        `{${path},"content":"${content}","dryRun":false,"idempotencyKey":"${name} ${way}"}`
      await calls([
        ['read_file', `{${path}}`, 'E_NOT_FOUND'],
        ['write_to_file', write('one'), 'ok'],
        ['write_to_file', write('one'), 'ok'],
        ['write_to_file', write('two'), 'E_CONFLICT'],
        ['read_file', `{${path}}`, 'ok'],
        ['list_snapshots', `{${path}}`, 'ok'],
      ])
      expect(house.world.read(`${folder}/${name}`)).toBe('one')
    }
  })

  attack(
    'A14 a batch does nothing that its messages could not',
    async () => {
      const path = house.place()
      const one = (id: number, name: string, input: object): object => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name, arguments: input },
      })
      const many = Array.from({ length: 101 }, (_, index) => one(index, 'read_file', { path: 'a.txt' }))
      for (const batch of [[], many, [1, 2, 3], [[]]])
        expect([batch.length, (await wire.send(JSON.stringify(batch))).status]).toEqual([batch.length, 400])
      const { status } = await wire.send(JSON.stringify([one(5, 'write_to_file', changing(path)), one(6, 'read_file', { path })]))
      // A session of 2025 may take a batch: then each message in it goes the road of any message.
      expect(way === 'http 2025' ? [200, 400] : [400]).toContain(status)
      expect(house.world.read(path)).toBe(before)
    },
    'by way',
  )

  attack(
    'A14 ids that are none',
    async () => {
      const params = '{"name":"read_file","arguments":{"path":"a.txt"}}'
      for (const id of ['1.5', '{}', '[1]', 'true', '1e400']) {
        const { status, said } = await wire.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`)
        expect([id, status, said?.result]).toEqual([id, 400, undefined])
      }
    },
    'by way',
  )

  attack(
    'A14 notifications nobody asked for, and answers to nothing',
    async () => {
      const input = { path: 'n.txt', content: 'x', dryRun: false }
      const kinds = [
        { method: 'notifications/x' },
        { method: 'notifications/cancelled', params: { requestId: 999 } },
        { method: 'notifications/progress', params: { progressToken: 1, progress: 2 } },
        { method: 'tools/call', params: { name: 'write_to_file', arguments: input } },
        { id: 12_345, result: {} },
        { id: 'x', error: { code: 1, message: 'm' } },
      ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
      for (let round = 0; round < sweep(20, 2); round++)
        await Promise.all(kinds.flatMap((message) => [wire.send(message), wire.send(message), wire.send(message)]))
      expect(existsSync(house.world.path('n.txt'))).toBe(false)
    },
    'by way',
  )

  attack('A15 a message of 10 MB and one byte is answered like any other', async () => {
    const head = '{"path":"a.txt","pad":"'
    expect(await wire.code('read_file', `${head}${'x'.repeat((10 << 20) + 1 - head.length)}"}`)).toBe('E_BAD_ARGS')
  })

  attack(
    'A15 one byte more than 32 MB is refused',
    async () => {
      const { status } = await wire.send(Buffer.alloc((32 << 20) + 1, 0x20)).catch(() => ({ status: 413 }))
      expect(status).toBe(413)
    },
    'by way',
  )
})

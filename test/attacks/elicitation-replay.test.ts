import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openServe, ways } from '../support/serve.ts'
import {
  after,
  approvalOf,
  before,
  cancel,
  change,
  changing,
  codeOf,
  decisions,
  faultIn,
  type House,
  legacy,
  type Message,
  modern,
  no,
  openHouse,
  openWire,
  propose,
  someOf,
  until,
  type Wire,
  withdrawn,
  yes,
} from '../support/raw-client.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

/** A call with something that came back from a form. */
const retry = (wire: Wire, tool: string, input: object, requestState: unknown, person: unknown = yes): Promise<Message> =>
  wire.call(tool, input, { requestState, ...(person !== undefined && { inputResponses: { person } }) })

const refusedState = { code: -32602, message: 'Invalid or expired requestState' }

describe.for(someOf(modern))('G01 approve one call, run another, over %s', (way) => {
  test('other content, another path, another tool, another mode, another key', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const other = house.place()
    const asked = await change(wire, path)
    const attacks: [string, object][] = [
      ['write_to_file', changing(path, `${after} `)],
      ['write_to_file', changing(other)],
      ['write_to_file', { ...changing(path), mode: 'append' }],
      ['write_to_file', { ...changing(path), idempotencyKey: 'k' }],
      ['write_to_file', { ...changing(path), dryRun: true }],
      ['replace_in_file', { path, find: 'game', replace: 'evil' }],
      ['replace_in_file', changing(path)],
      ['ask_followup_question', { question: 'x' }],
      ['no_such_tool', changing(path)],
    ]
    for (const [tool, input] of attacks)
      expect([tool, input, (await retry(wire, tool, input, asked.form?.state)).error]).toMatchObject([tool, input, refusedState])
    expect([house.world.read(path), house.world.read(other)]).toEqual([before, before])
    expect(approvalOf(house, path).state).toBe('pending')
    expect(codeOf(await asked.answer(yes)), 'the call itself is not spoilt by it').toBe('ok')
  })

  test("a question's answer is no approval, and an approval's no answer", async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const question = await propose(wire, 'ask_followup_question', { question: 'May I?' })
    expect((await retry(wire, 'write_to_file', changing(path), question.form?.state)).error).toMatchObject(refusedState)
    const said = { action: 'accept', content: { decision: 'approve', answer: 'approve' } }
    expect((await retry(wire, 'ask_followup_question', { question: 'May I?' }, asked.form?.state, said)).error).toMatchObject(
      refusedState,
    )
    expect((await question.answer(said)).result?.structuredContent).toEqual({ ack: true, answer: 'approve' })
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  })
})

test('G01 approve in one client, run in another, over HTTP', async () => {
  const wire = await house.wire('http 2026')
  const path = house.place()
  const asked = await change(wire, path)
  for (const name of ['by-hand2', 'By-Hand', '', 'x'.repeat(500)]) {
    await using other = await house.open('http 2026', { name })
    expect([name, (await retry(other, 'write_to_file', changing(path), asked.form?.state)).error]).toMatchObject([
      name,
      refusedState,
    ])
  }
  for (const way of ['http 2025', 'sse'] as const) {
    const other = await house.wire(way)
    const message = await retry(other, 'write_to_file', changing(path), asked.form?.state)
    expect([way, message.error]).toMatchObject([way, refusedState])
  }
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
})

test.for(someOf(legacy))('G01 two forms are open at once, and the yes to one is no yes to the other, over %s', async (way) => {
  const wire = await house.wire(way)
  const [one, two] = [house.place(), house.place()]
  const first = await change(wire, one)
  const second = await change(wire, two)
  expect(second.form?.id).not.toBe(first.form?.id)
  expect(codeOf(await second.answer(yes))).toBe('ok')
  expect([house.world.read(one), house.world.read(two)]).toEqual([before, after])
  expect(codeOf(await first.answer(no))).toBe('E_POLICY_VIOLATION')
  expect(house.world.read(one)).toBe(before)
})

describe.for(someOf(modern))('G02 used twice, over %s', (way) => {
  test('a requestState counts once, whatever it was used for', async () => {
    const wire = await house.wire(way)
    for (const first of [yes, no, cancel, undefined, { action: 'accept' }]) {
      const path = house.place()
      const asked = await change(wire, path)
      await retry(wire, 'write_to_file', changing(path), asked.form?.state, first)
      const left = house.world.read(path)
      for (let times = 0; times < 2; times++)
        expect((await retry(wire, 'write_to_file', changing(path), asked.form?.state)).error).toMatchObject(refusedState)
      expect([first, house.world.read(path)]).toEqual([first, left])
    }
  })

  test('ten retries at once: one is taken', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const input = { ...changing(path, 'more\n'), mode: 'append' }
    const asked = await propose(wire, 'write_to_file', input)
    const ends = await Promise.all(Array.from({ length: 10 }, () => retry(wire, 'write_to_file', input, asked.form?.state)))
    expect(ends.map(codeOf).sort()).toEqual([...Array.from({ length: 9 }, () => '-32602'), 'ok'])
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })
})

test.for(ways)('G02 an approval counts once: the same call on the same state asks again, over %s', async (way) => {
  const wire = await house.wire(way)
  const path = house.place()
  const first = await change(wire, path)
  expect(codeOf(await first.answer(yes))).toBe('ok')
  const { id } = approvalOf(house, path)
  house.world.write(path, before)
  const again = await change(wire, path)
  expect(again.form).toBeDefined()
  expect(approvalOf(house, path).id).not.toBe(id)
  // The same answer once more, to a form that is closed.
  if (!wire.modern) wire.tell({ id: first.form?.id, result: yes })
  expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
  expect(house.world.read(path)).toBe(before)
  await again.answer(cancel)
})

describe('G03 too late', () => {
  let brief: House
  let clock: House
  beforeAll(async () => {
    brief = await openHouse({ limits: { approvalTtlMs: 4_000 } })
    // The clock of the server jumps sixteen minutes ahead as soon as a file is there.
    clock = await openHouse({
      files: {
        'clock.cjs': `const { existsSync } = require('node:fs')
const now = Date.now
Date.now = () => now() + (existsSync(__dirname + '/later') ? 960_000 : 0)
`,
      },
      env: (world) => ({ NODE_OPTIONS: `--require ${world.path('clock.cjs')}` }),
    })
  })
  afterAll(async () => {
    await brief[Symbol.asyncDispose]()
    await clock[Symbol.asyncDispose]()
  })

  test.concurrent.for(someOf(ways))('an approval that has lapsed cannot be given by form any more, over %s', async (way) => {
    const wire = await brief.wire(way)
    const path = brief.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(brief, path)
    await until(() => brief.world.runtime.approvals.get(id)?.state === 'expired', 'the end of its time')
    // Where the call is still open, the form is taken back first; a yes to it comes later still.
    if (!wire.modern) await withdrawn(wire, asked.form)
    const ended = await asked.answer(yes)
    expect(faultIn(ended).code).toBe('E_POLICY_VIOLATION')
    // The call that waited ends with its question; one that is made again asks anew.
    if (wire.modern) expect(faultIn(ended).details?.['approvalId']).not.toBe(id)
    else expect(faultIn(ended).details).toMatchObject({ approvalId: id, state: 'expired' })
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    expect(brief.world.read(path)).toBe(before)
    expect(decisions(brief, id)).toMatchObject([{ approved: false, by: 'time' }])
  })

  test.for(someOf(modern))('a requestState that has lapsed is refused, over %s', async (way) => {
    const [path, other] = [clock.place(), clock.place()]
    await using wire = await clock.open(way, { real: true })
    const asked = await change(wire, path)
    const question = await propose(wire, 'ask_followup_question', { question: 'x' })
    clock.world.write('later', '')
    expect((await asked.answer(yes)).error).toMatchObject(refusedState)
    expect((await question.answer({ action: 'accept', content: { answer: 'x' } })).error).toMatchObject(refusedState)
    rmSync(clock.world.path('later'))
    const fresh = await change(wire, other)
    expect(codeOf(await fresh.answer(yes)), 'one in time is taken').toBe('ok')
    expect(clock.world.read(path)).toBe(before)
  })
})

/** All that can be made of a sealed text without the key. */
function forgeries(state: string): [string, unknown][] {
  const [version = '', body = '', mark = ''] = state.split('.')
  const sealed = JSON.parse(Buffer.from(body, 'base64url').toString()) as { p: Record<string, unknown>; exp: number }
  const packed = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const flip = (text: string, at: number): string => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  return [
    ['empty', ''],
    ['no text', 7],
    ['null', null],
    ['an object', { ...sealed.p }],
    ['a list', [state]],
    ['nonsense', 'nonsense'],
    ['a megabyte', 'v1.'.padEnd(1_000_000, 'A')],
    ['cut by one', state.slice(0, -1)],
    ['cut in half', state.slice(0, state.length / 2)],
    ['without a seal', `${version}.${body}`],
    ['with an empty seal', `${version}.${body}.`],
    ['with a seal of zeros', `${version}.${body}.${'A'.repeat(mark.length)}`],
    ['another version', `v2.${body}.${mark}`],
    ['without a version', `${body}.${mark}`],
    ['longer', `${state}A`],
    ['with a space', ` ${state}`],
    ['twice', `${state}.${state}`],
    ['a later end', `${version}.${packed({ ...sealed, exp: sealed.exp + 9_999 })}.${mark}`],
    ['another approval', `${version}.${packed({ ...sealed, p: { ...sealed.p, approval: `appr_${'0'.repeat(32)}` } })}.${mark}`],
    ['another mode', `${version}.${packed({ ...sealed, p: { ...sealed.p, mode: 'url' } })}.${mark}`],
    ['no seal asked for', `${version}.${packed({ ...sealed, alg: 'none' })}.`],
    ...[0, 1, 17, Math.floor(body.length / 2), body.length - 1].map((at): [string, string] => [
      `bit ${at}`,
      `${version}.${flip(body, at)}.${mark}`,
    ]),
    ...[0, 5, mark.length - 2].map((at): [string, string] => [`seal bit ${at}`, `${version}.${body}.${flip(mark, at)}`]),
  ]
}

describe.for(someOf(modern))('G04 a requestState nobody here made, over %s', (way) => {
  test('forged, cut, or with one bit changed', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    for (const [what, state] of forgeries(asked.form?.state ?? '')) {
      const answer = await retry(wire, 'write_to_file', changing(path), state)
      expect([what, answer.error?.code, JSON.stringify(answer.error).length < 1_000]).toEqual([what, -32602, true])
    }
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
    expect(codeOf(await asked.answer(yes)), 'the true one still counts').toBe('ok')
  })

  test('answers without a requestState are no answers', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { id } = await change(wire, path).then(() => approvalOf(house, path))
    for (const inputResponses of [{ person: yes }, { [id]: yes }, { person: { ...yes, approvalId: id } }, yes, [yes]]) {
      const ended = await wire.call('write_to_file', changing(path), { inputResponses })
      expect(['asks', 'E_POLICY_VIOLATION', '-32602']).toContain(codeOf(ended))
    }
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  })

  test('a requestState with no answer, or with one of the wrong kind, approves nothing', async () => {
    const wire = await house.wire(way)
    const kinds: unknown[] = [
      undefined,
      null,
      'approve',
      7,
      [],
      [yes],
      {},
      { other: yes },
      { Person: yes },
      { person: null },
      { person: 'approve' },
      { person: [yes] },
      { person: { role: 'user', content: { type: 'text', text: 'approve' }, model: 'x' } },
      { person: { roots: [{ uri: 'file:///approve' }] } },
      { person: { result: yes } },
      { person: yes.content },
    ]
    const half = draws('answers of the wrong kind')(2)
    for (const inputResponses of kinds.filter((_, at) => isSoak || at % 2 === half)) {
      const path = house.place()
      const asked = await change(wire, path)
      const ended = await wire.call('write_to_file', changing(path), { requestState: asked.form?.state, inputResponses })
      expect([inputResponses, codeOf(ended)]).toEqual([inputResponses, expect.stringMatching(/^(E_POLICY_VIOLATION|-32602)$/)])
      expect([inputResponses, house.world.read(path), approvalOf(house, path).state]).toEqual([inputResponses, before, 'pending'])
    }
  })
})

test('G04 a requestState made by another process on the same project', async () => {
  await using other = await openServe(house.world.project)
  await using stdio = await openWire('stdio 2026', house.world.project, other)
  await using http = await openWire('http 2026', house.world.project, other)
  for (const way of modern) {
    const path = house.place()
    const asked = await change(await house.wire(way), path)
    for (const stranger of [stdio, http])
      expect((await retry(stranger, 'write_to_file', changing(path), asked.form?.state)).error).toMatchObject(refusedState)
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  }
})

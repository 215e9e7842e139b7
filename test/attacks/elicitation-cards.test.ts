import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signInByLink, type Person } from '../support/person.ts'
import { ways } from '../support/serve.ts'
import { runInside } from '../support/inside.ts'
import {
  approvalOf,
  type Asked,
  before,
  cancel,
  change,
  changing,
  codeOf,
  decideElsewhere,
  decisions,
  declineSaying,
  faultIn,
  type House,
  manyLines,
  openHouse,
  overHttp,
  propose,
  someOf,
  type Wire,
} from '../support/raw-client.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

describe.for(overHttp)('a card too large for a form, over %s', (way) => {
  test('is shown on our own page: opening it is no yes, the page and the store are', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    const { id } = approvalOf(house, path)
    const url = `${house.served.url}/approvals/${id}`
    expect(asked.form?.params).toMatchObject({ mode: 'url', url })
    expect(asked.form?.params['requestedSchema']).toBeUndefined()
    expect(asked.form?.message, 'what does not fit is not shown in part').not.toContain('line 1')
    // The address alone opens nothing, and neither does an agent's token.
    for (const headers of [{}, { Authorization: `Bearer ${house.served.token}` }] as Record<string, string>[])
      expect((await fetch(url, { headers, redirect: 'manual' })).status).toBe(401)
    const answered = asked.answer({ action: 'accept', content: { decision: 'approve' } })
    await pause(400)
    expect(house.world.read(path)).toBe(before)
    expect(approvalOf(house, path).state, 'accept means that the page was opened').toBe('pending')
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await answered)).toBe('ok')
    expect(house.world.read(path)).toBe(manyLines)
  })

  test('a no on the page comes back with its words, and a page that was waved away is not put again', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    const answered = asked.answer({ action: 'accept' })
    const { id } = approvalOf(house, path)
    const person = await signIn(house)
    const page = `${house.served.url}${person.basePath}/approvals/${id}`
    const shown = await (await fetch(page, { headers: { Cookie: person.cookie } })).text()
    const form = /name="form" value="([^"]+)"/.exec(shown)?.[1] ?? ''
    expect(shown).toContain('line 449')
    const said = new URLSearchParams({ form, decision: 'decline', note: 'too much at once' })
    await fetch(page, {
      method: 'POST',
      headers: { Cookie: person.cookie, Origin: house.served.url },
      body: said,
      redirect: 'manual',
    })
    expect(faultIn(await answered)).toMatchObject({ details: { approvalId: id, declined: true, note: 'too much at once' } })
    expect(decisions(house, id)).toMatchObject([{ by: 'person@page', approved: false }])

    const other = house.place()
    const away = await change(wire, other, manyLines)
    expect(codeOf(await away.answer(cancel))).toBe('E_POLICY_VIOLATION')
    expect((await change(wire, other, manyLines)).form).toBeUndefined()
    expect(house.world.read(other)).toBe(before)
  })

  test('a client that can only show forms is left to the store', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: {} } })
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    expect(asked.form).toBeUndefined()
    expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    const small = await change(wire, house.place())
    expect(small.form, 'what fits is still shown').toBeDefined()
    await small.answer(cancel)
  })

  test('a client that can only open pages gets a page for everything', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: { url: {} } } })
    const path = house.place()
    const asked = await change(wire, path)
    expect(asked.form?.params).toMatchObject({ mode: 'url', url: `${house.served.url}/approvals/${approvalOf(house, path).id}` })
    expect(codeOf(await asked.answer({ action: 'decline' }))).toBe('E_POLICY_VIOLATION')
    expect(approvalOf(house, path).state).toBe('pending')
  })
})

test.for(someOf(ways.filter((way) => way.startsWith('stdio'))))(
  'a card too large for a form is left to the store, over %s',
  async (way) => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    expect(asked.form).toBeUndefined()
    const { id } = approvalOf(house, path)
    expect(faultIn(await asked.done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await wire.call('write_to_file', changing(path, manyLines)))).toBe('ok')
    expect(house.world.read(path)).toBe(manyLines)
  },
)

const signIn = ({ world, served }: House): Promise<Person> => signInByLink(served, world.project)

/** Everything that moves the cursor, changes the direction or cannot be seen, except a line break. */
const hidden = /[^\P{C}\n]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u115f\u1160\u3164\uffa0\u2800\u00ad]/u
const hostile = 'A\u001b[2K\u001b[1AB\u202eC\u2066D\u200bE\u2028F\rG\u0007H\u{e0041}I\ufeffJ\u0085K\u3164L\u061cM'

describe.for(someOf(ways))('a question to the person, over %s', (way) => {
  const question = (wire: Wire, text: unknown = 'Which ending?', more: object = {}): Promise<Asked> =>
    propose(wire, 'ask_followup_question', { ...(text !== null && { question: text }), ...more })

  test('what they answer comes back with the call', async () => {
    const wire = await house.wire(way)
    const asked = await question(wire)
    expect(asked.form?.message).toMatch(/\n\| Which ending\?$/)
    expect(asked.form?.params['requestedSchema']).toMatchObject({
      type: 'object',
      required: ['answer'],
      properties: { answer: { type: 'string' } },
    })
    const { result } = await asked.answer({ action: 'accept', content: { answer: 'the sad one 海' } })
    expect(result?.structuredContent).toEqual({ ack: true, answer: 'the sad one 海' })
    expect(result?.isError).toBeFalsy()
  })

  test.for([
    { action: 'decline' },
    { action: 'cancel' },
    { action: 'decline', content: { answer: 'x' } },
    { action: 'accept' },
    { action: 'accept', content: {} },
    { action: 'accept', content: { answer: 5 } },
    { action: 'accept', content: { answer: ['x'] } },
    { action: 'accept', content: { answer: ' \n' } },
    { action: 'answer', content: { answer: 'x' } },
  ])('anything else is a plain acknowledgement: %o', async (said) => {
    const asked = await question(await house.wire(way))
    expect((await asked.answer(said)).result?.structuredContent).toEqual({ ack: true })
  })

  test('a client that cannot show it is not asked, and gets a plain acknowledgement', async () => {
    await using wire = await house.open(way, { capabilities: {} })
    const asked = await question(wire)
    expect(asked.form).toBeUndefined()
    expect((await asked.done).result?.structuredContent).toEqual({ ack: true })
  })

  test('nothing in the question can hide or act, and no length breaks it', async () => {
    const wire = await house.wire(way)
    const asked = await question(wire, `${hostile}\nsecond line`)
    expect(asked.form?.message).not.toMatch(hidden)
    for (const letter of 'ABCDEFGHIJKLM') expect(asked.form?.message).toContain(letter)
    expect(asked.form?.message.split('\n').filter((row) => /^\| (?!… )/.test(row))).toHaveLength(2)
    await asked.answer(cancel)
    const long = await question(wire, 'x'.repeat(1_000_000))
    expect([long.form, codeOf(await long.done)]).toEqual([undefined, 'E_TOO_LARGE'])
    const short = await question(wire, 'x'.repeat(10_000))
    const { result } = await short.answer({ action: 'accept', content: { answer: 'y'.repeat(1_000_000) } })
    expect(String(result?.structuredContent?.['answer']).length).toBeLessThan(20_000)
  })

  test('a question that is refused is not put first', async () => {
    const wire = await house.wire(way)
    for (const [text, more] of [
      ['', {}],
      [7, {}],
      [null, {}],
      ['real', { extra: 1 }],
    ] as const) {
      const asked = await question(wire, text, more)
      if (asked.form) await asked.answer(cancel)
      expect([text, more, asked.form?.message]).toEqual([text, more, undefined])
      expect(codeOf(await asked.done)).toBe('E_BAD_ARGS')
    }
  })
})

test.for(someOf(ways))('G05 no spelling of the policy file can be written, and nobody is even asked, over %s', async (way) => {
  const wire = await house.wire(way)
  const kept = house.world.read('handrail.config.json')
  const open = house.world.runtime.approvals.list().length
  for (const path of [
    'handrail.config.json',
    './handrail.config.json',
    'HANDRAIL.CONFIG.JSON',
    'handrail.config.json.',
    'handrail.config.json ',
    'handrail.config.json::$DATA',
    'handrail\u200b.config.json',
    'h\uff41ndrail.config.json',
    't1/../handrail.config.json',
    't1/handrail.config.json',
    'HANDRA~1.JSO',
    '.handrail/handrail.db',
    '.handrail/person-token',
    '.Handrail/token',
  ]) {
    const write = await propose(wire, 'write_to_file', changing(path, '{"policies":{"askFrom":"R2","sensitiveFiles":[]}}'))
    expect([path, write.form, codeOf(await write.done)]).toEqual([path, undefined, 'E_DENY_PATH'])
    const replace = await propose(wire, 'replace_in_file', { path, find: 'false', replace: 'true' })
    expect([path, replace.form, codeOf(await replace.done)]).toEqual([path, undefined, 'E_DENY_PATH'])
  }
  expect(house.world.read('handrail.config.json')).toBe(kept)
  expect(house.world.runtime.approvals.list()).toHaveLength(open)
})

/** A form with its broken rows put together again. */
const unbroken = (message: string): string => message.replace(/\n[+-] … /g, '').replace(/\n {4}/g, ' ')

describe.for(someOf(ways))('G07 what the form does not show cannot be approved by form, over %s', (way) => {
  test('nothing in the content, the path or the name of the client can hide or act', async () => {
    await using wire = await house.open(way, { name: `cl\u001b[31mi\u202eent\u200b\nHandrail wants to: nothing` })
    const path = house.place('old\n', 'pack\u200bage.json')
    const asked = await change(wire, path, `${hostile}\n${hostile}\n`)
    const message = asked.form?.message ?? ''
    expect(message).not.toMatch(hidden)
    for (const shown of ['\\u001b[2K', '\\u202e', '\\u200b', '\\u2028', '␍', '\\u{e0041}', '\\ufeff', '\\u0007'])
      expect(message).toContain(shown)
    expect(unbroken(message).split('\n')[0]).toMatch(/^cl.*wants to: Change t\d+\/pack\\u200bage\.json \(risk R2\)$/)
    const added = unbroken(message)
      .split('\n')
      .filter((line) => line.startsWith('+ '))
    expect(added, 'a line of the change is one line of the form').toHaveLength(2)
    await asked.answer(cancel)
  })

  test('no line of the change can pass for one of the form', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, 'x\n\nApprove exactly this change?\n@@ line 1: 0 out, 0 in @@\n- y\n')
    const message = asked.form?.message.split('\n') ?? []
    expect(message.filter((line) => line === 'Approve exactly this change?')).toHaveLength(1)
    expect(message.filter((line) => line.startsWith('@@'))).toHaveLength(1)
    expect(message.filter((line) => line.startsWith('- '))).toEqual([`- ${before.trim()}`])
    await asked.answer(cancel)
  })

  test('every line of a long change stands in the form, whole', async () => {
    const wire = await house.wire(way)
    const lines = Array.from({ length: 380 }, (_, index) => `line ${index} ${'x'.repeat(index)}!`)
    const asked = await change(wire, house.place('old\n'), lines.join('\n'))
    const rows = unbroken(asked.form?.message ?? '').split('\n')
    for (const line of lines) expect(rows).toContain(`+ ${line}`)
    await asked.answer(cancel)
  })

  test('a line too long, too many lines, a path too long: no form, the store decides', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: { form: {} } } })
    for (const [what, content, name = 'package.json'] of [
      ['one line too long', `${'x'.repeat(1_100)}\n`],
      ['text far to the right', `{}${' '.repeat(2_000)}evil\n`],
      ['one line that grows when shown', `${'\u200b'.repeat(300)}\n`],
      ['too many lines', 'x\n'.repeat(401)],
      ['one line hidden behind many', `${'{}\n'.repeat(500)}evil\n`],
      ['a very long path', '', `${`${'a'.repeat(200)}/`.repeat(6)}package.json`],
    ] as const) {
      const path = house.place(before, name)
      const asked = await change(wire, path, content)
      expect([what, asked.form]).toEqual([what, undefined])
      expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    }
  })
})

test('G07 two lines that differ do not look the same in a form', async () => {
  const wire = await house.wire('stdio 2025')
  for (const [from, to] of [
    ['all:\n\tmake\n', 'all:\n  make\n'],
    ['a\u200bb\n', 'ab\n'],
    ['a\r\nb\n', 'a\nb\n'],
  ] as const) {
    const asked = await change(wire, house.place(from, 'Makefile'), to)
    const rows = asked.form?.message.split('\n') ?? []
    const out = rows.filter((row) => row.startsWith('- ')).map((row) => row.slice(2))
    const come = rows.filter((row) => row.startsWith('+ ')).map((row) => row.slice(2))
    await asked.answer(cancel)
    expect([from, to, out]).not.toEqual([from, to, come])
  }
})

test("G07 a client's name cannot play tricks on the terminal or the page of the person who looks at what it decided", async () => {
  await using wire = await house.open('http 2026', { name: 'evil\u001b[2J\u001b[1;1H\u202e<script>' })
  const path = house.place()
  const ended = await declineSaying(wire, await change(wire, path), 'write_to_file', changing(path), 'n\u001b[2Jo')
  expect(codeOf(ended)).toBe('E_POLICY_VIOLATION')
  const { id, decidedBy } = approvalOf(house, path)
  expect(decidedBy).toContain('evil')
  const tricked: string[] = []
  for (const command of [`approvals show ${id}`, 'approvals list --all', 'audit show', 'sessions']) {
    const { out } = await runInside(house.world.project, command.split(' '))
    expect([command, out]).toEqual([command, expect.stringMatching(/\S/)])
    if (/[\u001b\u202e]/.test(out)) tricked.push(command)
  }
  const { cookie, basePath } = await signIn(house)
  const page = await fetch(`${house.served.url}${basePath}/approvals/${id}`, { headers: { Cookie: cookie } })
  if (/[\u001b\u202e]|<script>/.test(await page.text())) tricked.push('the page')
  expect(tricked).toEqual([])
})

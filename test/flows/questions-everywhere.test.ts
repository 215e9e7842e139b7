import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { signInByLink, visitAt, type Answer, type Person } from '../support/person.ts'
import { openHouse, propose, withdrawn, type Asked, type House, type Wire } from '../support/raw-client.ts'
import { signInKey } from '../../src/surfaces/person-auth.ts'
import { atTerminal } from '../support/terminal.ts'

// A question in words stands in every place where a person answers: in the client's form, on the page, at the terminal. The first answer ends it.

let house: House
let person: Person
beforeAll(async () => {
  house = await openHouse()
  person = await signInByLink(house.served, house.world.project)
})
afterAll(() => house[Symbol.asyncDispose]())

const options = ['the happy one', 'the sad one']
let count = 0
const ask = (wire: Wire, more: object = { options }): Promise<Asked> =>
  propose(wire, 'ask_followup_question', { question: `Which ending, ${++count}?`, ...more })
const waiting = (): string => house.world.runtime.questions.list().at(-1)?.id ?? ''
const saidOf = async (asked: Asked): Promise<unknown> => (await asked.done).result?.structuredContent
const shown = (path: string): Promise<Answer> =>
  visitAt(house.served.port, person.basePath + path, { headers: { Cookie: person.cookie } })
const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries([...page.matchAll(/type="hidden" name="(\w+)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]))
/** A person who has looked at it for a while, as far as the form knows. */
async function send(id: string, fields: Record<string, string>, cookie = person.cookie): Promise<Answer> {
  const { text } = await shown(`/questions/${id}`)
  const headers = { Cookie: cookie, Origin: house.served.url, 'Content-Type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ ...fieldsOf(text), shown: '1', ...fields }).toString()
  return visitAt(house.served.port, `${person.basePath}/questions/${id}`, { method: 'POST', headers, body })
}

describe('in the client’s form', () => {
  test.for(['stdio 2025', 'stdio 2026'] as const)('what is offered is a choice, over %s', async (way) => {
    const asked = await ask(await house.wire(way))
    expect(asked.form?.params['requestedSchema']).toEqual({
      type: 'object',
      properties: {
        answer: { type: 'string', title: 'Your answer', enum: ['1. the happy one', '2. the sad one', 'in my own words'] },
      },
      required: ['answer'],
    })
    const { result } = await asked.answer({ action: 'accept', content: { answer: '2. the sad one' } })
    expect(result?.structuredContent).toEqual({ ack: true, answer: 'the sad one' })
    expect(house.world.runtime.questions.list(true)[0]).toMatchObject({ answer: 'the sad one', answeredBy: 'form@by-hand/1' })
  })

  test('own words are a form of their own', async () => {
    const wire = await house.wire('stdio 2025')
    const asked = await ask(wire)
    const before = wire.heard.length
    wire.tell({ id: asked.form?.id, result: { action: 'accept', content: { answer: 'in my own words' } } })
    const second = await wire.next(
      ({ method }) => method === 'elicitation/create' && wire.heard.length > before,
      'the second form',
    )
    const last = wire.heard.findLast(({ method }) => method === 'elicitation/create')
    expect((last ?? second).params).toMatchObject({ requestedSchema: { properties: { answer: { maxLength: 10_000 } } } })
    wire.tell({ id: last?.id, result: { action: 'accept', content: { answer: 'neither' } } })
    expect(await saidOf(asked)).toEqual({ ack: true, answer: 'neither' })
  })
})

describe('an answer in one place ends it in all others', () => {
  test('on the page: the form is taken back, the agent has it, the terminal has nothing left', async () => {
    const wire = await house.wire('stdio 2025')
    const asked = await ask(wire)
    const id = waiting()
    expect((await shown('/approvals')).text).toContain(`/questions/${id}`)
    const done = await send(id, { choice: '1' })
    expect([done.status, done.headers.get('location')]).toEqual([303, `${person.basePath}/approvals?after=${id}`])
    expect(await saidOf(asked)).toEqual({ ack: true, answer: 'the sad one' })
    await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: { action: 'accept', content: { answer: '1. the happy one' } } })
    const late = await runInside(house.world.project, ['questions', 'answer', id, '1'])
    expect(late).toMatchObject({ code: 1, err: expect.stringContaining('answered already: the sad one') as string })
    expect((await shown(`/approvals?after=${id}`)).text).toMatch(/answered.*person@page.*the sad one/s)
    expect(house.world.runtime.questions.get(id)).toMatchObject({ answer: 'the sad one', answeredBy: 'person@page' })
  })

  test('at the terminal: the form is taken back, the page takes no second answer', async () => {
    const wire = await house.wire('stdio 2025')
    const asked = await ask(wire)
    const id = waiting()
    expect(await runInside(house.world.project, ['questions', 'answer', id, 'both'])).toMatchObject({ code: 0 })
    expect(await saidOf(asked)).toEqual({ ack: true, answer: 'both' })
    await withdrawn(wire, asked.form)
    const page = (await shown(`/questions/${id}`)).text
    expect(page).not.toContain('<form')
    expect(page).toContain('both')
    expect(house.world.runtime.questions.get(id)).toMatchObject({ answer: 'both' })
  })

  test('in the form: a person who types at a real terminal is told', async () => {
    const asked = await ask(await house.wire('stdio 2025'))
    const id = waiting()
    const meanwhile = async (): Promise<unknown> => asked.answer({ action: 'accept', content: { answer: '1. the happy one' } })
    const typed = await atTerminal(house.world.project, ['questions', 'answer', id], {
      columns: 100,
      until: 'Your answer: ',
      answer: '2',
      meanwhile,
    })
    expect(typed).toMatchObject({
      code: 1,
      out: expect.stringMatching(/by form@by-hand\/1: the happy one|already: the happy one/) as string,
    })
    expect((await shown(`/questions/${id}`)).text).not.toContain('<form')
  })

  test('over HTTP of 2026, where no form can be taken back: the first answer is the one that counts', async () => {
    const asked = await ask(await house.wire('http 2026'))
    const id = waiting()
    await send(id, { choice: '0' })
    const { result } = await asked.answer({ action: 'accept', content: { answer: '2. the sad one' } })
    expect(result?.structuredContent).toEqual({ ack: true, answer: 'the happy one' })
    expect(house.world.runtime.questions.get(id)).toMatchObject({ answeredBy: 'person@page' })
  })
})

test('a program of the person answers with their key, and nobody with an agent’s token; the form is taken back', async () => {
  const wire = await house.wire('stdio 2025')
  const asked = await ask(wire)
  const id = waiting()
  const { out } = await runInside(house.world.project, ['approvals', 'key', '--port', String(house.served.port), '--json'])
  const { key } = JSON.parse(out) as { key: string }
  const at = (path: string, bearer: string, body?: object): Promise<Answer> =>
    visitAt(house.served.port, path, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  expect((await at('/api/questions', house.served.token)).status).toBe(401)
  expect((await at(`/api/questions/${id}`, house.served.token, { answer: 'x' })).status).toBe(401)
  expect(JSON.parse((await at('/api/questions', key)).text)).toMatchObject({ pending: 1, questions: [{ id, options }] })
  for (const answer of ['', ' ', 5, 'x'.repeat(10_001)])
    expect((await at(`/api/questions/${id}`, key, { answer })).status).toBe(400)
  expect((await at('/api/questions/ask_none', key, { answer: 'x' })).status).toBe(404)
  expect((await at(`/api/questions/${id}`, key, { answer: 'the sad one' })).status).toBe(200)
  expect(await saidOf(asked)).toEqual({ ack: true, answer: 'the sad one' })
  await withdrawn(wire, asked.form)
  expect((await at(`/api/questions/${id}`, key, { answer: 'late' })).text).toContain('already_answered')
  expect(house.world.runtime.questions.get(id)).toMatchObject({ answeredBy: 'person@http' })
})

describe('on the page', () => {
  const asks = async (question: string, more: object = {}): Promise<string> => {
    await house.world.call('ask_followup_question', { question, ...more })
    return waiting()
  }

  test('an open page hears of an answer given elsewhere: its picture comes with it, for the person alone', async () => {
    const id = await asks('Which one?', { options })
    const page = await shown(`/questions/${id}`)
    expect(page.text).toContain(`src="${person.basePath}/elsewhere/${id}"`)
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none';.* img-src 'self'$/)
    const heard = shown(`/elsewhere/${id}`)
    // Of more pages than there is room for, the oldest hears nothing more.
    const others = [1, 2, 3, 4].map(() => shown(`/elsewhere/${id}`))
    expect((await Promise.race([heard, ...others])).status).toBe(204)
    await runInside(house.world.project, ['questions', 'answer', id, '1'])
    const found = (await Promise.all([heard, ...others])).filter(({ status }) => status === 200)
    expect(found).toHaveLength(4)
    expect(found[0]?.text).toMatch(/^<svg [^]*Answered elsewhere, by [^<]+@cli\./)
    expect(found[0]?.text).not.toMatch(/<script|href=|onload/)
    expect((await visitAt(house.served.port, `${person.basePath}/elsewhere/${id}`)).status).not.toBe(200)
    expect((await shown('/elsewhere/ask_none')).status).toBe(404)
  })

  test('own words; what would let an agent in as the person is kept back, at the terminal too', async () => {
    const id = await asks('Where is the key?')
    const key = signInKey('secret', 'one')
    await send(id, { choice: 'own', own: `here:\r\n${key}` })
    expect(house.world.runtime.questions.get(id)?.answer).toMatch(/^here:\n\[secret: sign in key.*kept back/s)
    const other = await asks('And now?')
    await runInside(house.world.project, ['questions', 'answer', other, `x hpk_${key} y`])
    expect(house.world.runtime.questions.get(other)?.answer).toMatch(/^x \[secret: sign in key, \d+ characters\] y$/)
  })

  test.for([
    ['no words', { choice: 'own', own: ' \n' }],
    ['no choice', {}],
    ['a choice that was not offered', { choice: '7' }],
    ['a press as soon as it is there', { choice: '0', shown: String(Date.now() + 60_000) }],
  ] as [string, Record<string, string>][])('%s answers nothing', async ([what, fields]) => {
    const id = await asks(`Well, ${what}?`, { options })
    expect(await send(id, fields)).toMatchObject({ status: 200 })
    expect(house.world.runtime.questions.get(id)).not.toHaveProperty('answer')
  })

  test('nobody else answers: no cookie, no form of ours, an agent’s token', async () => {
    const id = await asks('Who are you?', { options })
    expect((await send(id, { choice: '0', form: 'x' })).status).toBe(403)
    expect((await send(id, { choice: '0' }, 'a=b')).status).toBe(401)
    const Authorization = `Bearer ${house.served.token}`
    for (const path of [`/questions/${id}`, `${person.basePath}/questions/${id}`])
      expect((await visitAt(house.served.port, path, { headers: { Authorization } })).status).toBe(401)
    expect(house.world.runtime.questions.get(id)).not.toHaveProperty('answer')
  })

  test('what an agent wrote stands behind a bar and obeys nothing', async () => {
    const id = await asks('<b>Approve</b>?\n</pre><form>', { options: ['<script>x</script>', '\u202eevil'] })
    const { text } = await shown(`/questions/${id}`)
    expect(text).toContain('| &lt;b&gt;Approve&lt;/b&gt;?')
    expect(text).toContain('1. &lt;script&gt;x&lt;/script&gt;')
    expect(text).toContain('2. \\u202eevil')
    expect(text).toContain('approves nothing')
  })

  test('after an answer the one that has waited longest is there, and the title counts them', async () => {
    const [oldest] = house.world.runtime.questions.list()
    const id = await asks('The newest?', { options })
    expect((await send(id, { choice: '0' })).headers.get('location')).toBe(
      `${person.basePath}/questions/${oldest?.id}?after=${id}`,
    )
    const { text } = await shown(`/questions/${oldest?.id}?after=${id}`)
    expect(text).toContain(`<title>(${house.world.runtime.questions.count()}) `)
    expect(text).toMatch(/answered.*The newest\?/s)
  })
})

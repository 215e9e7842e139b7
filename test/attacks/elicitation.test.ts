import { existsSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMcp, ways } from '../support/serve.ts'
import {
  after,
  approvalOf,
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
  type Message,
  modern,
  openCalls,
  openHouse,
  propose,
  questionsAbout,
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

describe.for(ways)('a form, over %s', (way) => {
  test('a yes lets exactly this call through, once, and the record says who said it', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    expect(asked.form?.params['requestedSchema']).toEqual({
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: expect.any(String) as string,
          enum: ['decline', 'decline and say why', 'approve'],
        },
      },
      required: ['decision'],
    })
    for (const word of ['by-hand/1', path, `- ${before.trim()}`, `+ ${after.trim()}`, 'R2'])
      expect(asked.form?.message).toContain(word)
    const { id } = approvalOf(house, path)
    expect(house.world.read(path)).toBe(before)
    expect(codeOf(await asked.answer(yes))).toBe('ok')
    expect(house.world.read(path)).toBe(after)
    expect(approvalOf(house, path)).toMatchObject({ id, state: 'used', decidedBy: 'form@by-hand/1' })
    expect(decisions(house, id)).toMatchObject([{ approved: true, by: 'form@by-hand/1', tool: 'write_to_file' }])
    const acts = [...house.world.runtime.audit.lines()].filter((line) => line.event === 'call.resumed' && line.approval === id)
    expect(acts).toHaveLength(1)
  })
})

describe.for(someOf(ways))('what comes of a form, over %s', (way) => {
  test('a yes through the official client', async () => {
    const path = house.place()
    const seen: string[] = []
    await using peer = await openMcp(way, house.world.project, house.served, {
      onAsked(params) {
        seen.push(String(params['message']))
        return { action: 'accept', content: { decision: 'approve' } }
      },
    })
    expect(await peer.call('write_to_file', changing(path))).toMatchObject({ applied: true })
    expect(seen).toEqual([expect.stringContaining(path)])
    expect(decisions(house, approvalOf(house, path).id)).toMatchObject([{ by: 'form@handrail-test/1.0.0' }])
  })

  test('a no is final and its words reach the agent', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const fault = faultIn(await declineSaying(wire, asked, 'write_to_file', changing(path), 'use npm init instead'))
    const { id } = approvalOf(house, path)
    expect(fault).toMatchObject({
      code: 'E_POLICY_VIOLATION',
      details: { approvalId: id, declined: true, note: 'use npm init instead' },
    })
    expect(fault.message).toContain('use npm init instead')
    const again = await change(wire, path)
    expect(again.form).toBeUndefined()
    expect(faultIn(await again.done)).toMatchObject({ details: { approvalId: id, declined: true, note: 'use npm init instead' } })
    expect(house.world.read(path)).toBe(before)
    expect(decisions(house, id)).toMatchObject([{ approved: false, by: 'form@by-hand/1', message: 'use npm init instead' }])
  })

  test('declining the form itself decides nothing: clients do that by themselves', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    // What a form holds that was not accepted counts for nothing.
    const fault = faultIn(await (await change(wire, path)).answer({ action: 'decline', content: { decision: 'approve' } }))
    const { id } = approvalOf(house, path)
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(fault.details).not.toHaveProperty('declined')
    expect((await change(wire, path)).form).toBeUndefined()
    expect(approvalOf(house, path)).toMatchObject({ id, state: 'pending' })
    expect(house.world.read(path)).toBe(before)
  })

  test('a form that was waved away is not put again; the command line can still answer', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const first = faultIn(await (await change(wire, path)).answer(cancel))
    const { id } = approvalOf(house, path)
    expect(first).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(first.hint).toContain(`handrail approvals approve ${id}`)
    const again = await change(wire, path)
    expect(again.form).toBeUndefined()
    expect(faultIn(await again.done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(approvalOf(house, path).state).toBe('pending')
    await decideElsewhere(house, way, id, true)
    const last = await change(wire, path)
    expect(last.form).toBeUndefined()
    expect(codeOf(await last.done)).toBe('ok')
    expect(house.world.read(path)).toBe(after)
    expect(decisions(house, id)).toMatchObject([{ approved: true, by: expect.stringMatching(/@cli$/) as string }])
  })

  test('an answer that is not what the form asked for approves nothing', async () => {
    const wire = await house.wire(way)
    const answers: unknown[] = [
      { action: 'accept' },
      ...[
        {},
        null,
        ['approve'],
        'approve',
        { decision: 'APPROVE' },
        { decision: 'approve ' },
        { decision: true },
        { decision: ['approve'] },
        { Decision: 'approve' },
        { note: 'approve' },
        { decision: 'approve', note: '' },
        { decision: 'approve', why: 'x' },
        { decision: 'approve', more: { toString: 'x' } },
        { decision: 'decline and say why approve' },
      ].map((content) => ({ action: 'accept', content })),
      ...['ACCEPT', 'approve', null, ['accept']].map((action) => ({ action, content: yes.content })),
      { content: yes.content },
      yes.content,
      {},
    ]
    // What was said is judged alike over all ways: all of it over the cheapest, and over others a third of it, another with every seed.
    const [parts, part] = isSoak || way.startsWith('stdio') ? [1, 0] : [3, draws(`answers over ${way}`)(3)]
    const approved: string[] = []
    for (const said of answers.filter((_, at) => at % parts === part)) {
      const path = house.place()
      const answer = await (await change(wire, path)).answer(said)
      const { state } = approvalOf(house, path)
      if (codeOf(answer) === 'ok' || !['pending', 'denied'].includes(state) || house.world.read(path) !== before)
        approved.push(JSON.stringify(said).slice(0, 80))
    }
    expect(approved).toEqual([])
  })
})

describe.for(openCalls)('a form on an open call, over %s', (way) => {
  test('an error in place of an answer approves nothing', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { form, done } = await change(wire, path)
    wire.tell({ id: form?.id, error: { code: -32603, message: 'approve' } })
    expect(faultIn(await done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(house, path).id } })
    expect(house.world.read(path)).toBe(before)
  })

  test('answered on the command line meanwhile: the call goes on and the form is taken back', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(house, path)
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await asked.done)).toBe('ok')
    await withdrawn(wire, asked.form)
    expect(house.world.read(path)).toBe(after)
    expect(decisions(house, id)).toMatchObject([{ by: expect.stringMatching(/@cli$/) as string }])
  })

  test('denied on the command line meanwhile: the words come, the form goes, and a late yes is too late', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(house, path)
    await decideElsewhere(house, way, id, false, 'not today')
    expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: id, declined: true, note: 'not today' } })
    await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect((await change(wire, path)).form).toBeUndefined()
    expect(house.world.read(path)).toBe(before)
    expect(decisions(house, id)).toHaveLength(1)
  })

  /** The same call twice in one breath, and the forms that come of it. */
  async function twice(wire: Wire, path: string): Promise<{ calls: Promise<Message>[]; forms: Message[] }> {
    const known = new Set(wire.heard)
    const calls = ['twin-1', 'twin-2'].map((id) => ({
      jsonrpc: '2.0',
      id: `${id} ${path}`,
      method: 'tools/call',
      params: { name: 'write_to_file', arguments: { ...changing(path, 'more\n'), mode: 'append' } },
    }))
    const texts = calls.map((call) => JSON.stringify(call))
    for (const one of way.startsWith('stdio') ? [texts.join('\n')] : texts) void wire.send(one)
    const forms = await until(() => {
      const found = wire.heard.filter((message) => message.method === 'elicitation/create' && !known.has(message))
      return found.length === 2 && found
    }, 'two forms')
    const ended = calls.map(({ id }) => wire.next((message) => message.id === id && !message.method, 'the end of a twin'))
    for (const one of ended) one.catch(() => undefined)
    expect(questionsAbout(house, path), 'one change is one question, however often it is asked for').toHaveLength(1)
    return { calls: ended, forms }
  }

  test('of two calls for the same change, one form answers one', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { calls, forms } = await twice(wire, path)
    wire.tell({ id: forms[0]?.id, result: yes })
    const codes = (await Promise.all(calls)).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    // Both forms once more, now that they are closed.
    for (const { id } of forms) wire.tell({ id, result: yes })
    await wire.call('read_file', { path })
    expect(house.world.read(path)).toBe(`${before}more\n`)
    expect(questionsAbout(house, path).filter(({ state }) => state === 'used')).toHaveLength(1)
  })

  test('both forms of two equal calls are said yes to at once, and still one yes is one change', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { calls, forms } = await twice(wire, path)
    for (const { id } of forms) wire.tell({ id, result: yes })
    const codes = (await Promise.all(calls)).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })

  test('the client dies while the form is open: nothing is written, also when somebody says yes later', async () => {
    const wire = await house.open(way, { args: ['--approval-wait-ms', '8000'] })
    const path = house.place()
    await change(wire, path)
    const { id } = approvalOf(house, path)
    await wire.drop()
    // Once it is known there: a yes before that would be a yes to a call that somebody still waits for.
    const told = (): boolean =>
      [...house.world.runtime.audit.lines()].some((line) => line.approval === id && line.event === 'call.suspended')
    await until(told, 'the end of the waiting')
    await decideElsewhere(house, way, id, true)
    await (await house.wire(way)).call('read_file', { path })
    await pause(500)
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'approved'])
  })

  test('the client cancels the call while the form is open: the form is taken back, and a late yes does nothing', async () => {
    const wire = await house.open(way)
    const path = house.place()
    const asked = await change(wire, path)
    wire.tell({ method: 'notifications/cancelled', params: { requestId: 'ask-2' } })
    await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    await pause(300)
    expect(approvalOf(house, path).state).toBe('pending')
    expect(house.world.read(path)).toBe(before)
    await wire.drop()
  })
})

test('a call that is cancelled before its form is put puts none', async () => {
  await using wire = await house.open('stdio 2025')
  const path = house.place()
  const call = { jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'write_to_file', arguments: changing(path) } }
  const stop = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } }
  await wire.send(`${JSON.stringify(call)}\n${JSON.stringify(stop)}`)
  await until(() => {
    const lines = [...house.world.runtime.audit.lines()]
    const id = lines.find((line) => JSON.stringify(line.input ?? '').includes(path))?.call
    return lines.some((line) => line.call === id && (line.event === 'call.end' || line.event === 'call.suspended'))
  }, 'the end of the call, or of the waiting')
  // Whatever is put is put before this is answered.
  await wire.call('read_file', { path })
  await wire.call('read_file', { path })
  const forms = wire.heard.filter(({ method }) => method === 'elicitation/create')
  const taken = wire.heard.filter(({ method }) => method === 'notifications/cancelled')
  expect(forms.length - taken.length, 'forms that stay open for a call nobody waits for').toBe(0)
})

describe.for(someOf(ways))('the world moves while the form is open, over %s', (way) => {
  test('the file changes: E_CONFLICT, and nothing is written', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    house.world.write(path, '{ "name": "mine" }\n')
    expect(faultIn(await asked.answer(yes)).code).toBe('E_CONFLICT')
    expect(house.world.read(path)).toBe('{ "name": "mine" }\n')
    house.world.write(path, before)
    const again = await change(wire, path)
    expect(again.form, 'the old yes is spent, also when the old state comes back').toBeDefined()
    await again.answer(cancel)
    expect(house.world.read(path)).toBe(before)
  })

  test('the file goes away, or one comes where none was: E_CONFLICT', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const gone = await change(wire, path)
    rmSync(house.world.path(path))
    expect(faultIn(await gone.answer(yes)).code).toBe('E_CONFLICT')
    expect(existsSync(house.world.path(path))).toBe(false)
    const came = await change(wire, path)
    expect(came.form?.message).toContain(`Create ${path}`)
    house.world.write(path, 'mine\n')
    expect(faultIn(await came.answer(yes)).code).toBe('E_CONFLICT')
    expect(house.world.read(path)).toBe('mine\n')
  })
})

describe.for(someOf(modern))('a form that comes back with the call, over %s', (way) => {
  test('answered on the command line meanwhile: the call goes on, whatever became of the form', async () => {
    const wire = await house.wire(way)
    for (const said of [yes, cancel, undefined]) {
      const path = house.place()
      const asked = await change(wire, path)
      await decideElsewhere(house, way, approvalOf(house, path).id, true)
      expect(codeOf(await asked.answer(said))).toBe('ok')
      expect(house.world.read(path)).toBe(after)
      expect(decisions(house, approvalOf(house, path).id)).toMatchObject([{ by: expect.stringMatching(/@cli$/) as string }])
    }
  })

  test('a no on the command line is a no, although the form says yes', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    await decideElsewhere(house, way, approvalOf(house, path).id, false, 'not today')
    expect(faultIn(await asked.answer(yes))).toMatchObject({ details: { declined: true, note: 'not today' } })
    expect(house.world.read(path)).toBe(before)
  })

  test('of two calls for the same change, one yes is one change', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const input = { ...changing(path, 'more\n'), mode: 'append' }
    const [one, two] = await Promise.all([propose(wire, 'write_to_file', input), propose(wire, 'write_to_file', input)])
    const codes = (await Promise.all([one.answer(yes), two.answer(yes)])).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })

  test('nobody answers: the form is put at most once more, and the call always ends with the id', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    for (let round = 0; round < 2; round++) {
      const asked = await change(wire, path)
      expect(asked.form, `round ${round}`).toBeDefined()
      const ended = await wire.call('write_to_file', changing(path), { requestState: asked.form?.state })
      expect(faultIn(ended)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(house, path).id } })
    }
    const third = await change(wire, path)
    expect(third.form).toBeUndefined()
    expect(faultIn(await third.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    expect(house.world.read(path)).toBe(before)
  })
})

describe('nobody answers on an open call', () => {
  let hasty: House
  beforeAll(async () => {
    hasty = await openHouse({ limits: { approvalWaitMs: 700 } })
  })
  afterAll(() => hasty[Symbol.asyncDispose]())

  test.concurrent.for(openCalls)(
    'the call ends with the id, its form stays open, and a late yes counts once, over %s',
    async (way) => {
      await using wire = await hasty.open(way)
      const path = hasty.place()
      const asked = await change(wire, path)
      expect(asked.form).toBeDefined()
      const fault = faultIn(await asked.done)
      expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(hasty, path).id } })
      expect(fault.hint).toContain(approvalOf(hasty, path).id)
      const again = await change(wire, path)
      expect(again.form, 'one question is one form').toBeUndefined()
      expect(faultIn(await again.done)).toMatchObject({ details: { approvalId: approvalOf(hasty, path).id } })
      expect([hasty.world.read(path), approvalOf(hasty, path).state]).toEqual([before, 'pending'])
      wire.tell({ id: asked.form?.id, result: yes })
      await until(() => approvalOf(hasty, path).state === 'approved', 'the late yes')
      expect(hasty.world.read(path), 'a late yes writes nothing by itself').toBe(before)
      const last = await change(wire, path)
      expect([last.form, codeOf(await last.done)]).toEqual([undefined, 'ok'])
      // The form is closed now: the same answer once more is nobody's.
      hasty.world.write(path, before)
      wire.tell({ id: asked.form?.id, result: yes })
      const next = await change(wire, path)
      expect(next.form).toBeDefined()
      expect(hasty.world.read(path)).toBe(before)
      await next.answer(cancel)
    },
  )

  test.concurrent.for(openCalls)('a form that stays open is closed by an answer from elsewhere, over %s', async (way) => {
    await using wire = await hasty.open(way)
    const path = hasty.place()
    const asked = await change(wire, path)
    await asked.done
    const { id } = approvalOf(hasty, path)
    hasty.world.runtime.approvals.decide(id, { approve: false, by: 'somebody@cli' })
    // Over Streamable HTTP the stream of the call has ended, and there is no way left to take the form back.
    if (way !== 'http 2025') await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect(faultIn(await wire.call('write_to_file', changing(path)))).toMatchObject({ details: { declined: true } })
    expect(decisions(hasty, id)).toHaveLength(1)
  })

  test.concurrent.for(openCalls)('a question ends with a plain acknowledgement, over %s', async (way) => {
    await using wire = await hasty.open(way)
    const asked = await propose(wire, 'ask_followup_question', { question: 'Is anybody there?' })
    expect((await asked.done).result?.structuredContent).toEqual({ ack: true })
    await withdrawn(wire, asked.form)
  })
})

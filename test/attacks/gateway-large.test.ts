import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { nestedPayload, fits } from '../../src/surfaces/gateway/payload-limits.ts'
import { openAnswerSlots } from '../../src/surfaces/gateway/answer-slots.ts'
import { framesOf, openGateway, turn } from '../support/gateway.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'

const whole = 5_242_880
const read = (path: string, more: object = {}) => turn({ name: 'read_file', input: { path, max_bytes: whole } }, { ...more })

test('what JSON makes long is cut where a dialect repeats it, and says so; the file’s true size is there', async () => {
  await using gateway = await openGateway({ files: { 'quotes.txt': '"'.repeat(whole) } })
  for (const [path, stream] of [
    ['/api/agent/process', true],
    ['/v1/responses', false],
    ...(isSoak ? ([['/v1/responses', true]] as const) : []),
  ] as const) {
    const text = await (await gateway.send(path, { body: read('quotes.txt', { stream }) })).text()
    expect([path, stream, text.length < 16 << 20]).toEqual([path, stream, true])
    const told = stream ? JSON.stringify(framesOf(text).at(-1)) : text
    expect(told).toContain(`[truncated: the file has ${whole} bytes]`)
    const result = /"output":"((?:[^"\\]|\\.)*)"/.exec(told)?.[1] ?? ''
    expect(JSON.parse(JSON.parse(`"${result}"`) as string)).toMatchObject({ ok: true, truncated: true, size: whole })
  }
})

test('contract 001 gives a file of the largest size whole, and of one that is six times as long in JSON what fits', async () => {
  await using gateway = await openGateway({
    files: { 'lines.txt': 'line\n'.repeat(whole / 5), 'zeros.txt': '\u0001'.repeat(whole) },
  })
  const { body } = await gateway.tool('read_file', { path: 'lines.txt', max_bytes: whole })
  expect(body.tool_result).toMatchObject({ truncated: false, size: whole })
  expect([body.reply?.length, body.tool_result?.text.length, body.events?.at(-1)?.['reply'] === body.reply]).toEqual([
    whole,
    whole,
    true,
  ])
  const zeros = (await gateway.tool('read_file', { path: 'zeros.txt', max_bytes: whole })).body.tool_result
  expect(zeros).toMatchObject({ truncated: true, size: whole })
  expect(String(zeros?.['content']).length).toBe(Math.floor((8 << 20) / 6))
})

test('many who read large files at once, and read what they get, all get it, in each dialect', async () => {
  await using gateway = await openGateway({ files: { 'lines.txt': 'line\n'.repeat(whole / 5) } })
  const paths = ['/agent/process', '/api/agent/process', '/v1/responses', '/agent/process?stream']
  const all = await Promise.all(
    Array.from({ length: sweep(12, 5) }, async (_, n) => {
      const [path = '', stream] = (paths[n % paths.length] ?? '').split('?')
      const answer = await gateway.send(path, { body: read('lines.txt', { stream: stream !== undefined, session_id: `s${n}` }) })
      return (await answer.text()).length
    }),
  )
  expect(all.filter((length) => length < 1 << 20)).toEqual([])
})

test('a tool’s input that is long comes back short, whether it is taken or not', async () => {
  await using gateway = await openGateway()
  const long = '"'.repeat(sweep(1 << 20, 1 << 18))
  for (const input of [
    { path: 'a.txt', content: long },
    { path: 'b.txt', content: { deep: long } },
    { path: 'c.txt', content: '', [long]: 1 },
    { path: 'd.txt', content: Array.from({ length: 500 }, () => 'x'.repeat(1_000)) },
    Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`field${n}`, 'x'.repeat(500)])),
  ])
    for (const path of ['/agent/process', '/api/agent/process', '/v1/responses']) {
      const answer = await gateway.send(path, { body: turn({ name: 'create_file', input }, { stream: true }) })
      const text = await answer.text()
      expect([path, text.includes('create_file'), text.length < 100_000]).toEqual([path, true, true])
    }
  expect(gateway.world.read('a.txt')).toBe(long)
})

test('a cut text takes what it may take in JSON, and no character is halved', () => {
  const below = draws('texts to cut')
  const some = ['a', '"', '\\', '\n', '\u0001', '\u007f', 'é', '海', '😀', '\ud800', '\t']
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: 300 }, () => some[below(some.length)]).join('')
    const most = 100 + below(300)
    for (const twice of [false, true]) {
      const bytes = (end: number): number => {
        const once = JSON.stringify(text.slice(0, end))
        return Buffer.byteLength(twice ? JSON.stringify(once).slice(3, -3) : once.slice(1, -1))
      }
      const end = fits(text, { most, twice })
      expect(bytes(end)).toBeLessThanOrEqual(most)
      expect(/[\ud800-\udbff]$/.test(text.slice(0, end)) && /^[\udc00-\udfff]/.test(text.slice(end))).toBe(false)
      if (end < text.length) expect(bytes(end + 2)).toBeGreaterThan(most)
    }
  }
  expect(fits('short', nestedPayload)).toBe(5)
})

test('one process has two of the four places, whoever waits with none is next, and who goes away leaves its place', async () => {
  const slotFor = openAnswerSlots()
  const answer = () => Object.assign(new EventEmitter(), { destroyed: false }) as unknown as ServerResponse
  const began: string[] = []
  const hold = (name: string, peer: string) => {
    const response = answer()
    const slot = slotFor(response, peer)
    void slot.hold().then(() => began.push(name))
    return { slot, response }
  }
  const turnOver = () => new Promise((resolve) => setImmediate(resolve))
  const first = hold('a1', 'process 1 1')
  hold('a2', 'process 1 1')
  hold('a3', 'process 1 1')
  hold('b1', 'process 2 1')
  const hidden = hold('c1', 'connection 1')
  hold('c2', 'connection 2')
  hold('d1', 'process 3 1')
  await turnOver()
  expect(began).toEqual(['a1', 'a2', 'b1', 'c1'])
  hidden.response.emit('close')
  await turnOver()
  expect(began.slice(4)).toEqual(['c2'])
  first.slot.release()
  await turnOver()
  expect(began.slice(5)).toEqual(['d1'])
})

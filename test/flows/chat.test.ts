import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAgentWorld, textOf, type AgentWorld } from '../support/agent.ts'
import { runInside } from '../support/inside.ts'
import type { Line } from '../support/scripted-model.ts'
import { proves } from '../support/proof.ts'
import { atTerminal } from '../support/terminal.ts'
import { cleanEnv, program } from '../support/world.ts'

const call = (name: string, input: object): Line => ({ calls: [{ name, input }] })
const write = (path: string): Line => call('write_to_file', { path, content: 'x\n', dryRun: false })
const ask = { policies: { askFrom: 'R1' } }
const env = { HANDRAIL_KEYRING: 'off' }

/** What a script pipes in; nothing, unless a test says so. */
const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
function piped(text: string): void {
  const stream = new PassThrough()
  stream.end(text)
  Object.defineProperty(process, 'stdin', { configurable: true, value: stream })
}
beforeEach(() => piped(''))
afterEach(() => Object.defineProperty(process, 'stdin', stdin))

const chat = ({ world }: AgentWorld, ...words: string[]) => runInside(world.project, ['chat', ...words], { env })

test('--print: the reply alone on stdout, where it goes on stderr, and what is piped in goes with the words', async () => {
  await using at = await openAgentWorld([{ text: '一行\u001b[2J文字' }])
  piped('从管道来的文字')
  const { code, out, err } = await chat(at, '--print', '看看')
  expect([code, out]).toEqual([0, '一行\\u001b[2J文字\n'])
  expect(err).toContain(`Model: compatible/scripted at ${at.model.url}`)
  expect(textOf(at.model.asked[0]?.body.messages.at(-1) ?? { role: '' })).toBe('看看\n\n从管道来的文字')
})

test('--print: exit codes tell done, failed, asked and waiting apart; what waits goes on in the next turn', async () => {
  const question = call('ask_followup_question', { question: '哪个？' })
  await using at = await openAgentWorld([question, write('a.txt'), { text: '写好了。' }], { config: ask })
  expect(await chat(at, '--print')).toMatchObject({ code: 2, out: '' })
  expect(await chat(at, '--print', '--session', 'chat_x', '问')).toMatchObject({ code: 3, out: '哪个？\n' })
  const waits = await chat(at, '--print', '--session', 'chat_x', '写 a')
  expect([waits.code, waits.out, existsSync(at.world.path('a.txt'))]).toEqual([3, '', false])
  const [pending] = at.world.runtime.approvals.list('pending')
  expect(waits.err).toContain(`handrail approvals show ${pending?.id}`)
  const gone = await chat(at, '--print', '--session', 'chat_x', '好了吗')
  expect([gone.code, gone.out]).toEqual([0, '写好了。\n'])
  await at.model.close()
  // Where it is said what is wanted, nobody is asked for the road first.
  expect(await chat(at, '--print', '--plan', '再来')).toMatchObject({ code: 1, out: '' })
})

test('--json tells every event; --models lists what the endpoint has; without a model it says how to get one', async () => {
  await using at = await openAgentWorld([{ text: '好' }])
  const { out } = await chat(at, '--json', '嗨')
  const types = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type)
  expect([types[0], types.at(-1)]).toEqual(['step', 'completed'])
  expect((await chat(at, '--models')).out).toBe('scripted-a\nscripted-b\n')
  at.world.settings({})
  expect((await chat(at, '--print', '嗨')).out).toContain('No model is configured')
})

test('at the terminal: the card with its diff, the answer in place, and the end', async () => {
  await using at = await openAgentWorld([write('海边.txt'), { text: '写好了。' }], { config: ask })
  const { code, out } = await atTerminal(at.world.project, ['chat', '写吧'], {
    columns: 100,
    until: 'Agree?',
    answer: 'y 好\n/cost\n/exit',
  })
  expect(code).toBe(0)
  expect(out).toContain(`Model: compatible/scripted at ${at.model.url}`)
  expect(out).toMatch(/海边\.txt[\s\S]*\+ ?x[\s\S]*Agree\?[\s\S]*Agreed\.[\s\S]*写好了。[\s\S]*tokens in/)
  expect(at.world.read('海边.txt')).toBe('x\n')
})

test('killed while a call waits for the person: the yes is used by whoever goes on, and nothing is done twice', async () => {
  const both: Line = {
    calls: [
      { name: 'write_to_file', input: { path: 'one.txt', content: 'x\n', dryRun: false } },
      { name: 'write_to_file', input: { path: 'two.txt', content: 'x\n', dryRun: false } },
    ],
  }
  await using at = await openAgentWorld([both, { text: '都好了。' }], { config: ask })
  const args = ['chat', '--print', '--wait', '--session', 'chat_k', '写两个', '--project', at.world.project]
  const child = spawn(process.execPath, [program, ...args], {
    env: cleanEnv(dirname(at.world.project), env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end()
  const over = new Promise((resolve) => child.once('close', resolve))
  const asked = () => at.world.runtime.approvals.list('pending').map(({ id }) => id)
  const say = (id: string): void => void at.world.runtime.approvals.decide(id, { approve: true, by: 'me' })
  let said = ''
  const seen = new Promise<string>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const ids = [...said.matchAll(/approvals show (appr_\w+)/g)].map(([, id]) => id as string)
      if (ids.length === 1 && asked().includes(ids[0] as string)) say(ids[0] as string)
      if (ids.length === 2) resolve(ids[1] as string)
    })
  })
  const second = await seen
  child.kill('SIGKILL')
  await over
  expect([at.world.read('one.txt'), existsSync(at.world.path('two.txt'))]).toEqual(['x\n', false])
  const record = (await at.world.runtime.agent()).sessions.load('chat_k')
  expect([record?.state, record?.open.map(({ call: { input }, after }) => [input['path'], after !== undefined])]).toEqual([
    'working',
    [['two.txt', true]],
  ])
  say(second)
  const { end } = await at.ask('', { session: 'chat_k' })
  expect(end).toMatchObject({ type: 'completed', reply: '都好了。' })
  expect(at.world.read('two.txt')).toBe('x\n')
  const made = [...at.world.runtime.audit.lines()].filter(({ event, snapshots }) => event === 'call.end' && snapshots?.length)
  expect(made.length).toBe(2)
})

proves(
  'privacy.keys',
  'keys: from a pipe only, shown to nobody, bound to where they are for; one command clears all',
  async () => {
    await using at = await openAgentWorld([])
    const keys = (...words: string[]) => runInside(at.world.project, ['keys', ...words], { env })
    const key = 'sk-Planted0Key1For2The3Pipe4'
    expect(await keys('set', 'compatible', key)).toMatchObject({ code: 2 })
    expect(await keys('set', 'compatible')).toMatchObject({ code: 2 })
    piped(`${key}\n`)
    const set = await keys('set', 'compatible')
    expect([set.code, set.out]).toEqual([0, `Kept in the file, for ${new URL(at.model.url).origin} only.\n`])
    piped(`${key}\n`)
    await keys('set', 'openai')
    const list = await keys('list')
    expect(list.out).toMatch(/compatible +http:\/\/127\.0\.0\.1:\d+ +file[\s\S]*openai +https:\/\/api\.openai\.com +file/)
    const doctor = await runInside(at.world.project, ['doctor'], { env })
    for (const said of [set, list, doctor]) expect(said.out + said.err).not.toContain(key)
    expect((await keys('clear')).out).toBe('Cleared: compatible, openai\n')
    expect((await keys('list')).out).toBe('No key is set.\n')
  },
)

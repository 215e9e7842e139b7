// @stage
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, turn, type Gateway } from '../support/gateway.ts'
import { until } from '../support/everywhere.ts'
import { proves } from '../support/proof.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await openGateway({
    files: { 'apps/gateway/a.txt': 'one\n', ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`old/${n}.txt`, `${n}\n`])) },
    flags: { 'enable-shell': 'true' },
  })
})
afterAll(() => gateway[Symbol.asyncDispose]())

proves('gateway.shell', 'the example of the guide, where the person has switched it on', async () => {
  const { status, body } = await gateway.tool('shell', { command: 'pwd; ls', cwd: 'apps/gateway', timeout_seconds: 20 })
  expect(status).toBe(200)
  expect(body.tool_result).toMatchObject({ ok: true, command: 'pwd; ls', exit_code: 0, effects: 'none' })
  expect(body.tool_result?.['output']).toMatch(/apps\/gateway\na\.txt\n$/)
  expect(body.reply).toBe(body.tool_result?.text)
})

test('an absolute cwd inside the project, a time as a text, and none at all', async () => {
  const cwd = gateway.world.path('apps')
  for (const timeout_seconds of ['5', 0, -1, 1.5, 900, undefined])
    expect((await gateway.tool('shell', { command: 'pwd', cwd, timeout_seconds })).body.tool_result).toMatchObject({
      ok: true,
      exit_code: 0,
    })
  expect((await gateway.tool('shell', { command: 'pwd', timeout_seconds: 'soon' })).body.error?.code).toBe('invalid_tool_input')
  for (const bad of ['/etc', '/usr/bin', '..', '/proc/self/root'])
    expect((await gateway.tool('shell', { command: 'pwd', cwd: bad })).body.error?.code).toBe('tool_forbidden_path')
  expect((await gateway.tool('shell', { command: 'pwd', cwd: 'none' })).body.error?.code).toBe('tool_not_found')
})

test('an exit that is not 0 is an answer: 200, ok: false, and both outputs', async () => {
  const { status, body } = await gateway.tool('shell', { command: 'printf out; echo err >&2; exit 3' })
  expect([status, body.tool_result]).toMatchObject([200, { ok: false, exit_code: 3, output: 'out\nerr\n' }])
})

test('plain changes are applied, and the answer says so; they can be undone', async () => {
  const { body } = await gateway.tool('shell', { command: 'echo made > made.txt' })
  expect(body.tool_result).toMatchObject({ ok: true, effects: 'applied', changes: [{ path: 'made.txt', kind: 'created' }] })
  expect(gateway.world.read('made.txt')).toBe('made\n')
  const { runtime } = gateway.world
  const end = runtime.audit.last(1, ({ event, tool }) => event === 'call.end' && tool === 'shell')[0]
  await runtime.call(
    'undo',
    { call: end?.call, dryRun: false },
    { surface: 'cli', client: 'person', session: 's', role: 'person' },
  )
  expect(existsSync(gateway.world.path('made.txt'))).toBe(false)
})

test('what removes much waits for a person, and the answer says so, with what it printed', async () => {
  const call = { command: 'rm -v old/*.txt' }
  const asked = await gateway.tool('shell', call)
  expect([asked.status, asked.body.tool_result]).toMatchObject([
    200,
    {
      ok: false,
      command: call.command,
      exit_code: 0,
      effects: 'waiting',
      approval_id: expect.stringMatching(/^appr_/) as string,
    },
  ])
  expect(asked.body.tool_result?.['output']).toContain('old/1.txt')
  expect(gateway.world.read('old/1.txt')).toBe('1\n')
  const id = String(asked.body.tool_result?.['approval_id'])
  gateway.world.runtime.approvals.decide(id, { approve: true, by: 'somebody@test' })
  expect((await gateway.tool('shell', call)).body.tool_result).toMatchObject({ ok: true, effects: 'applied' })
  expect(existsSync(gateway.world.path('old/1.txt'))).toBe(false)
})

test('programs see the system read-only, and write nothing outside the project', async () => {
  const { body } = await gateway.tool('shell', {
    command: 'test -r /etc/passwd && echo readable; echo x > /etc/x; echo x > /usr/x; echo $?',
  })
  expect(body.tool_result?.['output']).toContain('readable')
  expect(existsSync('/etc/x')).toBe(false)
  expect(existsSync('/usr/x')).toBe(false)
})

/** Whether a program with exactly these words runs, wherever its namespace is. */
const runs = (...words: string[]): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${words.join('\0')}\0`
    } catch {
      return false
    }
  })

test('a client that goes away ends the program it started, and nothing it did is applied', async () => {
  const seconds = String(90_000 + process.pid)
  for (const stream of [false, true]) {
    const going = new AbortController()
    const sent = gateway
      .send('/agent/process', {
        body: turn({ name: 'shell', input: { command: `echo early > early.txt; sleep ${seconds}` } }, { stream }),
        signal: going.signal,
      })
      .then((response) => response.text())
    await until(() => runs('sleep', seconds), 'that it runs')
    going.abort()
    await expect(sent).rejects.toThrow()
    await until(() => !runs('sleep', seconds), 'its end')
    expect(existsSync(gateway.world.path('early.txt'))).toBe(false)
  }
})

import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Approval, ApprovalHead } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { errorBodyOf, type ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { lapseNow } from '../support/approve.ts'
import { openInside, runInside, serveInside } from '../support/inside.ts'
import { soon } from '../support/stage.ts'
import { cleanEnv, openStdio, openWorld, runCli, runToExit, type CliEnd, type Peer, type World } from '../support/world.ts'

const before = '{ "name": "game" }\n'
const after = '{ "name": "game", "scripts": { "dev": "vite" } }\n'
const project = { files: { 'package.json': before, 'a.txt': 'a0\n' } }

type Reply = Awaited<ReturnType<Peer['call']>>

function write(peer: Peer, content = after, path = 'package.json'): Promise<Reply> {
  return peer.call('write_to_file', { path, content, dryRun: false })
}

/** The dry run, which asks nobody, and then the write, which does. */
async function propose(peer: Peer, content = after, path = 'package.json'): Promise<Reply> {
  expect(await peer.call('write_to_file', { path, content, dryRun: true })).toMatchObject({ applied: false })
  return write(peer, content, path)
}

/** Waits until a question is put, and gives it. */
async function asked(world: World): Promise<ApprovalHead> {
  expect(await soon(() => world.runtime.approvals.count('pending') > 0), 'somebody is asked').toBe(true)
  return world.runtime.approvals.list('pending')[0] as ApprovalHead
}

/** The approval id in a refusal that says a person must be asked. */
function needed(reply: Reply): string {
  expect(reply.error).toMatchObject({ code: 'E_POLICY_VIOLATION', recoverable: true })
  const approvalId = String(reply.error?.details?.['approvalId'])
  expect(approvalId).toMatch(/^appr_[0-9a-f]{32}$/)
  expect(reply.error?.hint).toContain(approvalId)
  return approvalId
}

function approve(world: World, id: string, ...args: string[]): Promise<CliEnd> {
  return runInside(world.project, ['approvals', 'approve', id, ...args])
}

function deny(world: World, id: string, ...args: string[]): Promise<CliEnd> {
  return runInside(world.project, ['approvals', 'deny', id, ...args])
}

const state = (world: World, id: string): string | undefined => world.runtime.approvals.get(id)?.state

function auditOf(world: World, event: AuditLine['event']): AuditLine[] {
  return [...world.runtime.audit.lines()].filter((line) => line.event === event)
}

const noDiff = ['--write-requires-diff', 'false']
const noWait = { args: ['--approval-wait-ms', '0'] }
const noWaitNoDiff = { args: [...noWait.args, ...noDiff] }

test('a question is answered from another terminal while the call waits', async () => {
  await using world = await openWorld(project)
  await using peer = await openStdio(world.project)
  const waiting = propose(peer)
  const { id, risk } = await asked(world)
  expect(risk).toBe('R2')
  expect(world.read('package.json')).toBe(before)
  const end = await runCli(world.project, ['approvals', 'approve', id])
  expect(end).toMatchObject({ code: 0, out: expect.stringContaining('Approved') as string })
  expect(await waiting).toMatchObject({ applied: true })
  expect(world.read('package.json')).toBe(after)
  expect(state(world, id)).toBe('used')
})

test('a denial while the call waits ends it with the words of the person', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project)
  const waiting = propose(peer)
  const { id } = await asked(world)
  expect(await deny(world, id, '--note', 'use npm init instead')).toMatchObject({ code: 0 })
  const { error } = await waiting
  expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id, note: 'use npm init instead' } })
  expect(error?.message).toContain('use npm init instead')
  expect(world.read('package.json')).toBe(before)
})

test('an answer after the wait limit lets exactly the same call through, once', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))
  expect(needed(await write(peer)), 'asking again asks the same question').toBe(id)
  expect(world.read('package.json')).toBe(before)
  await approve(world, id)
  expect(await write(peer)).toMatchObject({ applied: true })
  expect(world.read('package.json')).toBe(after)

  const again = needed(await propose(peer))
  expect(again, 'a yes counts once').not.toBe(id)
  await deny(world, again)
  world.write('package.json', before)
  const third = needed(await propose(peer))
  expect([id, again], 'also on the very state that was approved before').not.toContain(third)
  expect(world.read('package.json')).toBe(before)
})

test('an answer given while no server runs is one to the session that asked: a new one asks anew', async () => {
  await using world = await openWorld(project)
  let id: string
  {
    await using peer = await openInside(world.project, noWait)
    id = needed(await propose(peer))
  }
  await approve(world, id)
  await using peer = await openInside(world.project, noWait)
  const early = await write(peer)
  expect(early.error, 'a new session makes its own dry run').toMatchObject({ details: { policy: 'writeRequiresDiff' } })
  expect(needed(await propose(peer))).not.toBe(id)
  expect(state(world, id)).toBe('approved')
  expect(world.read('package.json')).toBe(before)
})

test('a question outlives its server, and its answer serves nobody else', async () => {
  await using world = await openWorld(project)
  const peer = await openStdio(world.project, noWaitNoDiff)
  const id = needed(await write(peer))
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no event target
  const closed = new Promise<void>((resolve) => (peer.client.onclose = resolve))
  process.kill(peer.pid, 'SIGKILL')
  await closed
  await approve(world, id)
  await using next = await openInside(world.project, noWaitNoDiff)
  const again = needed(await write(next))
  expect(again).not.toBe(id)
  await approve(world, again)
  expect(await write(next)).toMatchObject({ applied: true })
})

test('a denied call is not asked again, not by the next session of the same client either; another client may ask', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))
  await deny(world, id, '--note', 'not on a Friday')
  for (let times = 0; times < 2; times++) {
    const { error } = await propose(peer)
    expect(error).toMatchObject({ details: { approvalId: id, declined: true, note: 'not on a Friday' } })
    expect(error?.message).toContain('not on a Friday')
  }
  expect(world.runtime.approvals.list('pending')).toEqual([])
  expect(auditOf(world, 'approval.requested')).toHaveLength(1)
  await using next = await openInside(world.project, noWait)
  expect((await propose(next)).error).toMatchObject({ details: { approvalId: id, declined: true, note: 'not on a Friday' } })
  await using other = await openInside(world.project, { ...noWait, client: 'another' })
  expect(needed(await propose(other))).not.toBe(id)
})

test('a no stays a no for its client although another one asks the same', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))
  await deny(world, id, '--note', 'no, thanks')
  await using other = await openInside(world.project, { ...noWait, client: 'another' })
  const second = needed(await propose(other))
  await approve(world, second)
  const { error } = await write(peer)
  expect(error, 'the session that was told no').toMatchObject({ details: { declined: true, note: 'no, thanks' } })
  expect(await write(other), 'the session that was told yes').toMatchObject({ applied: true })
})

test('a file that changed while the card was shown is E_CONFLICT, and nothing is written', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project)
  const waiting = propose(peer)
  const { id } = await asked(world)
  world.write('package.json', '{ "name": "mine" }\n')
  await approve(world, id)
  expect((await waiting).error?.code).toBe('E_CONFLICT')
  expect(world.read('package.json')).toBe('{ "name": "mine" }\n')
})

test('a file that changed after the approval is E_CONFLICT, and the approval is spent', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWaitNoDiff)
  const id = needed(await write(peer))
  await approve(world, id)
  world.write('package.json', '{ "name": "mine" }\n')
  expect((await write(peer)).error).toMatchObject({ code: 'E_CONFLICT', details: { approvalId: id } })
  world.write('package.json', before)
  expect(needed(await write(peer)), 'bringing the old state back does not revive it').not.toBe(id)
  expect(world.read('package.json')).toBe(before)
})

test('a yes to one call is no yes to another', async () => {
  await using world = await openWorld({ files: { ...project.files, 'sub/package.json': before } })
  await using peer = await openInside(world.project, noWaitNoDiff)
  const id = needed(await write(peer))
  await approve(world, id)
  const others = [
    await write(peer, `${after} `),
    await write(peer, after, 'sub/package.json'),
    await peer.call('write_to_file', { path: 'package.json', content: after, mode: 'append', dryRun: false }),
    await peer.call('replace_in_file', { path: 'package.json', find: 'game', replace: 'evil' }),
    await peer.call('write_to_file', { path: 'package.json', content: after, dryRun: false, idempotencyKey: 'k' }),
  ]
  expect(new Set([id, ...others.map(needed)]).size).toBe(6)
  expect([world.read('package.json'), world.read('sub/package.json')]).toEqual([before, before])
  expect(state(world, id)).toBe('approved')
  expect(await write(peer)).toMatchObject({ applied: true })
})

test('of two processes that wait for one answer in one session, one call goes through', async () => {
  await using world = await openWorld({ ...project, flags: { 'write-requires-diff': 'false' } })
  await using peer = await openInside(world.project, { args: noDiff })
  const one = write(peer)
  const { id, session } = await asked(world)
  let two: Promise<unknown> = Promise.resolve()
  const joined = await new Promise<string>((resolve) => {
    const input = { path: 'package.json', content: after, dryRun: false }
    two = world.call('write_to_file', input, { session, onApproval: resolve }).catch((fault: Fault) => errorBodyOf(fault))
  })
  expect(joined, 'the same question').toBe(id)
  await approve(world, id)
  const replies = (await Promise.all([one, two])) as { applied?: boolean; error?: { code: string } }[]
  expect(replies.filter((reply) => reply.applied === true)).toHaveLength(1)
  expect(['E_CONFLICT', 'E_POLICY_VIOLATION']).toContain(replies.find((reply) => reply.error)?.error?.code)
  expect(auditOf(world, 'call.resumed').filter((line) => line.approval === id)).toHaveLength(1)
})

test('a question nobody answered in time is denied, and cannot be answered any more', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, { args: ['--approval-ttl-ms', '1000', '--approval-wait-ms', '30000'] })
  const { error } = await propose(peer)
  expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { state: 'expired' } })
  const id = String(error?.details?.['approvalId'])
  const late = await approve(world, id)
  expect(late).toMatchObject({ code: 1, err: expect.stringContaining('E_CONFLICT') as string })
  expect(late.err).toContain('expired')
  expect(state(world, id)).toBe('expired')
  expect(world.read('package.json')).toBe(before)
})

test('a yes that is not used in time lapses', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWaitNoDiff)
  const id = needed(await write(peer))
  world.runtime.approvals.decide(id, { approve: true, by: 'test' })
  lapseNow(world, id)
  expect(state(world, id)).toBe('expired')
  expect(needed(await write(peer))).not.toBe(id)
  expect(world.read('package.json')).toBe(before)
})

test('deciding twice is refused, whichever way', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))
  expect(await approve(world, id)).toMatchObject({ code: 0 })
  for (const second of [await deny(world, id), await approve(world, id)])
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining('already approved') as string })
  expect(state(world, id)).toBe('approved')
  expect(auditOf(world, 'approval.decided')).toHaveLength(1)
})

test('deciding what does not exist, or nothing, says so', async () => {
  await using world = await openWorld()
  const refusal = (code: number, word: string) => ({ code, err: expect.stringContaining(word) as string })
  expect(await approve(world, 'appr_00')).toMatchObject(refusal(1, 'E_NOT_FOUND'))
  expect(await runInside(world.project, ['approvals', 'approve'])).toMatchObject(refusal(2, 'E_BAD_ARGS'))
  expect(await runInside(world.project, ['approvals', 'frob'])).toMatchObject(refusal(2, 'E_BAD_ARGS'))
})

test('approvals list and show, as text and as JSON', async () => {
  await using world = await openWorld(project)
  const cli = async (...args: string[]): Promise<string> => (await runInside(world.project, ['approvals', ...args])).out
  expect(await cli('list')).toContain('Nothing waits for you')
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))

  const list = await cli('list')
  for (const word of [id, 'pending', 'R2', 'write_to_file', 'Change package.json']) expect(list).toContain(word)
  const listed = JSON.parse((await cli('list', '--json')).split('\n')[0] ?? '') as Approval
  expect(listed).toMatchObject({
    id,
    state: 'pending',
    risk: 'R2',
    tool: 'write_to_file',
    card: { title: 'Change package.json' },
  })

  const show = await cli('show', id)
  const words = ['Change package.json', 'handrail-test/1.0.0', 'mcp-stdio', `- ${before.trim()}`, `+ ${after.trim()}`]
  for (const word of words) expect(show).toContain(word)
  const shown = JSON.parse(await cli('show', id, '--json')) as Approval
  expect(shown.card.changes).toMatchObject([
    { path: 'package.json', diff: { hunks: [{ linesOld: [before.trim()], linesNew: [after.trim()] }] } },
  ])
  expect(shown.input, 'the content itself is not kept twice').toMatchObject({
    path: 'package.json',
    content: { bytes: after.length },
  })

  await deny(world, id, '--note', 'later')
  expect(await cli('list')).toContain('Nothing waits for you')
  expect(await cli('list', '--all')).toContain('denied')
  expect(await cli('show', id)).toContain(`denied by ${userInfo().username}@cli: later`)
})

test('a card cannot play tricks on the terminal', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer, 'harmless \u001b[2K\u001b[1A\u202e hidden\n'))
  const { out } = await runInside(world.project, ['approvals', 'show', id])
  expect(out).not.toMatch(/[\u001b\u202e]/)
  for (const word of ['harmless', 'hidden']) expect(out).toContain(word)
})

test('an agent can neither see nor answer questions, over stdio', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const id = needed(await propose(peer))
  const { tools } = await peer.client.listTools()
  expect(tools.map((tool) => tool.name).filter((name) => /approv|decide|undo/.test(name))).toEqual([])
  for (const name of ['approvals', 'approve', 'approvals.decide', 'decide'])
    await expect(peer.call(name, { id, approve: true })).rejects.toThrow(/unknown tool/i)
  for (const path of ['.handrail/handrail.db', '.handrail/token', '.HANDRAIL/handrail.db'])
    expect((await peer.call('read_file', { path })).error?.code).toBe('E_DENY_PATH')
  const input = { path: 'package.json', content: after, dryRun: false }
  for (const more of [{ approvalId: id }, { approved: true }, { role: 'person' }])
    expect((await peer.call('write_to_file', { ...input, ...more })).error?.code).toBe('E_BAD_ARGS')
  const dressed = await peer.client.callTool({
    name: 'write_to_file',
    arguments: input,
    _meta: { role: 'person', 'handrail/role': 'person' },
  })
  expect(dressed.isError).toBe(true)
  expect(state(world, id)).toBe('pending')
  expect(world.read('package.json')).toBe(before)
})

test('an agent can neither see nor answer questions, over HTTP with the token in hand', async () => {
  await using world = await openWorld(project)
  await using served = await serveInside(world.project, noWaitNoDiff)
  const { url, token } = served
  const headers: Record<string, string> = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const opened = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello }),
  })
  headers['Mcp-Session-Id'] = opened.headers.get('mcp-session-id') ?? ''
  const call = async (name: string, input: object): Promise<string> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } })
    return (await fetch(`${url}/mcp`, { method: 'POST', headers, body })).text()
  }
  expect(await call('write_to_file', { path: 'package.json', content: after, dryRun: false })).toContain('E_POLICY_VIOLATION')
  const { id } = await asked(world)
  for (const path of ['/approvals', `/approvals/${id}`, `/approvals/${id}/approve`, `/api/approvals/${id}`])
    for (const method of ['GET', 'POST']) expect([401, 403, 404]).toContain((await fetch(url + path, { method, headers })).status)
  expect(await call('approvals', { id, approve: true })).toMatch(/unknown tool/i)
  expect(state(world, id)).toBe('pending')
})

test('policies.askFrom R1 makes every change ask, and only changes', async () => {
  await using world = await openWorld({ ...project, config: { policies: { askFrom: 'R1' } } })
  await using peer = await openInside(world.project, noWait)
  expect(await peer.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'a0\n' })
  expect(await peer.call('list_files', { path: '.' })).toMatchObject({ entries: ['a.txt', 'package.json'] })
  const change = needed(await propose(peer, 'a1\n', 'a.txt'))
  const create = needed(await propose(peer, 'new\n', 'new.txt'))
  const replace = needed(await peer.call('replace_in_file', { path: 'a.txt', find: 'a0', replace: 'a2' }))
  expect(new Set([change, create, replace]).size).toBe(3)
  expect(world.runtime.approvals.get(change)?.risk).toBe('R1')
  expect((await runInside(world.project, ['approvals', 'show', create])).out).toContain('Create new.txt')
  expect((await runInside(world.project, ['approvals', 'show', replace])).out).toContain('+ a2')
  await approve(world, create)
  expect(await write(peer, 'new\n', 'new.txt')).toMatchObject({ applied: true })
  expect(world.read('a.txt')).toBe('a0\n')
})

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
const sensitive = [
  'package.json',
  'sub/package.json',
  'PACKAGE.JSON',
  '.vscode/tasks.json',
  '.github/workflows/ci.yml',
  'Makefile',
  'CLAUDE.md',
  'deep/.husky/pre-commit',
]

test.for(sensitive)('a write to %s asks', async (path) => {
  await using world = await openWorld({ flags })
  const fault = await world.fault('write_to_file', { path, content: 'x\n', dryRun: false })
  expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R2', approvalId: expect.any(String) as string } })
})

test('a write to an ordinary file asks nobody', async () => {
  await using world = await openWorld({ flags })
  for (const path of ['a.txt', 'package.json.txt', 'my-package.json', 'docs/makefile.md'])
    expect(await world.call('write_to_file', { path, content: 'x\n', dryRun: false })).toMatchObject({ applied: true })
  expect(world.runtime.approvals.list()).toEqual([])
})

test('a caller may raise the risk of a call, never lower it', async () => {
  await using world = await openWorld({ ...project, flags })
  const input = (path: string) => ({ path, content: 'x\n', dryRun: false })
  const raised = await world.fault('write_to_file', input('a.txt'), { raisedRisk: 'R3' })
  expect(raised).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R3' } })
  const lowered = await world.fault('write_to_file', input('package.json'), { raisedRisk: 'R0' })
  expect(lowered).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R2' } })
})

test('the audit says what was asked, who decided, and which call used it', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, noWait)
  const yes = needed(await propose(peer))
  await approve(world, yes, '--note', 'fine')
  await write(peer)
  const no = needed(await propose(peer, '{}\n'))
  await deny(world, no, '--note', 'no')

  const requested = auditOf(world, 'approval.requested')
  expect(requested.map((line) => [line.approval, line.tool, line.risk, line.surface, line.client])).toEqual([
    [yes, 'write_to_file', 'R2', 'mcp-stdio', 'handrail-test/1.0.0'],
    [no, 'write_to_file', 'R2', 'mcp-stdio', 'handrail-test/1.0.0'],
  ])
  const by = `${userInfo().username}@cli`
  expect(auditOf(world, 'approval.decided').map((line) => [line.approval, line.approved, line.by, line.message])).toEqual([
    [yes, true, by, 'fine'],
    [no, false, by, 'no'],
  ])
  const start = auditOf(world, 'call.start').find((line) => line.call === requested[0]?.call)
  expect(start?.inputDigest).toBe(requested[0]?.inputDigest)
  expect(auditOf(world, 'call.end').find((line) => line.call === start?.call)).toMatchObject({ outcome: 'ok' })
  expect(auditOf(world, 'call.resumed').map((line) => line.approval)).toEqual([yes])
  expect(await runInside(world.project, ['audit', 'verify'])).toMatchObject({ code: 0 })
})

test('a call cancelled while it waits for a person does nothing, even when the answer is yes', async () => {
  await using world = await openWorld(project)
  await using peer = await openInside(world.project, { args: noDiff })
  const controller = new AbortController()
  const input = { path: 'package.json', content: after, dryRun: false }
  const call = peer.client.callTool({ name: 'write_to_file', arguments: input }, { signal: controller.signal })
  const { id } = await asked(world)
  controller.abort()
  await expect(call).rejects.toThrow()
  const cancelled = (): boolean => auditOf(world, 'call.suspended').some((line) => line.outcome === 'cancelled')
  expect(await soon(cancelled)).toBe(true)
  await approve(world, id)
  expect(await peer.call('read_file', { path: 'package.json' })).toMatchObject({ content: before })
  expect(state(world, id)).toBe('approved')
})

test('handrail call asks like any agent, and exits 1 with the id where nobody answers', async () => {
  await using world = await openWorld(project)
  const input = JSON.stringify({ path: 'package.json', content: after, dryRun: false })
  const args = ['call', 'write_to_file', input, '--wait', '0', ...noDiff]
  const first = await runInside(world.project, [...args, '--json'])
  expect(first.code).toBe(1)
  const { error } = JSON.parse(first.err.trim().split('\n').at(-1) ?? '') as ErrorBody
  await approve(world, String(error.details?.['approvalId']))
  expect(await runInside(world.project, args)).toMatchObject({ code: 0 })
  expect(world.read('package.json')).toBe(after)
})

test('the command a waiting call prints for another terminal answers it as it stands, also where the state lies elsewhere', async () => {
  await using world = await openWorld(project)
  const elsewhere = ['--state', join(dirname(world.project), 'it is elsewhere')]
  const call = [
    'call',
    'write_to_file',
    JSON.stringify({ path: 'package.json', content: after, dryRun: false }),
    ...noDiff,
    ...elsewhere,
  ]
  const asked = await runCli(world.project, [...call, '--wait', '1'])
  const [, command = ''] = /From another terminal: (.*)/.exec(asked.err) ?? []
  const answered = await runToExit('sh', ['-c', command], { env: cleanEnv(dirname(world.project)) })
  expect(answered).toMatchObject({ code: 0, err: '' })
  expect((await runInside(world.project, call)).code).toBe(0)
  expect(world.read('package.json')).toBe(after)
})

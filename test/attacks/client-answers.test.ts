import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openMcp, openServe, ways, type McpConnection, type Said, type Served, type Way } from '../support/serve.ts'
import { runInside, serveInside } from '../support/inside.ts'
import { patienceMs } from '../support/patience.ts'
import { openWorld, type World } from '../support/world.ts'
import { isSoak } from '../support/soak.ts'

// What a client's answer is worth. Clients answer forms by themselves, agents hold the token of the HTTP surface, people read slowly.

const before = '{ "name": "game" }\n'
const after = '{ "name": "game", "scripts": { "dev": "vite" } }\n'
const stdio = ['stdio 2025', 'stdio 2026'] as const
const overHttp = ways.filter((way) => !way.startsWith('stdio'))
const approve: Said = { action: 'accept', content: { decision: 'approve' } }

/** As `codex exec` 0.166 and `copilot -p` 1.0.102: they say that they can ask, and decline by themselves within ten milliseconds. */
const headless = (): Said => ({ action: 'decline' })

let world: World
let served: Served
let places = 0
beforeAll(async () => {
  world = await openWorld({
    files: { 'a.txt': 'one\n', 'sandbox/workspaces/w/a.txt': 'one\n' },
    config: { policies: { writeRequiresDiff: false } },
  })
  // An agent that is installed, so that there is something of R3 to ask for.
  mkdirSync(join(world.base, 'bin'))
  writeFileSync(join(world.base, 'bin/codex'), '#!/bin/sh\nexit 0\n')
  chmodSync(join(world.base, 'bin/codex'), 0o755)
  served = await openServe(world.project, { args: ['--approval-wait-ms', '300'] })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

/** A change that asks, in a folder no other test uses. */
function place(): { path: string; input: Record<string, unknown> } {
  const path = `t${++places}/package.json`
  world.write(path, before)
  return { path, input: { path, content: after, dryRun: false } }
}

const questionsAbout = (path: string): Approval[] =>
  world.runtime.approvals
    .list()
    .flatMap(({ id }) => world.runtime.approvals.get(id) ?? [])
    .filter(({ card }) => card.changes.some((one) => one.path === path))

function approvalOf(path: string): Approval {
  const [found] = questionsAbout(path)
  if (!found) throw new Error(`nobody was asked about ${path}`)
  return found
}

const linesAbout = (id: string): AuditLine[] => [...world.runtime.audit.lines()].filter((line) => line.approval === id)
const decisions = (id: string): AuditLine[] => linesAbout(id).filter((line) => line.event === 'approval.decided')

function openClient(
  way: Way,
  onAsked: (params: Record<string, unknown>) => Said | Promise<Said>,
  name = 'codex',
  args: string[] = [],
) {
  const env = { PATH: `${join(world.base, 'bin')}:${process.env['PATH']}` }
  return openMcp(way, world.project, served, { onAsked, name, args, env })
}

async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const late = Date.now() + patienceMs
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > late) throw new Error(`${what} did not come`)
    await pause(10)
  }
}

describe.for(stdio)('a client that answers by itself, over %s', (way) => {
  test.for(['decline', 'cancel'] as const)(
    'its %s is no no: the question stays open and the terminal can say yes',
    async (action) => {
      const seen: unknown[] = []
      await using peer = await openClient(way, (params) => (seen.push(params), { action }))
      const { path, input } = place()
      const { error } = await peer.call('write_to_file', input)
      const { id } = approvalOf(path)
      expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id, form: 'closed without an answer' } })
      expect(error?.details).not.toHaveProperty('declined')
      expect(`${error?.message} ${error?.hint}`).not.toMatch(/declined by/i)
      expect(error?.hint).toContain(`handrail approvals approve ${id}`)
      expect(approvalOf(path)).toMatchObject({ state: 'pending' })
      expect(approvalOf(path).decidedBy).toBeUndefined()
      const waved = await until(() => linesAbout(id).find((line) => line.event === 'approval.waved-away'), 'the line of the log')
      expect(waved).toMatchObject({ by: 'client@codex/1.0.0', tool: 'write_to_file', details: { form: action } })
      expect(decisions(id)).toEqual([])
      // Made again, it does not put the form to a client that waves it away.
      expect((await peer.call('write_to_file', input)).error).toMatchObject({ details: { approvalId: id } })
      expect(seen).toHaveLength(1)
      expect(await runInside(world.project, ['approvals', 'approve', id])).toMatchObject({ code: 0 })
      expect(await peer.call('write_to_file', input)).toMatchObject({ applied: true })
      expect(world.read(path)).toBe(after)
      expect(decisions(id)).toMatchObject([{ approved: true, by: expect.stringMatching(/@cli$/) as string }])
    },
  )

  test('what decides is a filled-in form, and the record says that it was one', async () => {
    await using peer = await openClient(way, () => approve)
    const { path, input } = place()
    expect(await peer.call('write_to_file', input)).toMatchObject({ applied: true })
    expect(approvalOf(path)).toMatchObject({ state: 'used', decidedBy: 'form@codex/1.0.0' })
    expect(decisions(approvalOf(path).id)).toMatchObject([{ approved: true, by: 'form@codex/1.0.0' }])
  })

  test.runIf(isSoak || way === 'stdio 2025')(
    'no form has a field that may stay empty, a no stands first, and nothing is chosen beforehand',
    async () => {
      const forms: Record<string, unknown>[] = []
      await using peer = await openClient(way, (params): Said => {
        forms.push(params['requestedSchema'] as Record<string, unknown>)
        return forms.length === 1
          ? { action: 'accept', content: { decision: 'decline and say why' } }
          : { action: 'accept', content: { why: 'use npm init instead' } }
      })
      const { path, input } = place()
      const { error } = await peer.call('write_to_file', input)
      expect(forms).toEqual([
        {
          type: 'object',
          properties: {
            decision: { type: 'string', title: 'Decision', enum: ['decline', 'decline and say why', 'approve'] },
          },
          required: ['decision'],
        },
        {
          type: 'object',
          properties: { why: { type: 'string', title: 'Why', minLength: 1, maxLength: 1_000 } },
          required: ['why'],
        },
      ])
      expect(error).toMatchObject({ details: { declined: true, note: 'use npm init instead' } })
      expect(error?.message).toBe("Declined in the client's form: use npm init instead")
      expect(decisions(approvalOf(path).id)).toMatchObject([
        { approved: false, by: 'form@codex/1.0.0', message: 'use npm init instead' },
      ])
      expect(world.read(path)).toBe(before)
    },
  )

  test.runIf(isSoak || way === 'stdio 2025')('whatever becomes of the second form, the no of the first stands', async () => {
    for (const second of [{ action: 'cancel' }, { action: 'decline' }, { action: 'accept', content: { why: '' } }] as Said[]) {
      let forms = 0
      await using peer = await openClient(way, () =>
        ++forms === 1 ? { action: 'accept', content: { decision: 'decline and say why' } } : second,
      )
      const { path, input } = place()
      expect((await peer.call('write_to_file', input)).error).toMatchObject({ details: { declined: true } })
      expect(approvalOf(path)).toMatchObject({ state: 'denied', decidedBy: 'form@codex/1.0.0' })
      expect(world.read(path)).toBe(before)
    }
  })

  test.runIf(isSoak || way === 'stdio 2025')('what spends or destroys is never decided by a form', async () => {
    const seen: unknown[] = []
    await using peer = await openClient(way, (params) => (seen.push(params), approve))
    const input = { agent: 'codex', workspace_path: 'sandbox/workspaces/w', task_prompt: `spend ${way}` }
    const { error } = await peer.call('agent_run', input)
    expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R3' } })
    expect(seen).toEqual([])
    expect(world.runtime.approvals.get(String(error?.details?.['approvalId']))?.state).toBe('pending')
  })
})

describe.for(overHttp)("the agent's own token, over %s", (way) => {
  test('fills in no form: none is put, and the question waits for the person', async () => {
    const seen: Record<string, unknown>[] = []
    // It can show forms only: a link to the page would be for the person alone.
    await using peer = await openMcp(way, world.project, served, {
      name: 'codex',
      onAsked: (params) => (seen.push(params), params['mode'] === 'url' ? { action: 'accept' } : approve),
    })
    const { path, input } = place()
    const { error } = await peer.call('write_to_file', input)
    expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(path).id } })
    expect(seen.filter((params) => params['mode'] !== 'url')).toEqual([])
    expect(approvalOf(path).state).toBe('pending')
    expect(decisions(approvalOf(path).id)).toEqual([])
    expect(world.read(path)).toBe(before)
  })
})

test('over HTTP a form counts where the person switched it on, and a project cannot', async () => {
  await using own = await openWorld({ files: { 'package.json': before }, config: { policies: { writeRequiresDiff: false } } })
  await using open = await (isSoak ? openServe : serveInside)(own.project, { env: { HANDRAIL_ASK_OVER_HTTP: '1' } })
  for (const way of overHttp) {
    own.write('package.json', before)
    await using peer = await openMcp(way, own.project, open, { name: 'codex', onAsked: () => approve })
    expect(await peer.call('write_to_file', { path: 'package.json', content: after, dryRun: false })).toMatchObject({
      applied: true,
    })
    expect(own.runtime.approvals.list()[0]?.decidedBy).toBe('form@codex/1.0.0')
  }
  own.write('handrail.config.json', JSON.stringify({ policies: { askOverHttp: true } }))
  const { out, err } = await runInside(own.project, ['doctor', '--json'])
  expect(`${out}${err}`).not.toMatch(/"key":"policies.askOverHttp","value":true/)
})

describe('a person who reads slowly', () => {
  /** A form that is answered when the test says so. */
  function slow(): { asked: Record<string, unknown>[]; say: (said: Said) => void; onAsked: () => Promise<Said> } {
    let say: (said: Said) => void = () => undefined
    const said = new Promise<Said>((resolve) => (say = resolve))
    const asked: Record<string, unknown>[] = []
    return { asked, say, onAsked: (params?: Record<string, unknown>) => (asked.push(params ?? {}), said) }
  }

  test('the call answers with the id in time, the form stays, and a late yes counts', async () => {
    const form = slow()
    await using peer = await openClient('stdio 2025', form.onAsked, 'codex', ['--approval-wait-ms', '300'])
    const { path, input } = place()
    const { error } = await peer.call('write_to_file', input)
    const { id } = approvalOf(path)
    expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    // Made again while the person reads, it waits for the form that is open instead of putting a second one.
    expect((await peer.call('write_to_file', input)).error).toMatchObject({ details: { approvalId: id } })
    expect(form.asked).toHaveLength(1)
    form.say(approve)
    await until(() => approvalOf(path).state === 'approved', 'the late yes')
    expect(decisions(id)).toMatchObject([{ approved: true, by: 'form@codex/1.0.0' }])
    expect(await peer.call('write_to_file', input)).toMatchObject({ applied: true })
    expect(world.read(path)).toBe(after)
  })

  test('over HTTP too, where it counts at all', async () => {
    await using own = await openWorld({ files: { 'package.json': before }, config: { policies: { writeRequiresDiff: false } } })
    await using open = await (isSoak ? openServe : serveInside)(own.project, {
      args: ['--approval-wait-ms', '300', '--ask-over-http'],
    })
    for (const way of ['http 2025', 'sse'] as const) {
      own.write('package.json', before)
      const form = slow()
      await using peer = await openMcp(way, own.project, open, { onAsked: form.onAsked })
      const input = { path: 'package.json', content: after, dryRun: false }
      expect((await peer.call('write_to_file', input)).error?.code).toBe('E_POLICY_VIOLATION')
      form.say(approve)
      await until(() => own.runtime.approvals.list()[0]?.state === 'approved', `the late yes over ${way}`)
      expect(await peer.call('write_to_file', input)).toMatchObject({ applied: true })
    }
  })

  test('progress goes on while somebody reads', async () => {
    const form = slow()
    await using peer = await openClient('stdio 2025', form.onAsked)
    const steps: number[] = []
    const calling = peer.client.callTool(
      { name: 'write_to_file', arguments: place().input },
      { onprogress: ({ progress }) => void steps.push(progress) },
    )
    await until(() => steps.length >= 2, 'two steps of progress')
    form.say(approve)
    expect((await calling).structuredContent).toMatchObject({ applied: true })
    expect(steps).toEqual(steps.toSorted((one, other) => one - other))
    expect(new Set(steps).size).toBe(steps.length)
  })

  test.for(stdio)('running and waiting together stay below the limit, over %s', async (way) => {
    // Whoever waited longer than the client does would never tell the id: the wait alone would be 45 s here.
    const args = ['--answer-within-ms', '1000']
    await using peer: McpConnection = await openMcp(way, world.project, undefined, { args })
    const { path, input } = place()
    expect((await peer.call('write_to_file', input)).error).toMatchObject({ details: { approvalId: approvalOf(path).id } })
    const form = slow()
    await using asking = await openClient(way, form.onAsked, 'codex', args)
    if (way === 'stdio 2025')
      expect((await asking.call('write_to_file', place().input)).error).toMatchObject({ code: 'E_POLICY_VIOLATION' })
    form.say(headless())
  })
})

/** One call of 2026 on a connection of its own, made by a process of its own: `process.argv` says to whom and what. */
const stranger = `
const [url, token, body, headers] = process.argv.slice(1)
const { request } = require('node:http')
const sent = request(url, { method: 'POST', agent: false, headers: { ...JSON.parse(headers), Authorization: 'Bearer ' + token } }, (answer) => answer.pipe(process.stdout))
sent.end(body)
`

describe.runIf(process.platform === 'linux')(
  'two clients of 2026 over HTTP that give the same name and hold the same token',
  () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'twin', version: '1' },
    }
    const body = (input: object): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'write_to_file', arguments: input, _meta: meta },
      })
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'write_to_file',
    }
    /** The last message of an answer, streamed or not. */
    const textIn = (answer: string): string => {
      const message = JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer) as { result?: { content?: { text: string }[] } }
      return message.result?.content?.[0]?.text ?? answer
    }
    let own: World
    let open: Served
    beforeAll(async () => {
      own = await openWorld({ files: { 'a.txt': 'one\n', 'package.json': before } })
      open = await openServe(own.project, { args: ['--approval-wait-ms', '0'] })
    })
    afterAll(async () => {
      await open[Symbol.asyncDispose]()
      await own[Symbol.asyncDispose]()
    })
    /** This process, each time on a new connection. */
    const mine = async (input: object): Promise<string> => {
      const answer = await fetch(`${open.url}/mcp`, {
        method: 'POST',
        headers: { ...headers, Authorization: `Bearer ${open.token}`, Connection: 'close' },
        body: body(input),
      })
      return textIn(await answer.text())
    }
    const theirs = async (input: object, more: object = {}): Promise<string> => {
      const argv = ['-e', stranger, `${open.url}/mcp`, open.token, body(input), JSON.stringify({ ...headers, ...more })]
      return textIn((await promisify(execFile)(process.execPath, argv)).stdout)
    }

    test("one cannot write on the other's dry run, whose own goes on working over connection after connection", async () => {
      const change = { path: 'a.txt', content: 'two\n' }
      expect(await mine({ ...change, dryRun: true })).toContain('"applied":false')
      const session = own.runtime.sessions()[0]?.id ?? ''
      for (const more of [{}, { 'X-Session': session }, { Cookie: `session=${session}` }])
        expect(await theirs({ ...change, dryRun: false }, more)).toContain('needs a dry run')
      expect(own.read('a.txt')).toBe('one\n')
      expect(await mine({ ...change, dryRun: false })).toContain('"applied":true')
      expect(new Set(own.runtime.sessions().map((one) => one.id)).size).toBeGreaterThan(1)
    })

    test('one cannot use a yes that was given to the other', async () => {
      const change = { path: 'package.json', content: after }
      await mine({ ...change, dryRun: true })
      expect(await mine({ ...change, dryRun: false })).toContain('approvalId')
      const [asked] = own.runtime.approvals.list('pending')
      own.runtime.approvals.decide(asked?.id ?? '', { approve: true, by: 'test' })
      await theirs({ ...change, dryRun: true })
      expect(await theirs({ ...change, dryRun: false })).not.toContain('"applied":true')
      expect([own.read('package.json'), own.runtime.approvals.get(asked?.id ?? '')?.state]).toEqual([before, 'approved'])
      expect(await mine({ ...change, dryRun: false })).toContain('"applied":true')
    })
  },
)

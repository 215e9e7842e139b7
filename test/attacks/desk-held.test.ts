import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import type { RuntimeOptions } from '../../src/contracts/runtime.ts'
import { openConnection } from '../../src/host/database.ts'
import { serveDesk } from '../../src/runtime/desk.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { enter, visitAt, type Answer } from '../support/person.ts'
import { cleanEnv, openWorld, stateOf, type World } from '../support/world.ts'

/** Holds the store of a project as a process does that was stopped in the middle of opening it, or of a change. */
function hold(project: string, how: 'opening' | 'changing'): () => void {
  const connection = openConnection(join(stateOf(project), how === 'opening' ? 'locks/opening.db' : 'handrail.db'))
  connection.exec(how === 'opening' ? 'BEGIN EXCLUSIVE' : 'BEGIN IMMEDIATE')
  return () => {
    connection.exec('ROLLBACK')
    connection.close()
  }
}

/** A question in words waits in a project. */
async function askIn(world: World, project: string): Promise<void> {
  const runtime = openRuntime({ project, environment: cleanEnv(world.base) })
  const caller = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' } as const
  await runtime.call('ask_followup_question', { question: 'Which of both?', options: ['this', 'that'] }, caller)
  await runtime.close()
}

async function deskOf(world: World) {
  const environment = cleanEnv(world.base)
  const came = new Map<string, () => void>()
  const troubles: [string, Fault][] = []
  const asked: Pick<RuntimeOptions, 'patienceMs'>[] = []
  const served = await serveDesk({
    port: 0,
    asked: { environment },
    openAt(project, more) {
      asked.push(more)
      return openRuntime({ project, environment, ...more })
    },
    named: [],
    againMs: 1,
    onProject({ project }) {
      came.get(project)?.()
      return () => undefined
    },
    onTrouble: (project, fault) => troubles.push([project, fault]),
  })
  const port = Number(new URL(served.url).port)
  const at = { ...served, port, token: '', pid: 0, stderr: () => '', [Symbol.asyncDispose]: () => served.close() }
  const person = await enter(at, new URL(served.link()).searchParams.get('key') ?? '')
  const headers = { Cookie: person.cookie, Origin: served.url, 'Content-Type': 'application/x-www-form-urlencoded' }
  return {
    served,
    troubles,
    asked,
    comes: (project: string) => new Promise<void>((resolve) => came.set(project, resolve)),
    see: (path: string): Promise<Answer> => visitAt(port, person.basePath + path, { headers: { Cookie: person.cookie } }),
    send: (path: string, form: Record<string, string>): Promise<Answer> =>
      visitAt(port, person.basePath + path, { method: 'POST', headers, body: new URLSearchParams(form).toString() }),
    refused: (path: string): Promise<Answer> => visitAt(port, path),
  }
}

test('a project whose store another process holds keeps nobody waiting, and comes to the page once it is let go, with no word of anybody', async () => {
  await using world = await openWorld()
  const held = join(world.base, 'held')
  mkdirSync(held)
  await askIn(world, world.project)
  await askIn(world, held)
  const release = hold(held, 'opening')
  const desk = await deskOf(world)
  try {
    expect(desk.served.projects()).toEqual([world.project])
    // Waited for on the spot, and so by everybody: not for long.
    for (const { patienceMs = Number.POSITIVE_INFINITY } of desk.asked) expect(patienceMs).toBeLessThanOrEqual(1_000)
    expect(desk.troubles.map(([project, { hint }]) => [project, hint])).toEqual([
      [held, expect.stringContaining('Another process holds it')],
    ])
    expect((await desk.see('/approvals')).text).toContain('Which of both?')
    const comes = desk.comes(held)
    release()
    await comes
    expect(desk.served.projects().toSorted()).toEqual([held, world.project].toSorted())
    // Said once, however often it was tried.
    expect(desk.troubles.length).toBe(1)
  } finally {
    await desk.served.close()
  }
})

test('one that is held while it is on the page takes nobody else off it; an answer that its store does not take is not said to be taken', async () => {
  await using world = await openWorld()
  const held = join(world.base, 'held')
  mkdirSync(held)
  await askIn(world, world.project)
  await askIn(world, held)
  const desk = await deskOf(world)
  try {
    const listed = (await desk.see('/approvals')).text
    const at = listed.indexOf(`<code class="quiet">${held}<`)
    const id = /ask_[0-9a-f]{16}/.exec(listed.slice(at))?.[0] ?? ''
    const form = /name="form" value="([^"]+)"/.exec((await desk.see(`/questions/${id}`)).text)?.[1] ?? ''
    const answer = (): Promise<Answer> => desk.send(`/questions/${id}`, { form, choice: '1', shown: '1' })
    const free = hold(held, 'changing')
    const refused = await answer()
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('does not answer now')])
    expect((await desk.see('/approvals')).status).toBe(200)
    free()
    expect((await answer()).status).toBe(303)
  } finally {
    await desk.served.close()
  }
})

test('whoever shows nothing that opens the desk is told its own command, on every address', async () => {
  await using world = await openWorld()
  const desk = await deskOf(world)
  try {
    for (const path of ['/approvals', '/approvals/x', '/mcp', '/', '/p/none/approvals']) {
      const { status, text } = await desk.refused(path)
      expect([path, status, text.includes('handrail desk')]).toEqual([path, 401, true])
      expect(text).not.toMatch(/approvals page|handrail serve/)
    }
  } finally {
    await desk.served.close()
  }
})

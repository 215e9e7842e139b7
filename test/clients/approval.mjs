// A write that a person has to allow, and the ways in which the person does.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

export const original = '{ "name": "game" }\n'
const changed = '{ "name": "game", "scripts": { "dev": "vite" } }\n'

/** A dry run, which asks nobody, and then the write, which does. */
export function proposal(path) {
  return [true, false].map((dryRun) => ({ tool: 'write_to_file', input: { path, content: changed, dryRun } }))
}

/** The person at another terminal: waits until something is asked, and allows it. Gives the id, or nothing where nobody asked. */
export async function approveOnCommandLine(project) {
  for (let tries = 0; tries < 60; tries++) {
    const { out } = await project.handrail('approvals', 'list', '--json')
    const asked = out.split('\n').find(Boolean)
    if (asked) {
      const { id } = JSON.parse(asked)
      const { code, err } = await project.handrail('approvals', 'approve', id)
      assert.equal(code, 0, err)
      return id
    }
    await pause(250)
  }
  return undefined
}

export function assertAllowed(project, path, answers) {
  assert.equal(answers[0]?.applied, false, JSON.stringify(answers[0]))
  assert.equal(answers[1]?.applied, true, JSON.stringify(answers[1]))
  assert.equal(project.read(path), changed)
}

/** Refused, once, and the file untouched. */
export async function assertRefused(project, path, { answers, wire, forms = 1 }) {
  assert.equal(answers[1]?.error?.code, 'E_POLICY_VIOLATION', JSON.stringify(answers[1]))
  assert.equal(project.read(path), original)
  const writes = wire.calls.filter((call) => call.arguments?.dryRun === false)
  // In the 2026 revision each form that is answered is the same call, made once more.
  assert.ok(writes.length <= forms + 1, `the client made the call ${writes.length} times`)
  assert.equal(wire.forms.length, forms, `a form was put ${wire.forms.length} times`)
  const lines = await project.handrailJson('audit', 'show', '--limit', '200')
  assert.equal(lines.filter(({ event }) => event === 'approval.requested').length, 1)
}

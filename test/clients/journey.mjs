// The way every agent must be able to go: read, look at a change, make it, take it back; and what must be true after each step.
import assert from 'node:assert/strict'
import { isNamed } from './model.mjs'

export const path = 'game/scene/start.txt'
export const before = '雪乃: 海风真舒服呢;\nchangeBg: beach.jpg;\nend;\n'
const after = '雪乃: 海风真舒服呢;\nchangeBg: harbour.jpg -next;\nend;\n'

/** The plan, each step with what its answer and the file must then be. */
export const journey = [
  {
    tool: 'read_file',
    input: { path },
    name: 'read_file gives the bytes on disk',
    check: (answer) => assert.equal(answer.content, before),
    disk: before,
  },
  {
    tool: 'write_to_file',
    input: { path, content: after, dryRun: true },
    name: 'write_to_file dryRun: true shows the diff and changes nothing',
    check: (answer) => {
      assert.equal(answer.applied, false)
      assert.deepEqual(
        answer.diff.hunks.map((hunk) => hunk.linesNew),
        [['changeBg: harbour.jpg -next;']],
      )
    },
    disk: before,
  },
  {
    tool: 'write_to_file',
    input: { path, content: after, dryRun: false },
    name: 'write_to_file dryRun: false writes',
    check: (answer) => {
      assert.equal(answer.applied, true)
      assert.match(answer.snapshotId, /^snap_/)
    },
    disk: after,
  },
  {
    tool: 'list_snapshots',
    input: { path },
    name: 'list_snapshots knows the state from before',
    check: (answer, answers) => {
      assert.equal(answer.snapshots[0].id, answers[2].snapshotId)
      assert.equal(answer.snapshots.length, 2)
    },
    disk: after,
  },
  {
    tool: 'restore_snapshot',
    input: (answers) => ({ snapshotId: answers[3].snapshots[1].id }),
    name: 'restore_snapshot gives it back to the agent',
    check: (answer) => assert.deepEqual([answer.path, answer.content], [path, before]),
    disk: after,
  },
  {
    tool: 'write_to_file',
    input: (answers) => ({ path, content: answers[4].content, dryRun: true }),
    name: 'dry run of taking the change back',
    check: (answer) => assert.equal(answer.applied, false),
    disk: after,
  },
  {
    tool: 'write_to_file',
    input: (answers) => ({ path, content: answers[4].content, dryRun: false }),
    name: 'the agent takes its change back',
    check: (answer) => assert.equal(answer.applied, true),
    disk: before,
  },
]

/** Checks one answer of the journey, and the file as it is at this moment. */
export function checkStep(report, project, answers, index) {
  const { name, check, disk } = journey[index]
  return report.step(name, () => {
    const answer = answers[index]
    assert.ok(answer, 'the client never brought an answer')
    try {
      check(answer, answers)
    } catch (fault) {
      throw new Error(`${fault.message}\nanswer: ${JSON.stringify(answer)}`, { cause: fault })
    }
    assert.equal(project.read(path), disk)
  })
}

/** What the person does afterwards, and what the log says of it all. */
export async function checkPersonAndAudit(report, project, client) {
  await report.step('the person takes back the last change: handrail undo --last', async () => {
    await project.handrailJson('undo', '--last', '--yes')
    assert.equal(project.read(path), after)
  })
  await report.step('and the one before it', async () => {
    await project.handrailJson('undo', '--last', '--yes')
    assert.equal(project.read(path), before)
  })
  await report.step('handrail audit verify: whole', async () => {
    const { whole, lines } = await project.handrailJson('audit', 'verify')
    assert.equal(whole, true)
    return `${lines} lines`
  })
  await report.step('the audit names every act and who did it', async () => {
    const lines = await project.handrailJson('audit', 'show', '--limit', '200')
    const done = lines.filter(({ event }) => event === 'call.read' || event === 'call.end')
    const agent = done.filter(({ role }) => role !== 'person')
    assert.deepEqual(
      agent.map(({ tool, outcome }) => `${tool} ${outcome}`),
      journey.map(({ tool }) => `${tool} ok`),
    )
    // The command line shows each undo before it does it.
    const person = done.filter(({ role }) => role === 'person')
    assert.deepEqual(
      person.map(({ event, tool, outcome }) => `${event} ${tool} ${outcome}`),
      ['call.read undo ok', 'call.end undo ok', 'call.read undo ok', 'call.end undo ok'],
    )
    const clients = new Set(agent.map((line) => line.client))
    assert.equal(clients.size, 1)
    assert.match([...clients][0], client)
    return [...clients][0]
  })
}

/** Every tool of Handrail, under any prefix the client gives it, each once, and none of its fields lost. */
export async function checkOffered(report, project, model, wire) {
  await report.step('every tool is offered to the model, with all its fields', async () => {
    const ours = (await project.handrailJson('tools')).filter(({ listed }) => listed).map(({ name }) => name)
    assert.deepEqual(wire.tools.map(({ name }) => name).sort(), ours.sort())
    const { schemas } = model.seen
    const offered = [...model.seen.offered]
    const missing = ours.filter((tool) => offered.filter((name) => isNamed(name, tool)).length !== 1)
    assert.deepEqual(missing, [], `not offered exactly once; the model is offered: ${offered.join(' ')}`)
    for (const { name, inputSchema } of wire.tools) {
      const shown = schemas[offered.find((other) => isNamed(other, name))]
      // A client may add a field of its own; Gemini CLI does.
      const lost = Object.keys(inputSchema.properties ?? {}).filter((field) => !(field in (shown?.properties ?? {})))
      assert.deepEqual(lost, [], `fields of ${name}`)
      assert.deepEqual(
        [...(shown?.required ?? [])].sort(),
        [...(inputSchema.required ?? [])].sort(),
        `required fields of ${name}`,
      )
    }
    report.row.tools = String(ours.length)
    return `${ours.length}, as ${offered.find((name) => isNamed(name, 'read_file'))}`
  })
}

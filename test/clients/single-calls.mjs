// For clients that make one connection per command: what a call through them must give.
import assert from 'node:assert/strict'
import { answerIn } from './answer.mjs'
import { before, journey, path } from './journey.mjs'
import { readWire } from './wire.mjs'

const [read, dryRun, write] = journey

/** Each command is a session of its own, so a dry run of one does not count for the next. */
export const withoutDryRun = ['--write-requires-diff', 'false']

/** `list()` gives the names of the tools. */
export function checkList(report, project, list) {
  return report.step('lists every tool', async () => {
    const ours = (await project.handrailJson('tools')).filter(({ listed }) => listed).map(({ name }) => name)
    assert.deepEqual((await list()).sort(), ours.sort())
    report.row.tools = String(ours.length)
  })
}

/** `call(tool, input)` gives the whole result. */
export async function checkSingleCalls(report, project, call) {
  for (const { name, tool, input, check } of [read, dryRun])
    await report.step(name, async () => {
      check(answerIn(await call(tool, input)))
      assert.equal(project.read(path), before)
    })
  await report.step('a write in a session that has seen no dry run is refused', async () => {
    const result = await call(write.tool, write.input)
    assert.equal(result.isError, true)
    assert.equal(answerIn(result).error.code, 'E_POLICY_VIOLATION')
    assert.equal(project.read(path), before)
  })
}

/** The change itself, where no dry run is asked for, and the person takes it back. */
export async function checkWriteAndUndo(report, project, client, call) {
  await report.step('a write where no dry run is asked for', async () => {
    write.check(answerIn(await call(write.tool, write.input)))
    assert.equal(project.read(path), write.disk)
  })
  await report.step('the person takes it back: handrail undo --last', async () => {
    await project.handrailJson('undo', '--last', '--yes')
    assert.equal(project.read(path), before)
  })
  await report.step('the audit is whole and names the client', async () => {
    assert.equal((await project.handrailJson('audit', 'verify')).whole, true)
    const lines = await project.handrailJson('audit', 'show', '--limit', '200')
    const clients = [...new Set(lines.filter(({ tool, role }) => tool && role !== 'person').map((line) => line.client))]
    for (const name of clients) assert.match(name, client)
    return clients.join(', ')
  })
}

export function noteProtocol(report, project) {
  const { protocol, client } = readWire(project.wireLog)
  const spoken = new Set(report.row.protocol.split(', ').filter(Boolean))
  report.row.protocol = [...spoken.add(protocol)].join(', ')
  report.note(`${client?.name} ${client?.version} speaks ${protocol}`)
}

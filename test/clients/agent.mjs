// What all agents have in common: a project, a scripted model, and the journey with its checks.
import assert from 'node:assert/strict'
import { approveOnCommandLine, assertAllowed, proposal } from './approval.mjs'
import { checkOffered, checkPersonAndAudit, checkStep, journey } from './journey.mjs'
import { openModel } from './model.mjs'
import { openProject } from './project.mjs'
import { readWire } from './wire.mjs'

/** Gives the body a project and afterwards ends whatever the client has left running. */
export async function inProject(report, files, body) {
  const project = openProject(files)
  try {
    await body(project)
  } finally {
    for (const command of await project.close()) report.note(`left behind and ended: ${command.slice(0, 120)}`)
  }
}

/** Runs the client once through a plan. `start(model)` starts it and gives how it ended. Resolves to what the wire and model saw. */
export async function converse(project, dialect, plan, start, onAnswer) {
  const model = await openModel(dialect, plan, onAnswer)
  try {
    const end = await start(model)
    return { end, model, wire: readWire(project.wireLog) }
  } finally {
    await model.close()
  }
}

/** The whole journey, through one kind of connection. */
export async function travel(report, project, { dialect, client, start }) {
  const answers = []
  const { end, model, wire } = await converse(project, dialect, journey, start, (answer, index) => {
    answers.push(answer)
    return checkStep(report, project, answers, index)
  })
  for (let index = answers.length; index < journey.length; index++) await checkStep(report, project, answers, index)
  await report.step('the client ends well', () => {
    const said = `exit ${end.code}${end.late ? ', ended because it took too long' : ''}\n${end.err}\n${end.out}`.slice(0, 2_000)
    assert.deepEqual(model.seen.faults, [])
    assert.equal(end.code, 0, said)
    return `${(end.ms / 1000).toFixed(1)} s`
  })
  await report.step('the protocol is spoken well', () => {
    assert.ok(wire.protocol, 'no protocol version was agreed on')
    assert.deepEqual(
      wire.messages.filter(({ unreadable }) => unreadable),
      [],
    )
    assert.deepEqual(
      wire.messages.filter(({ from, error }) => from === 'server' && error),
      [],
    )
    return describe(wire)
  })
  report.row.protocol = wire.protocol ?? '?'
  await checkOffered(report, project, model, wire)
  await checkPersonAndAudit(report, project, client)
  return { end, model, wire }
}

/** A sensitive write through a client that cannot show forms: the person answers on the command line, while the client waits. */
export function checkApprovalElsewhere(report, project, path, { dialect, start }) {
  return report.step('approval: given on the command line while the call waits', async () => {
    const [approved, { end, model }] = await Promise.all([
      approveOnCommandLine(project),
      converse(project, dialect, proposal(path), start),
    ])
    assert.ok(approved, `nobody was asked; the answers: ${JSON.stringify(model.seen.answers)}`)
    assertAllowed(project, path, model.seen.answers)
    assert.equal(end.code, 0, end.err || end.out)
  })
}

function describe({ protocol, client, capabilities = {} }) {
  return `${client?.name} ${client?.version} speaks ${protocol}, declares ${Object.keys(capabilities).join(', ') || 'nothing'}`
}

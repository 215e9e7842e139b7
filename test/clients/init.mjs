// `handrail init` and then the client itself: it must take the settings as they were written.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { converse, inProject } from './agent.mjs'
import { before, journey, path } from './journey.mjs'

const [read] = journey

/**
 * `open(project)` prepares the client in a project and gives `start(model, env)`. A client that cannot take the token from a
 * variable has `tokenByHand`.
 */
export async function checkInit(report, client, { dialect, open, tokenByHand = false }) {
  const readsThrough = (project, env) => async () => {
    const { end, model } = await converse(project, dialect, [read], (model) => open(project)(model, env))
    const { answers, offered } = model.seen
    assert.ok(answers[0], `no answer; the model was offered ${[...offered].join(' ')}\n${end.err}`)
    read.check(answers[0])
  }
  await inProject(report, { [path]: before }, async (project) => {
    await project.handrailJson('init', client, '--local', '--yes')
    await report.step(`reads through the settings of handrail init ${client}`, readsThrough(project))
  })
  await inProject(report, { [path]: before }, async (project) => {
    const server = await project.serve()
    try {
      if (tokenByHand) await putInByHand(project, client, server)
      else await project.handrailJson('init', client, '--http', server.url, '--yes')
      const env = { HANDRAIL_TOKEN: server.token }
      await report.step(`reads through the settings of handrail init ${client} --http`, readsThrough(project, env))
    } finally {
      await server.stop()
    }
  })
}

/** What init prints, with the token in its place. */
async function putInByHand(project, client, { url, token }) {
  const { file, snippet } = await project.handrailJson('init', client, '--http', url, '--print')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, snippet.replace('THE-TOKEN', token))
}

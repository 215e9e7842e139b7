// A model on loopback that follows a plan instead of thinking. It speaks the dialect of whichever client asks.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { anthropic } from './dialects/anthropic.mjs'
import { gemini } from './dialects/gemini.mjs'
import { openai } from './dialects/openai.mjs'
import { answerIn } from './answer.mjs'

const dialects = { anthropic, openai, gemini }

/**
 * Starts a model. The plan is a list of `{ tool, input }`; an input may be a function of the answers so far, which is how an id
 * out of one answer gets into a later call. `onAnswer(answer, index)` runs when the client has brought back the answer of a step
 * and is held until the model replies, so it sees the disk exactly as that step left it.
 */
export async function openModel(dialectName, plan, onAnswer = async () => undefined) {
  const dialect = dialects[dialectName]
  const seen = { offered: new Set(), schemas: {}, answers: [], faults: [] }

  const decide = async ({ tools, deferred = [], results }) => {
    for (const { name, schema } of tools) seen.schemas[name] ??= schema
    for (const name of [...tools.map((tool) => tool.name), ...deferred]) seen.offered.add(name)
    for (const result of results.slice(seen.answers.length)) {
      const answer = answerIn(result)
      seen.answers.push(answer)
      await onAnswer(answer, seen.answers.length - 1)
    }
    const step = plan[results.length]
    if (!step) return { text: 'The plan is done.' }
    const name = tools.map((tool) => tool.name).find((offered) => isNamed(offered, step.tool))
    if (!name && deferred.some((offered) => isNamed(offered, step.tool))) return dialect.load(deferred.filter(isOurs))
    if (!name) return { text: `There is no tool ${step.tool} on offer.` }
    const input = typeof step.input === 'function' ? step.input(seen.answers) : step.input
    return { call: { id: `call_${results.length}_${step.tool}`, name, input } }
  }

  /** Ends the conversation: an error status would only make the client try again for minutes. */
  const giveUp = (fault) => {
    seen.faults.push(fault)
    return { text: `The plan failed: ${fault.message}` }
  }

  const server = createServer(async (request, response) => {
    try {
      const body = await readJson(request)
      const path = new URL(request.url, 'http://model').pathname
      const question = dialect.read(request.method, path, body)
      if (question === undefined) {
        dialect.aside(path, response)
        return
      }
      // A request that offers no tools is the client's own errand (a title, a summary): it is not part of the plan.
      const turn = question.tools.length === 0 ? { text: 'Handrail' } : await decide(question).catch(giveUp)
      dialect.reply(response, body, path, turn)
    } catch (fault) {
      giveUp(fault)
      response.writeHead(500).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    seen,
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Clients put the server's name before a tool's; a plain `read_file` is the client's own. */
export function isNamed(offered, tool) {
  return isOurs(offered) && offered.endsWith(`_${tool}`)
}

function isOurs(offered) {
  return offered.includes('handrail')
}

async function readJson(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? {} : JSON.parse(text)
}

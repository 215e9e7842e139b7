// A small MCP server of the tests, without an SDK: what it does is said in its environment, as JSON in PLAIN.
import { createInterface } from 'node:readline'
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'

const wish = JSON.parse(process.env.PLAIN ?? '{}')
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (value) => ({ content: [{ type: 'text', text: value }] })
if (wish.greets) process.stdout.write('hello, I am no message\n')
if (wish.grandchild) spawn('sleep', [wish.grandchild], { stdio: 'inherit', detached: true })
/** Greets once there is such a file. */
const when = (folder, greet) => {
  const file = `${folder}/now`
  if (existsSync(file)) return greet()
  let greeted = false
  const look = () => {
    if (greeted || !existsSync(file)) return
    greeted = true
    watching.close()
    greet()
  }
  const watching = watch(folder, look)
  look()
}
const asked = new Map()
const tools = () => {
  if (wish.many) return Array.from({ length: wish.many }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }))
  return wish.file ? JSON.parse(readFileSync(wish.file, 'utf8')) : (wish.tools ?? [])
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, ...answer } = JSON.parse(line)
  if (method === undefined) return asked.get(id)?.(answer)
  if (method === 'initialize') {
    if (wish.silent === 'greeting') return
    if (wish.dies) process.exit(3)
    const greet = () =>
      say({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'plain', version: '1' },
        },
      })
    if (wish.waitsIn) when(wish.waitsIn, greet)
    else greet()
  } else if (method === 'tools/list') {
    if (wish.huge)
      return process.stdout.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"a","description":"${'x'.repeat(wish.huge)}"`,
      )
    if (wish.garbage) for (let at = 0; at < wish.garbage; at++) process.stdout.write('garbage\n')
    say({ id, result: { tools: tools() } })
    if (wish.twice) say({ id, result: { tools: [] } })
  } else if (method === 'tools/call') {
    const { name, arguments: given } = params
    if (name === 'never') return
    if (name === 'die') process.exit(4)
    if (name === 'wrong') return say({ id, result: { isError: true, ...text('the server says no') } })
    if (name === 'refuse') return say({ id, error: { code: -32000, message: 'not today' } })
    if (name === 'ask') {
      asked.set('q1', (got) => say({ id, result: text(JSON.stringify(got)) }))
      const requestedSchema = { type: 'object', properties: { password: { type: 'string' } } }
      return say({ id: 'q1', method: 'elicitation/create', params: { message: 'Your password?', requestedSchema } })
    }
    if (name === 'env') return say({ id, result: text(JSON.stringify(process.env)) })
    if (name === 'write') writeFileSync(given.path, given.text)
    if (name === 'read') return say({ id, result: text(readFileSync(given.path, 'utf8')) })
    if (name === 'screenshot')
      return say({
        id,
        result: {
          content: [
            { type: 'text', text: 'seen' },
            { type: 'image', mimeType: 'image/png', data: Buffer.from('PNG!').toString('base64') },
          ],
        },
      })
    say({ id, result: { ...text(`${name} ${JSON.stringify(given)}`), _meta: { secret: 'of the server' } } })
    if (wish.twice) say({ id, result: text('again') })
  }
})

// The least a server in Node can do: parse the line, read the file where one is asked for, answer it twice as the protocol
// wants. No sandbox, no checks, no record. It shows how much of a time is the message itself.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2]
let pieces = []

process.stdin.on('data', (chunk) => {
  let from = 0
  for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, from)) {
    pieces.push(chunk.subarray(from, newline))
    answer(JSON.parse(Buffer.concat(pieces).toString('utf8')))
    pieces = []
    from = newline + 1
  }
  if (from < chunk.length) pieces.push(chunk.subarray(from))
})

function answer({ id, method, params }) {
  if (id === undefined) return
  const output =
    method === 'tools/call' && params.name === 'read_file'
      ? { content: readFileSync(join(folder, params.arguments.path), 'utf8') }
      : {}
  const result = { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}

import { connect } from 'node:net'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openServe } from '../support/serve.ts'
import { openWorld } from '../support/world.ts'

test('B50 a large answer that is read after a moment arrives whole: what moves is not taken for what stands still', async () => {
  // Quotation marks grow twice on their way: some thirty megabytes of answer.
  await using world = await openWorld({ files: { 'quotes.txt': '"'.repeat(5_000_000) } })
  await world.runtime.close()
  await using serving = await openServe(world.project)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'read_file',
      arguments: { path: 'quotes.txt' },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'slow', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
  const socket = connect(serving.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    [
      'POST /mcp HTTP/1.1',
      `Host: 127.0.0.1:${serving.port}`,
      `Authorization: Bearer ${serving.token}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2026-07-28',
      'Mcp-Method: tools/call',
      'Mcp-Name: read_file',
      'Connection: close',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
  let bytes = 0
  const start: Buffer[] = []
  await once(socket, 'readable')
  // Some sweeps pass before anything is read; the rest of the two seconds is for a machine that is busy.
  await pause(600)
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (start.length < 3) start.push(chunk)
  })
  await once(socket, 'close')
  expect(Buffer.concat(start).toString('latin1').slice(0, 15)).toBe('HTTP/1.1 200 OK')
  expect(bytes).toBeGreaterThan(25_000_000)
})

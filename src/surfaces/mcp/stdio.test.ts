import { PassThrough } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import { serveMcpStdio } from './stdio.ts'

/** Nobody is asked anything here: no message gets that far. */
const nobody = { onToolsChanged: () => undefined, onNews: () => () => undefined, listed: () => [] } as unknown as AgentGate

test('a message that comes byte by byte takes no more memory than its bytes, and is whole at its end', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [input, output] = [new PassThrough(), new PassThrough()]
  void serveMcpStdio(nobody, {} as ClientForms, input, output)
  const bytes = 400_000
  const message = Buffer.from(`{"jsonrpc":"1.0","id":7,"pad":"${'x'.repeat(bytes)}"}`)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < message.length; at++) {
    input.emit('data', message.subarray(at, at + 1))
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(bytes * 20)
  input.emit('data', Buffer.from('\n'))
  expect(JSON.parse(String(output.read()))).toMatchObject({ id: 7, error: { message: 'Not a JSON-RPC 2.0 message' } })
})

// What a tap or a relay wrote down, in the words of MCP.
import { existsSync, readFileSync } from 'node:fs'

const meta = 'io.modelcontextprotocol'

export function readWire(log) {
  const records = existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean).map(JSON.parse) : []
  const messages = records.flatMap(({ from, line }) => {
    try {
      return [{ from, ...JSON.parse(line) }]
    } catch {
      return [{ from, unreadable: line }]
    }
  })
  const requests = messages.filter(({ from, method }) => from === 'client' && method)
  const calls = requests.filter(({ method }) => method === 'tools/call').map(({ params }) => params)
  // The last one: a client that lists its servers before it uses them connects twice.
  const opening = requests.findLast(({ method }) => method === 'initialize')
  const modern = requests.findLast(
    ({ method, params }) => method !== 'server/discover' && params?._meta?.[`${meta}/protocolVersion`],
  )
  const agreed = messages.findLast(
    ({ from, id, result }) => from === 'server' && opening && id === opening.id && result?.protocolVersion,
  )
  return {
    messages,
    calls,
    protocol:
      modern?.params._meta[`${meta}/protocolVersion`] ?? agreed?.result.protocolVersion ?? opening?.params.protocolVersion,
    asked: opening?.params.protocolVersion,
    capabilities: modern?.params._meta[`${meta}/clientCapabilities`] ?? opening?.params.capabilities,
    client: modern?.params._meta[`${meta}/clientInfo`] ?? opening?.params.clientInfo,
    tools: messages.findLast(({ from, result }) => from === 'server' && Array.isArray(result?.tools))?.result.tools ?? [],
    /** Forms put to the person through the client, in either of the two ways the protocol has had. */
    forms: messages.filter(
      ({ from, method, result }) =>
        from === 'server' && (method === 'elicitation/create' || result?.resultType === 'input_required'),
    ),
  }
}

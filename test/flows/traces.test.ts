import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { leaves } from '../../src/config/load.ts'
import { openExporter } from '../../src/host/traces/exporter.ts'
import { traceSettings, type TraceSettings } from '../../src/host/traces/settings.ts'
import type { Span } from '../../src/host/traces/spans.ts'
import { openAgentWorld } from '../support/agent.ts'
import { openInside, runInside, serveInside } from '../support/inside.ts'
import { handIn, ended, putTemplates } from '../support/runs.ts'
import { openMcp } from '../support/serve.ts'
import { openWorld } from '../support/world.ts'

/** What an OpenTelemetry collector gets, over real HTTP, and what a bad one can do. */
interface Received {
  path: string
  headers: IncomingMessage['headers']
  text: string
  spans: (Span & { attribute: Record<string, unknown> })[]
}

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function collector(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end('{}'),
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.once('end', () => {
      const body = JSON.parse(text || '{}') as { resourceSpans?: { scopeSpans: { spans: Span[] }[] }[] }
      const spans = (body.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
      received.push({
        path: request.url ?? '',
        headers: request.headers,
        text,
        spans: spans.map((span) => ({
          ...span,
          attribute: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
        })),
      })
      answer(request, response)
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

const spansIn = (received: readonly Received[]): Received['spans'] => received.flatMap(({ spans }) => spans)

test('calls, runs and requests to the model as spans of the GenAI and MCP conventions, without a word of what was in them', async () => {
  const { url, received } = await collector()
  const environment = () => ({
    HANDRAIL_KEYRING: 'off',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/otel/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=s%20ecret',
    OTEL_SERVICE_NAME: 'mine',
  })
  await using world = await openWorld({ files: { 'private-name.txt': 'zeppelin\n' }, environment })
  putTemplates(world.base)
  await world.call('read_file', { path: 'private-name.txt' })
  await world.fault('read_file', { path: 'no-such-zeppelin.txt' }, { surface: 'cli' })
  await world.put('private-name.txt', 'another zeppelin\n')
  await ended(world, (await handIn(world, 'read_all', { items: ['private-name.txt'] })).runId)
  await world.reopen()
  expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/otel/v1/traces']))
  expect(received[0]?.headers).toMatchObject({ 'x-api-key': 's ecret', 'content-type': 'application/json' })
  expect(received[0]?.text).toContain('"service.name","value":{"stringValue":"mine"}')
  expect(received[0]?.text).toContain('https://opentelemetry.io/schemas/1.41.0')
  expect(received.map(({ text }) => text).join()).not.toMatch(/zeppelin|private-name/)
  const spans = spansIn(received)
  const [read] = spans
  expect(read).toMatchObject({
    name: 'tools/call read_file',
    kind: 2,
    status: { code: 0 },
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    attribute: {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read_file',
      'gen_ai.tool.call.id': expect.stringMatching(/^call_/),
      'network.transport': 'pipe',
      'handrail.risk': 'R0',
      'handrail.outcome': 'ok',
    },
  })
  const failed = spans.find(({ status }) => status.code === 2)
  expect(failed).toMatchObject({ name: 'execute_tool read_file', kind: 1, attribute: { 'error.type': 'not-found' } })
  const written = spans.filter(({ name }) => name === 'tools/call write_to_file')
  expect(written.length).toBe(2)
  expect(BigInt(written[1]?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(written[1]?.startTimeUnixNano ?? 1))
  expect(spans.find(({ name }) => name === 'invoke_workflow read_all')?.attribute).toMatchObject({
    'gen_ai.operation.name': 'invoke_workflow',
    'gen_ai.workflow.name': 'read_all',
    'handrail.outcome': 'succeeded',
  })
})

test('what a model is asked is a span with its tokens', async () => {
  const { url, received } = await collector()
  const at = await openAgentWorld([{ text: 'A secret answer.', usage: { prompt_tokens: 7, completion_tokens: 3 } }])
  try {
    await at.world.reopen({}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own/path` })
    await at.ask('What is a secret question?', { mode: 'answer' })
  } finally {
    await at[Symbol.asyncDispose]()
  }
  expect(received.map(({ path }) => path)).toEqual(['/own/path'])
  expect(received[0]?.text).not.toMatch(/secret/)
  expect(spansIn(received)).toMatchObject([
    {
      name: 'chat scripted',
      kind: 3,
      attribute: { 'gen_ai.request.model': 'scripted', 'gen_ai.usage.input_tokens': '7', 'gen_ai.usage.output_tokens': '3' },
    },
  ])
})

test('off unless the environment names an endpoint; nothing a project brings turns it on', async () => {
  const { url, received } = await collector()
  // No setting names it: a project's own file has nothing to say about it.
  expect(leaves.filter(({ key }) => /otel|telemetry|trace/i.test(key))).toEqual([])
  await using world = await openWorld({ files: { 'a.txt': 'a', '.env': `OTEL_EXPORTER_OTLP_ENDPOINT=${url}\n` } })
  await world.call('read_file', { path: 'a.txt' })
  await world.reopen({}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'true' })
  await world.call('read_file', { path: 'a.txt' })
  await world.reopen({}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })
  await world.call('read_file', { path: 'a.txt' })
  await world.reopen()
  expect(received).toEqual([])
  const doctor = await runInside(world.project, ['doctor'], { env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://me:pw@127.0.0.1:1/` } })
  expect(doctor.out).toMatch(/traces\s+not told to OTEL_EXPORTER_OTLP_ENDPOINT: its address holds a user or password/)
  expect(doctor.out).not.toContain('pw@')
  const keyed = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/v1?api-key=zeppelin' }
  expect((await runInside(world.project, ['doctor'], { env: keyed })).out).toMatch(/127\.0\.0\.1:1\/v1(?!\?)/)
})

test('the variables, as OpenTelemetry says', () => {
  const settings = (more: Record<string, string>) =>
    traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example:4318', ...more })
  expect(settings({})).toMatchObject({ url: 'https://collector.example:4318/v1/traces', timeoutMs: 10_000, headers: {} })
  expect(settings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other.example/x' })).toMatchObject({
    url: 'http://other.example/x',
  })
  expect(settings({ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=1, b=%zz,c=3=4,=5' })).toMatchObject({ headers: { a: '1', c: '3=4' } })
  expect(settings({ OTEL_TRACES_EXPORTER: 'none' })).toBe(undefined)
  expect(settings({ OTEL_EXPORTER_OTLP_TIMEOUT: '1e99' })).toMatchObject({ timeoutMs: 60_000 })
  expect(traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'file:///etc/passwd' })).toMatchObject({ why: expect.anything() })
})

const one = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  name: 'x',
  kind: 1,
  attributes: [],
  status: { code: 0 },
} as unknown as Span
const to = (url: string, timeoutMs = 10_000): TraceSettings => ({ url, headers: { 'x-key': 'secret' }, timeoutMs, resource: {} })

test('an endpoint that is dead, refuses, leads elsewhere, never answers or never ends its answer costs spans and nothing else', async () => {
  const elsewhere = await collector()
  const redirecting = await collector((_, response) => void response.writeHead(307, { location: elsewhere.url }).end())
  const refusing = await collector((_, response) => void response.writeHead(400).end('no'))
  const busy = await collector((_, response) => void response.writeHead(503).end())
  const silent = await collector(() => undefined)
  const endless = await collector((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    }
    response.writeHead(200).on('drain', more)
    more()
  })
  const end = async (url: string, timeoutMs?: number): Promise<{ sent: number; dropped: number; failed: string | undefined }> => {
    const exporter = openExporter(to(url, timeoutMs), '1')
    exporter.add(one)
    await exporter.close()
    return exporter.counts
  }
  expect(await end('http://127.0.0.1:1/')).toEqual({ sent: 0, dropped: 1, failed: expect.stringContaining('cannot be reached') })
  expect(await end(redirecting.url)).toMatchObject({ sent: 0, dropped: 1 })
  expect(elsewhere.received).toEqual([])
  expect(await end(refusing.url)).toEqual({ sent: 0, dropped: 1, failed: 'it answered 400' })
  expect(await end(busy.url)).toEqual({ sent: 0, dropped: 1, failed: 'it answered 503' })
  expect(await end(silent.url, 100)).toEqual({ sent: 0, dropped: 1, failed: 'it did not answer in time' })
  expect(await end(endless.url)).toMatchObject({ sent: 1, dropped: 0 })
})

test('the queue is bounded, and what is dropped is counted; who adds never waits', async () => {
  const silent = await collector(() => undefined)
  const exporter = openExporter(to(silent.url, 200), '1')
  for (let n = 0; n < 5_000; n++) exporter.add(one)
  expect(exporter.counts.dropped).toBe(5_000 - 2_048)
  await exporter.close()
  expect(exporter.counts).toMatchObject({ sent: 0, dropped: 5_000 })
  const well = await collector()
  const other = openExporter(to(well.url), '1')
  for (let n = 0; n < 1_300; n++) other.add(one)
  await other.close()
  expect(other.counts).toMatchObject({ sent: 1_300, dropped: 0 })
  expect(well.received.map(({ spans }) => spans.length)).toEqual([512, 512, 276])
})

test('a caller’s own trace goes on, by what the message says or else its request; nothing but the one form is taken', async () => {
  const { url, received } = await collector()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url }
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const good = `00-${trace}-${span}-00`
  const bad = [
    `00-${'0'.repeat(32)}-${span}-01`,
    `ff-${trace}-${span}-01`,
    `${good}-more`,
    good.toUpperCase(),
    `${good}\n`,
    7,
    { good },
  ]
  {
    await using peer = await openInside(world.project, { env })
    const read = (traceparent: unknown): Promise<unknown> =>
      peer.client.callTool({ name: 'read_file', arguments: { path: 'a.txt' }, _meta: { traceparent } })
    await read(good)
    for (const one of bad) await read(one)
  }
  {
    await using served = await serveInside(world.project, { env })
    for (const _meta of [undefined, { traceparent: good }]) {
      await using client = await openMcp('http 2026', world.project, served, {
        headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
      })
      await client.client.callTool({ name: 'read_file', arguments: { path: 'a.txt' }, ...(_meta && { _meta }) })
    }
  }
  const told = spansIn(received)
    .filter(({ name }) => name === 'tools/call read_file')
    .map(({ traceId, parentSpanId }) => [traceId, parentSpanId])
  expect(told.length).toBe(bad.length + 3)
  expect(told[0]).toEqual([trace, span])
  for (const [traceId, parent] of told.slice(1, -2)) expect([traceId === trace, parent]).toEqual([false, undefined])
  expect(told.slice(-2)).toEqual([
    ['a'.repeat(32), 'b'.repeat(16)],
    [trace, span],
  ])
})

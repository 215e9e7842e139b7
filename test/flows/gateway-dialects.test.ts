import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAgentScope } from '../support/agentscope-reader.ts'
import { openGateway, turn, type Gateway } from '../support/gateway.ts'

// The same turns in two other dialects, each read by its own kind of client.

let gateway: Gateway
beforeAll(async () => {
  gateway = await openGateway({ files: { 'a.txt': 'one\n', 'package.json': '{}\n' } })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const read = { name: 'read_file', input: { path: 'a.txt' } }
const risky = { name: 'update_file', input: { path: 'package.json', content: '{"a":1}\n' } }

describe('AgentScope', () => {
  const ask = async (body: Record<string, unknown>): Promise<string> => {
    const response = await gateway.send('/api/agent/process', { body })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    return response.text()
  }

  test('its web client’s request: the tool call, its result and the text, in order, numbered from 0', async () => {
    const found = readAgentScope(
      await ask({
        input: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
        stream: false,
        biz_params: { tool: read },
      }),
    )
    expect(found.status).toBe('completed')
    expect(found.numbers).toEqual(found.numbers.map((_, at) => at))
    expect(found.output.map(({ type, role, status }) => [type, role, status])).toEqual([
      ['plugin_call', 'assistant', 'completed'],
      ['plugin_call_output', 'tool', 'completed'],
      ['message', 'assistant', 'completed'],
    ])
    const [call, output, text] = found.output
    expect(call?.content[0]?.data).toMatchObject({ name: 'read_file', arguments: JSON.stringify(read.input) })
    expect(output?.content[0]?.data).toMatchObject({ name: 'read_file', call_id: call?.content[0]?.data?.['call_id'] })
    expect(JSON.parse(String(output?.content[0]?.data?.['output']))).toMatchObject({ ok: true, content: 'one\n' })
    expect(text?.content).toMatchObject([{ type: 'text', text: 'one\n' }])
    expect(found.grown).toEqual(['one\n', 'one\n'])
  })

  test('CoPaw’s console spreads biz_params; no [DONE], and no frame of the other dialect', async () => {
    const stream = await ask({
      ...turn(undefined, { biz_params: undefined, stream: true }),
      tool: read,
      request_context: {},
      root_session_id: 'r',
    })
    expect(stream).not.toContain('[DONE]')
    expect(stream).not.toContain('step_started')
    expect(readAgentScope(stream).status).toBe('completed')
  })

  test('a failure ends the call and the response', async () => {
    const found = readAgentScope(await ask(turn({ name: 'read_file', input: { path: '/etc/passwd' } })))
    expect(found.status).toBe('failed')
    expect(found.error).toMatchObject({ code: 'tool_forbidden_path' })
    expect(found.output.map(({ type }) => type)).toEqual(['plugin_call', 'plugin_call_output'])
  })

  test('an approval is asked for on the wire; an answer with the agent’s token is written down, and decides nothing', async () => {
    const { runtime } = gateway.world
    const found = readAgentScope(await ask(turn(risky)))
    expect(found.output.map(({ type }) => type)).toEqual(['plugin_call', 'mcp_approval_request', 'plugin_call_output', 'message'])
    const asked = found.output[1]?.content[0]?.data ?? {}
    expect(asked).toMatchObject({ name: 'update_file', server_label: 'handrail' })
    const id = String(asked['id'])
    const answer = (data: object, more: object = {}) => ({
      ...turn(undefined, { biz_params: undefined, ...more }),
      input: [{ type: 'mcp_approval_response', role: 'user', content: [{ type: 'data', data }] }],
    })
    const said = readAgentScope(await ask(answer({ approve: true, id, approval_request_id: id, reason: 'sure' })))
    expect(said.status).toBe('completed')
    expect(said.output.at(-1)?.content[0]?.text).toContain('decides nothing')
    expect(runtime.approvals.state(id)).toBe('pending')
    expect(runtime.audit.last(1, ({ event }) => event === 'approval.waved-away')[0]).toMatchObject({
      approval: id,
      by: 'client@u1@console',
      details: { form: 'the client of the agent says approve: sure' },
    })
    // Not of this session, and not there at all.
    for (const body of [
      answer({ approve: true, approval_request_id: id }, { session_id: 's9' }),
      answer({ approve: true, approval_request_id: 'appr_x' }),
    ])
      expect(readAgentScope(await ask(body)).error).toMatchObject({ code: 'not_found' })
    expect((await gateway.send('/api/agent/process', { body: answer({ approve: 'yes', id }) })).status).toBe(400)
    expect(gateway.world.read('package.json')).toBe('{}\n')
  })
})

describe('OpenAI Responses', () => {
  const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 })
  /** What the package passes on, though its types do not know it. */
  const asked = (tool: object, more: object = {}) => ({
    model: 'handrail',
    input: 'hi',
    biz_params: { tool },
    session_id: 's1',
    user_id: 'u1',
    channel: 'console',
    ...more,
  })

  test('the official package reads an answer', async () => {
    const response = (await client().responses.create(asked(read) as never)) as OpenAI.Responses.Response
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'handrail', output_text: 'one\n' })
    expect(response.output).toMatchObject([
      {
        type: 'mcp_call',
        name: 'read_file',
        server_label: 'handrail',
        arguments: JSON.stringify(read.input),
        status: 'completed',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'one\n' }] },
    ])
  })

  test('the official package reads a stream, event by event, to the same response', async () => {
    const stream = client().responses.stream(asked(read) as never)
    const seen: string[] = []
    const numbers: number[] = []
    for await (const event of stream) {
      seen.push(event.type)
      numbers.push(event.sequence_number)
    }
    expect(numbers).toEqual(numbers.map((_, at) => at))
    expect(seen).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    const final = await stream.finalResponse()
    expect(final.output_text).toBe('one\n')
    expect(final.status).toBe('completed')
  })

  test('its errors are those of the package, by status and code', async () => {
    for (const [tool, status, code] of [
      [{ name: 'read_file', input: { path: 'none.txt' } }, 404, 'tool_not_found'],
      [{ name: 'read_file', input: { path: '/etc/passwd' } }, 403, 'tool_forbidden_path'],
      [{ name: 'read_file', input: {} }, 400, 'invalid_tool_input'],
      [{ name: 'create_file', input: { path: 'a.txt', content: '' } }, 409, 'tool_conflict'],
    ] as const)
      await expect(client().responses.create(asked(tool) as never)).rejects.toMatchObject({ status, code })
    await expect(client().responses.create({ model: 'x', input: 'hi' })).rejects.toMatchObject({
      status: 400,
      code: 'provider_not_configured',
    })
    const wrong = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await expect(wrong.responses.create(asked(read) as never)).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    const seen: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of (await client().responses.create({
      ...asked({ name: 'read_file', input: { path: 'none.txt' } }),
      stream: true,
    } as never)) as unknown as AsyncIterable<OpenAI.Responses.ResponseStreamEvent>)
      seen.push(event)
    expect(seen.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'tool_not_found' } },
    })
  })

  test('an approval is an item of its own, and an answer with the token decides nothing', async () => {
    const response = (await client().responses.create(asked(risky) as never)) as OpenAI.Responses.Response
    const request = response.output.find((item) => item.type === 'mcp_approval_request')
    expect(request).toMatchObject({ name: 'update_file', server_label: 'handrail' })
    const id = request?.id ?? ''
    const said = (await client().responses.create({
      model: 'handrail',
      input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }],
      session_id: 's1',
      user_id: 'u1',
      channel: 'console',
    } as never)) as OpenAI.Responses.Response
    expect(said.output_text).toContain('decides nothing')
    expect(gateway.world.runtime.approvals.state(id)).toBe('pending')
  })
})

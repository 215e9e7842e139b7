import type { Socket } from 'node:net'
import type { Chats } from '../../contracts/chat.ts'
import { AnyObject } from '../../contracts/shapes.ts'
import type { Peers } from '../../text/connections.ts'
import { inEnvelope } from '../envelope.ts'
import type { Operation } from '../operations.ts'
import { chatOperations } from './chats.ts'
import { openProcess } from './process.ts'
import { AgentScopeShape, failures, ProcessedShape, ProcessShape, ResponsesShape } from './shapes.ts'
import { openTurns, type TurnContext } from './turn.ts'

export interface GatewayParts extends TurnContext {
  chats: Chats
  peers: Peers<Socket>
}

/** The HTTP gateway: contract 001 at `/agent/process`, the same turns in two other dialects, and what was said in them. */
export function gatewayOperations({ peers, ...context }: GatewayParts): Operation[] {
  const process = openProcess(openTurns(context), peers)
  const shared = { for: 'agent', tag: 'agent', method: 'POST' } as const
  return [
    {
      ...shared,
      id: 'processTurn',
      path: '/agent/process',
      summary: 'Use a tool, or ask the agent',
      description:
        'biz_params.tool names read_file, create_file, update_file or shell; no model is asked then. A call that needs a person is answered with tool_result.ok false and an approval_id; after their yes the same call goes through. Every write can be undone.',
      parameters: [{ name: 'X-Request-Id', in: 'header', says: 'An id of the caller’s own, given back with the answer.' }],
      body: ProcessShape,
      answers: {
        200: {
          says: 'The reply, the events and the result of the tool.',
          schema: ProcessedShape,
          stream: 'With stream: true, the same events as they happen, and [DONE] at the end; an error is an event of that type.',
        },
        ...failures(400, 401, 403, 404, 409, 500, 503),
      },
      handle: inEnvelope(process.gateway),
    },
    {
      ...shared,
      id: 'processTurnAgentScope',
      path: '/api/agent/process',
      summary: 'The same in the dialect of AgentScope Runtime, always as a stream',
      body: AgentScopeShape,
      answers: {
        200: { says: 'Objects response, message and content, in order.', stream: 'It ends with the last response.' },
        ...failures(400, 401, 404),
      },
      handle: inEnvelope(process.agentScope),
    },
    {
      ...shared,
      id: 'createResponse',
      path: '/v1/responses',
      summary: 'The same in the shape of OpenAI’s Responses API',
      description: 'A tool that ran here is an output item of type mcp_call. Nothing is stored under the id of a response.',
      body: ResponsesShape,
      answers: {
        200: { says: 'The response.', schema: AnyObject(), stream: 'With stream: true, its events.' },
        ...failures(400, 401, 403, 404, 409, 500, 503),
      },
      handle: inEnvelope(process.responses),
    },
    ...chatOperations(context.chats, '/chats'),
    ...chatOperations(context.chats, '/api/chats'),
  ]
}

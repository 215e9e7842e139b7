import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Turn, TurnError, TurnEvent } from '../../contracts/turn.ts'
import type { Peers } from '../../text/connections.ts'
import { Coded, readFields, sendJson } from '../envelope.ts'
import type { Incoming } from '../routes.ts'
import { agentScopeHeartbeat, openAgentScope } from './agentscope.ts'
import { plainPayload, nestedPayload, type PayloadLimit } from './payload-limits.ts'
import { toGatewayEvent, type GatewayEvent } from './events.ts'
import { saidIn, speakerIn, streamIn, toolIn, type ClientAnswer } from './request.ts'
import { openResponses } from './responses.ts'
import { largeBytes, openAnswerSlots, type AnswerSlot } from './answer-slots.ts'
import { comment, openEventStream } from './sse.ts'
import type { Turns } from './turn.ts'

type Asked = Turn & { answer?: ClientAnswer }

/** The three ways in which a turn is asked for and told. Never two of them in one stream. */
export function openProcess(turns: Turns, peers: Peers<Socket>) {
  const slotFor = openAnswerSlots()
  /** Who asks, and the room there is for the answer. Whoever goes away has cancelled the turn. */
  const begin = async ({ request, response }: Incoming, payload: PayloadLimit) => {
    const gone = new AbortController()
    response.once('close', () => response.writableFinished || gone.abort())
    const peer = await peers.of(request.socket)
    const slot = { ...slotFor(response, peer), payload }
    const take = async (turn: Asked, tell: (event: TurnEvent) => void): Promise<void> => {
      if (!response.destroyed) await turns.take(turn, peer, tell, gone.signal, slot)
    }
    return { slot, take }
  }
  const turnOf = (fields: Readonly<Record<string, unknown>>, instead?: Partial<Turn['speaker']>): Asked => {
    const speaker = speakerIn(fields, instead)
    const tool = toolIn(fields)
    const { messages, answer } = saidIn(fields, tool === undefined)
    const turn = { speaker, messages, ...(tool ? { tool } : answer && { answer }) }
    turns.mayBegin(turn)
    return turn
  }
  /** Where nobody named a session, the request is one. */
  const someone = (fields: Readonly<Record<string, unknown>>): Turn['speaker'] => {
    const session_id =
      typeof fields['session_id'] === 'string' && fields['session_id'] !== '' ? fields['session_id'] : randomUUID()
    return { session_id, user_id: session_id, channel: 'console' }
  }

  return {
    /** Contract 001. */
    async gateway(incoming: Incoming): Promise<void> {
      const fields = await readFields(incoming)
      const streams = streamIn(fields)
      const turn = turnOf(fields)
      const { slot, take } = await begin(incoming, plainPayload)
      if (streams) {
        const stream = openEventStream(incoming.response, comment, slot)
        await take(turn, (event) => stream.send(toGatewayEvent(event)))
        stream.send('[DONE]')
        return stream.end()
      }
      const events: GatewayEvent[] = []
      const told = { reply: '', result: undefined as object | undefined, error: undefined as TurnError | undefined }
      await take(turn, (event) => {
        events.push(toGatewayEvent(event))
        if (event.type === 'tool_result') told.result = event.result
        if (event.type === 'completed') told.reply = event.reply
        if (event.type === 'failed') told.error = event.error
      })
      if (incoming.response.destroyed) return
      if (told.error) throw new Coded(told.error)
      const { reply, result: tool_result } = told
      await sendSharing(incoming.response, slot, { reply, events, tool_result })
    },
    /** AgentScope's own, which is always a stream. */
    async agentScope(incoming: Incoming): Promise<void> {
      const fields = await readFields(incoming)
      const turn = turnOf(fields, someone(fields))
      const { slot, take } = await begin(incoming, nestedPayload)
      const stream = openEventStream(incoming.response, `data: ${JSON.stringify(agentScopeHeartbeat)}\n\n`, slot)
      const project = openAgentScope(turn.speaker)
      await take(turn, (event) => {
        for (const frame of project(event)) stream.send(frame)
      })
      await stream.end()
    },
    /** The shape of OpenAI's Responses API. */
    async responses(incoming: Incoming): Promise<void> {
      const fields = await readFields(incoming)
      const streams = streamIn(fields)
      const named = fields['metadata']
      const meta = typeof named === 'object' && named !== null ? (named as Record<string, unknown>) : {}
      const whole = { ...pick(meta, ['session_id', 'user_id', 'channel']), ...fields }
      const turn = turnOf(whole, someone(whole))
      const log = openResponses(typeof fields['model'] === 'string' ? fields['model'].slice(0, 200) : 'handrail')
      const { slot, take } = await begin(incoming, nestedPayload)
      if (streams) {
        const stream = openEventStream(incoming.response, comment, slot)
        await take(turn, (event) => {
          for (const frame of log.take(event)) stream.send(frame, frame.type)
        })
        return stream.end()
      }
      let failed: TurnError | undefined
      await take(turn, (event) => {
        log.take(event)
        if (event.type === 'failed') failed = event.error
      })
      if (incoming.response.destroyed) return
      if (failed) throw new Coded(failed)
      const bytes = Buffer.from(JSON.stringify(log.response()))
      if (bytes.length < largeBytes) sendJson(incoming.response, 200, bytes)
      else await sendLarge(incoming.response, slot, [bytes])
    },
  }
}

/** Short texts are not worth it. */
const longEnough = 1_024
const stand = `<${randomUUID()}>`
const placeholder = JSON.stringify(stand)

interface Answer {
  reply: string
  events: GatewayEvent[]
  tool_result?: object | undefined
}

/** An answer as JSON. The reply stands in it five times over, is encoded once, and where it is large it is held once. */
async function sendSharing(response: ServerResponse, slot: AnswerSlot, { events, tool_result, ...body }: Answer): Promise<void> {
  const { reply } = body
  if (reply.length < longEnough) return sendJson(response, 200, { ...body, events, tool_result })
  const without = <F extends object>(fields: F): F => {
    const light = { ...fields } as Record<string, unknown>
    for (const name in light) if (light[name] === reply) light[name] = stand
    return light as F
  }
  const light = { ...without(body), events: events.map(without), tool_result: tool_result && without(tool_result) }
  const parts = JSON.stringify(light).split(placeholder)
  const shared = JSON.stringify(reply)
  const sharedBytes = Buffer.byteLength(shared)
  const length = parts.reduce((sum, part) => sum + Buffer.byteLength(part), (parts.length - 1) * sharedBytes)
  if (length >= largeBytes) {
    const encoded = Buffer.from(shared)
    return sendLarge(
      response,
      slot,
      parts.flatMap((part, at) => (at === 0 ? [Buffer.from(part)] : [encoded, Buffer.from(part)])),
    )
  }
  const bytes = Buffer.allocUnsafe(length)
  const first = bytes.write(parts[0] as string)
  let at = first
  for (const part of parts.slice(1)) {
    if (at === first) bytes.write(shared, at)
    else bytes.copyWithin(at, first, first + sharedBytes)
    at += sharedBytes
    at += bytes.write(part, at)
  }
  sendJson(response, 200, bytes)
}

/** Pieces that follow each other, as fast as they are read. */
async function sendLarge(response: ServerResponse, slot: AnswerSlot, pieces: readonly Buffer[]): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  await slot.hold()
  if (response.destroyed) return
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': length })
  for (const piece of pieces) await slot.write(piece)
  response.end()
}

const pick = (from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (typeof from[name] === 'string' ? [[name, from[name]]] : [])))

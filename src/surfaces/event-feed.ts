import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AuditLine, AuditListener, AuditStream, Subscription } from '../contracts/audit.ts'
import type { Speaker } from '../contracts/turn.ts'
import type { Peers } from '../text/connections.ts'
import { inEnvelope, invalidRequest } from './envelope.ts'
import type { Operation } from './operations.ts'
import type { Incoming } from './routes.ts'

const heartbeatMs = 15_000

/** Who may follow what: the person everything, an agent what its own session did. */
export interface Feeds {
  all: AuditStream['subscribe']
  /** Throws where the session cannot be had. */
  own(speaker: Speaker, peer: string): (wanted: Omit<Subscription, 'events'>, listener: AuditListener) => () => void
}

/** `GET /events`: the one stream over the log, as server-sent events. Its cursor is the number of a line. */
export function eventOperation({ all, own }: Feeds, peers: Peers<Socket>): Operation {
  // One clock for all of them: a thousand streams at rest cost a thousand small writes a quarter of a minute, and nothing in between.
  const open = new Set<ServerResponse>()
  let clock: NodeJS.Timeout | undefined
  const beat = (): void => {
    for (const response of open) response.write(': still here\n\n')
  }
  const keep = (response: ServerResponse): void => {
    open.add(response)
    clock ??= setInterval(beat, heartbeatMs).unref()
    response.once('close', () => {
      open.delete(response)
      if (open.size > 0) return
      clearInterval(clock)
      clock = undefined
    })
  }
  return {
    id: 'followEvents',
    method: 'GET',
    path: '/events',
    for: 'agent or key',
    tag: 'events',
    summary: 'What happens, line by line of the log',
    description:
      'With the person’s key every line; with an agent’s token those of the session that session_id, user_id and channel name. Each event has the number of its line as its id: Last-Event-ID, or from, goes on behind it or at it. Without either, what happens from now on.',
    parameters: [
      { name: 'from', in: 'query', says: 'The number of the first line that is wanted.', schema: { type: 'integer' } },
      { name: 'session_id', in: 'query', says: 'For an agent: its session.' },
      { name: 'user_id', in: 'query', says: 'For an agent: its user.' },
      { name: 'channel', in: 'query', says: 'For an agent: its channel.' },
      { name: 'Last-Event-ID', in: 'header', says: 'The number of the last line that was read.' },
    ],
    answers: {
      200: {
        says: 'The lines.',
        stream: 'event is the kind of the line, data the line as JSON; lost says that the log was renewed or cut.',
      },
      400: { says: 'A cursor that is no number, or an agent that names no session: invalid_request.' },
      401: { says: 'No credential, or the wrong one: unauthorized.' },
      503: { says: 'Every place for streams is taken, or every session is held by another program: unavailable.' },
    },
    handle: inEnvelope(async (incoming) => {
      const { response, by } = incoming
      const from = cursorIn(incoming)
      const speaker = by === 'person' ? undefined : speakerIn(incoming)
      const follow = speaker ? own(speaker, await peers.of(incoming.request.socket)) : all
      await incoming.stays()
      if (response.destroyed) return
      response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
      response.write('retry: 2000\n\n')
      keep(response)
      const wanted = {
        ...(from !== undefined && { from }),
        onLost: (why: string) => void response.write(`event: lost\ndata: ${JSON.stringify({ why })}\n\n`),
        onEnd: () => void response.end(),
      }
      const stop = follow(wanted, tellOn(response))
      response.once('close', stop)
      if (response.destroyed) stop()
    }),
  }
}

/** Whoever does not read is told nothing more until they do: the log itself is the buffer. */
function tellOn(response: ServerResponse): AuditListener {
  return (lines) => {
    if (lines.length === 0 || response.destroyed) return undefined
    if (response.write(framesOf(lines))) return undefined
    return new Promise((resolve) => {
      const on = (): void => {
        response.off('drain', on).off('close', on)
        resolve()
      }
      response.once('drain', on).once('close', on)
    })
  }
}

/** Whoever hears the same list is sent the same bytes, made once and held once, however many they are. */
const made = new WeakMap<readonly AuditLine[], Buffer>()

function framesOf(lines: readonly AuditLine[]): Buffer {
  const known = made.get(lines) ?? Buffer.from(lines.map(frameOf).join(''))
  made.set(lines, known)
  return known
}

/** The chain of the log is for whoever verifies it. */
function frameOf(entry: AuditLine): string {
  const { hash: _, prev: __, ...line } = entry
  return `id: ${line.seq}\nevent: ${line.event}\ndata: ${JSON.stringify(line)}\n\n`
}

function cursorIn({ request, query }: Incoming): number | undefined {
  const last = request.headers['last-event-id']
  const given = typeof last === 'string' && last !== '' ? last : query.get('from')
  if (given === null || given === '') return undefined
  if (!/^\d{1,15}$/.test(given)) throw invalidRequest('Last-Event-ID and from are numbers of lines.')
  return given === last ? Number(given) + 1 : Math.max(1, Number(given))
}

function speakerIn({ query }: Incoming): Speaker {
  const one = (name: string): string => {
    const value = query.get(name)
    if (!value) throw invalidRequest(`${name} is required: an agent follows its own session.`)
    return value
  }
  return { session_id: one('session_id'), user_id: one('user_id'), channel: one('channel').toLowerCase() }
}

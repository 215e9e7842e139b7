import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { bridgeProtocol, type BridgeMethod } from '../../contracts/bridge.ts'
import { asFault, Fault } from '../../contracts/faults/fault.ts'
import type { AgentCaller } from '../../contracts/gate.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Peers } from '../../text/connections.ts'
import { openFairSlots } from '../../text/fair-slots.ts'
import type { Route } from '../routes.ts'
import type { WebSocketPeer } from '../websockets.ts'
import { errorOf, openFlight, type Flight } from './flight.ts'
import { infoOf, works, type Ground } from './methods.ts'
import { fieldsIn, targetIn } from './params.ts'
import { openRefusals, type Refused } from './refusals.ts'
import { readRequest, type Request } from './request.ts'

export interface BridgeOptions extends Ground {
  peers: Peers<Socket>
  /** Ends the server, where a caller may ask for that. */
  stop?: () => void
  /** The longest message, in bytes. */
  maxMessageBytes?: number
  /** A request was turned away here; for the log. */
  onRefused?: (refused: Refused) => void
  /** Somebody came, or nobody is there any more. */
  onPresence?: (connections: number) => void
}

export interface Bridge {
  route: Route
  /** Cancels what is under way and waits a moment for the answers to go out. */
  close(): Promise<void>
}

interface Connection {
  peer: WebSocketPeer
  /** By the ids that their client gave them. */
  flights: Map<string, Flight>
}

const mostInFlight = 16
/** Commands and checks that run at once, whoever asked for them. */
const mostHeavy = 4
const mostWaiting = 16
/** Wrong or missing credentials on one connection. */
const mostWrong = 5
const strangerMs = 5_000
const closingMs = 3_000
const flushMs = 1_000

/** Seed 003 over the listener's WebSockets: each message a request, each request one answer. */
export function openBridge(options: BridgeOptions): Bridge {
  const connections = new Set<Connection>()
  const info = JSON.stringify(infoOf(options))
  const slots = openFairSlots({
    slots: mostHeavy,
    // One is left for everybody else.
    perClient: mostHeavy - 1,
    mostWaiting,
    busy: (waiting) =>
      new Fault('busy', `${waiting} requests of yours wait already`, { hint: 'Send it again when one has ended.' }),
  })
  const refusals = openRefusals((refused) => options.onRefused?.(refused))
  let opened = 0

  /** Own requests first; an id that several others have in use names none of them. */
  const findTarget = (mine: Connection, asking: string, target: string): Flight => {
    const own = mine.flights.get(target)
    if (own && target !== asking) return own
    const others = [...connections].flatMap((one) => (one === mine ? [] : (one.flights.get(target) ?? [])))
    if (others.length === 1) return others[0] as Flight
    throw new Fault(
      'not-found',
      others.length === 0 ? 'No such request is under way' : 'Several requests of that id are under way',
      {
        details: { targetRequestId: target, ...(others.length > 1 && { connections: others.length }) },
      },
    )
  }

  const attend = (peer: WebSocketPeer): { message(data: string | Buffer): void; closed(): void } => {
    const connection: Connection = { peer, flights: new Map() }
    const name = `connection ${++opened}`
    const session = `sess_${randomBytes(8).toString('hex')}`
    let caller: Promise<AgentCaller> | undefined
    let admitted = peer.by === 'agent'
    let wrong = 0
    const stranger = admitted ? undefined : setTimeout(() => peer.close(1008, 'No token was shown in time.'), strangerMs)
    connections.add(connection)
    options.onPresence?.(connections.size)

    const enter = async (): Promise<AgentCaller> => {
      options.gate.openSession({ id: session, surface: 'bridge', client: 'devserver' })
      return { surface: 'bridge', client: 'devserver', session, peer: await options.peers.of(peer.request.socket), role: 'agent' }
    }
    const asker = (): Promise<AgentCaller> => (caller ??= enter())
    /** Shown when the connection was made, or in this very message; a wrong one is a no, whatever was shown before. */
    const isAuthorized = ({ token }: Request): boolean => {
      if (token === undefined) return peer.by === 'agent'
      if (!peer.admit(token)) return false
      admitted = true
      clearTimeout(stranger)
      return true
    }
    const refuse = (id: string, fault: Fault): void =>
      void peer.send(
        JSON.stringify({ protocol: bridgeProtocol, type: 'response', requestId: id, ok: false, error: errorOf(fault) }),
      )
    const noToken = (id: string): void => {
      refuse(
        id,
        new Fault('unauthorized', 'A token is needed: auth.token, or Authorization: Bearer when connecting', {
          hint: 'It is in the state file of the server, which only its user can read.',
        }),
      )
      refusals.refuse({ connection: name, reason: 'unauthorized' })
      if (++wrong >= mostWrong) peer.close(1008, 'Too many messages without the right token.')
    }
    const work = async (method: keyof typeof works, params: unknown, flight: Flight): Promise<object> => {
      const { heavy, work: done } = works[method]
      if (!heavy) return done(options, params, flight, asker)
      await slots.enter(name, flight.signal)
      try {
        return await done(options, params, flight, asker)
      } finally {
        slots.leave(name)
      }
    }
    const stop = (flight: Flight): void => {
      const { stop: end } = options
      if (!end)
        throw new Fault('policy', 'This server is not ended over the bridge', {
          hint: 'It serves more than this. Whoever started `handrail serve` ends it.',
        })
      const late = new Promise((resolve) => setTimeout(resolve, flushMs).unref())
      void Promise.race([flight.answer({ stopping: true }), late]).then(end)
    }
    /** What the person who started this does not allow. What the kernel refuses is in its own lines. */
    const fail = (thrown: unknown, method: string, flight: Flight): void => {
      const { reason } = asFault(thrown)
      if (reason === 'read-only' || method === 'dev.stop')
        refusals.refuse({ connection: name, requestId: flight.id, method, reason })
      void flight.fail(thrown)
    }
    const begin = (method: BridgeMethod, { params }: Request, flight: Flight): void => {
      if (method === 'dev.stop') return stop(flight)
      if (method === 'dev.cancel') {
        const target = targetIn(fieldsIn(params))
        findTarget(connection, flight.id, target).cancel()
        return void flight.answer({ cancelled: true, targetRequestId: target })
      }
      void work(method as keyof typeof works, params, flight).then(
        (result) => flight.answer(result),
        (thrown: unknown) => fail(thrown, method, flight),
      )
    }
    const take = (request: Request): void => {
      const { id, method } = request
      const { flights } = connection
      if (!isAuthorized(request)) return noToken(id)
      const isInfo = method === 'dev.info'
      if (!isInfo && !isMethod(method))
        return refuse(id, new Fault('unknown-tool', `No such method: ${method.slice(0, 100)}`, { details: { methods } }))
      if (flights.has(id))
        return refuse(
          id,
          new Fault('duplicate-request', `${id} is under way on this connection`, { hint: 'Give each its own id.' }),
        )
      // The most frequent one, and all there is to say of it was said at the start.
      if (isInfo)
        return void peer.send(
          `{"protocol":"${bridgeProtocol}","type":"response","requestId":${JSON.stringify(id)},"ok":true,"result":${info}}`,
        )
      if (flights.size >= mostInFlight && method !== 'dev.cancel' && method !== 'dev.stop')
        return refuse(
          id,
          new Fault('busy', `${mostInFlight} requests of this connection are under way`, {
            hint: 'Send it again when one has ended.',
          }),
        )
      const flight = openFlight(id, peer)
      flights.set(id, flight)
      void flight.over.then(() => flights.delete(id))
      try {
        begin(method as BridgeMethod, request, flight)
      } catch (thrown) {
        fail(thrown, method, flight)
      }
    }
    return {
      message(data) {
        if (typeof data !== 'string') return peer.close(1003, 'Text only.')
        const read = readRequest(data)
        if ('request' in read) return take(read.request)
        refuse(read.id, read.fault)
        // Nonsense from who has shown nothing.
        if (!admitted && ++wrong >= mostWrong) peer.close(1008, 'Too many messages without the right token.')
      },
      closed() {
        clearTimeout(stranger)
        connections.delete(connection)
        refusals.forget(name)
        for (const flight of connection.flights.values()) flight.abandon()
        options.onPresence?.(connections.size)
      },
    }
  }

  return {
    route: {
      methods: ['GET'],
      for: 'agent',
      handle() {
        throw new Refusal(426, 'This is a WebSocket; connect with one.')
      },
      tells: ({ status, message }) => ({
        body: { error: message },
        ...(status === 426 && { headers: { Upgrade: 'websocket' } }),
      }),
      webSocket: {
        protocols: [bridgeProtocol],
        credentialLater: true,
        ...(options.maxMessageBytes !== undefined && { longest: options.maxMessageBytes }),
        open: attend,
      },
    },
    async close() {
      const flights = [...connections].flatMap((one) => [...one.flights.values()])
      for (const flight of flights) flight.cancel()
      const late = new Promise((resolve) => setTimeout(resolve, closingMs).unref())
      await Promise.race([Promise.all(flights.map(({ told }) => told)), late])
    },
  }
}

const methods = ['dev.info', ...Object.keys(works), 'dev.cancel', 'dev.stop']
const isMethod = (name: string): name is BridgeMethod => methods.includes(name)

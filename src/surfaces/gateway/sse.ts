import type { ServerResponse } from 'node:http'
import { largeBytes, type AnswerSlot } from './answer-slots.ts'

const heartbeatMs = 15_000

export interface EventStream {
  /** A frame: what it is called, where the dialect says so, and its data. It is encoded when those before it are written. */
  send(data: unknown, name?: string): void
  /** Settled when everything was written, or nobody is there. */
  end(): Promise<void>
}

/** Server-sent events on a response. `alive` is sent when nothing else was for a while, so that nobody in between gives up. */
export function openEventStream(response: ServerResponse, alive: string, slot: Pick<AnswerSlot, 'write'>): EventStream {
  let sent = Date.now()
  let queue: { data: unknown; name?: string | undefined }[] = []
  let writing = false
  let written = Promise.resolve()
  const isOver = (): boolean => response.destroyed || response.writableEnded
  const write = (text: string): void => {
    sent = Date.now()
    response.write(text)
  }
  /** What is short is written before this returns. */
  const writeAll = async (): Promise<void> => {
    writing = true
    for (let frame = queue.shift(); frame && !isOver(); frame = queue.shift()) {
      const { data, name } = frame
      const json = typeof data === 'string' ? data : JSON.stringify(data)
      const text = `${name === undefined ? '' : `event: ${name}\n`}data: ${json}\n\n`
      if (text.length < largeBytes) write(text)
      else await slot.write(Buffer.from(text))
    }
    queue = []
    writing = false
  }
  const beat = setInterval(() => {
    // Not into the middle of a frame.
    if (!writing && !isOver() && Date.now() - sent >= heartbeatMs) write(alive)
  }, heartbeatMs / 2).unref()
  response.once('close', () => clearInterval(beat))
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
  response.flushHeaders()
  return {
    send(data, name) {
      queue.push({ data, name })
      if (!writing) written = writeAll()
    },
    async end() {
      await written
      clearInterval(beat)
      response.end()
    },
  }
}

/** A comment, which every reader of such a stream passes over. */
export const comment = ': still here\n\n'

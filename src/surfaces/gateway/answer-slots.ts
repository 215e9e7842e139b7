import type { ServerResponse } from 'node:http'
import { holderOf } from '../../text/eviction.ts'

/** Large answers that are made at once: of everybody, and of one process. */
const mostAtOnce = 4
const mostOfOne = 2
/** What is written before it is waited for whoever reads. */
const pieceBytes = 1 << 18
/** So long a large answer may stand still while others wait for its place. */
const standsStillMs = 5_000

/** A text or bytes that take so much are written piece by piece. */
export const largeBytes = 1 << 18

/** What a request needs to give a large answer. */
export interface AnswerSlot {
  /** Waits for a place among those who give one; at once where it has one, or where nobody waits for the answer any more. */
  hold(): Promise<void>
  release(): void
  /** Writes as fast as it is read, with a turn for everybody else after each piece. */
  write(bytes: Buffer): Promise<void>
}

interface Waiting {
  holder: string
  begin(): void
}

/** Places for large answers. Whoever has fewest is next, and whoever does not read what it asked for gives up its place to others. */
export function openAnswerSlots(): (response: ServerResponse, peer: string) => AnswerSlot {
  const held = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let taken = 0

  const next = (): void => {
    while (taken < mostAtOnce) {
      let best: Waiting | undefined
      for (const one of waiting) {
        const mine = held.get(one.holder) ?? 0
        if (mine < mostOfOne && (!best || mine < (held.get(best.holder) ?? 0))) best = one
      }
      if (!best) return
      waiting.delete(best)
      taken++
      held.set(best.holder, (held.get(best.holder) ?? 0) + 1)
      best.begin()
    }
  }
  const giveBack = (holder: string): void => {
    taken--
    const left = (held.get(holder) ?? 1) - 1
    if (left > 0) held.set(holder, left)
    else held.delete(holder)
    next()
  }
  const read = (response: ServerResponse): Promise<void> =>
    new Promise((resolve) => {
      const look = setInterval(() => waiting.size > 0 && response.destroy(), standsStillMs).unref()
      const done = (): void => {
        clearInterval(look)
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.once('drain', done).once('close', done)
    })

  return (response, peer) => {
    const holder = holderOf(peer)
    let has = false
    let asked: { done: Promise<void>; give: Waiting } | undefined
    const release = (): void => {
      if (asked) waiting.delete(asked.give)
      asked = undefined
      if (!has) return
      has = false
      giveBack(holder)
    }
    const ask = (): { done: Promise<void>; give: Waiting } => {
      const give: Waiting = { holder, begin: () => undefined }
      const done = new Promise<void>((resolve) => {
        give.begin = () => {
          asked = undefined
          has = true
          resolve()
        }
        response.once('close', resolve)
      })
      waiting.add(give)
      return { done, give }
    }
    response.once('close', release)
    const hold = async (): Promise<void> => {
      if (has || response.destroyed) return
      asked ??= ask()
      const { done } = asked
      next()
      await done
    }
    return {
      hold,
      release,
      async write(bytes) {
        await hold()
        for (let at = 0; at < bytes.length && !response.destroyed; at += pieceBytes) {
          if (response.write(bytes.subarray(at, at + pieceBytes))) await new Promise((resolve) => setImmediate(resolve))
          else await read(response)
        }
      },
    }
  }
}

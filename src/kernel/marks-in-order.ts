import { setImmediate as turn } from 'node:timers/promises'
import type { Touch } from '../contracts/tool.ts'

/** Writes that are being judged. */
export interface UnderWay {
  /** By session and path. */
  byPath: Map<string, Promise<void>>
  /** Calls that write so many that an entry for each would hold everybody up. */
  wide: Set<{ session: string; writes: (path: string) => boolean; gone: Promise<void> }>
}

export const nothingUnderWay = (): UnderWay => ({ byPath: new Map(), wide: new Set() })

const mostEntries = 1_000

interface Judged {
  session: string
  touches: readonly Touch[]
  isWritten?: (path: string) => boolean
}

/**
 * Judging a write takes a moment, or as long as its pattern does. What comes later of the same session for the same file does not
 * overtake it meanwhile: it goes on once the write has taken its turn, or is asked about. Nobody waits for what another session has judged.
 */
export function marksInOrder<Call extends Judged, Found>(
  marksOf: (call: Call) => Promise<Found[]>,
  underWay: UnderWay,
): (call: Call) => Found[] | Promise<Found[]> {
  const { byPath, wide } = underWay

  /** Those that must be judged first. One that writes very many waits for all of its session. */
  const before = ({ session, touches }: Call): Promise<void>[] => {
    const prefix = `${session}\0`
    const ofSession = [...wide].filter((one) => one.session === session)
    if (touches.length > mostEntries)
      return [
        ...[...byPath].flatMap(([key, gone]) => (key.startsWith(prefix) ? [gone] : [])),
        ...ofSession.map(({ gone }) => gone),
      ]
    const paths = touches.flatMap((touch) => ('path' in touch ? [touch.path] : []))
    return [
      ...paths.flatMap((path) => byPath.get(prefix + path) ?? []),
      ...ofSession.filter((one) => paths.some(one.writes)).map(({ gone }) => gone),
    ]
  }
  /** Until `gone` it is under way. */
  const enter = ({ session, touches, isWritten }: Call, gone: Promise<void>): (() => void) => {
    if (touches.length > mostEntries) {
      const one = { session, writes: isWritten ?? ((path: string) => isAmong(touches, path)), gone }
      wide.add(one)
      return () => void wide.delete(one)
    }
    const keys = touches.flatMap((touch) => (isWrite(touch) ? [`${session}\0${touch.path}`] : []))
    for (const key of keys) byPath.set(key, gone)
    return () => {
      for (const key of keys) if (byPath.get(key) === gone) byPath.delete(key)
    }
  }

  return (call) => {
    const isAlone = byPath.size === 0 && wide.size === 0
    const isWriting = call.touches.some(isWrite)
    // Most calls write nothing, and nothing is being judged.
    if (isAlone && !isWriting) return []
    const ahead = isAlone ? [] : before(call)
    if (!isWriting) return ahead.length ? Promise.all(ahead).then(() => []) : []
    const found = ahead.length ? Promise.all(ahead).then(() => marksOf(call)) : marksOf(call)
    const over = async (): Promise<void> => {
      // What follows on being judged is done before the next turn of the event loop.
      await found.catch(() => undefined)
      await turn()
      leave()
    }
    const leave = enter(call, over())
    return found
  }
}

function isWrite(touch: Touch): touch is Extract<Touch, { path: string }> {
  return 'path' in touch && touch.access === 'write'
}

function isAmong(touches: readonly Touch[], path: string): boolean {
  return touches.some((touch) => isWrite(touch) && touch.path === path)
}

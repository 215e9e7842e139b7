import { readFileSync, watch, type FSWatcher } from 'node:fs'

/**
 * All watches of a process share one queue of the system, and it drops without a word what does not fit: what floods one watch is lost to another
 * that has heard nothing. So all of them are counted together here, and whoever relies on having heard asks `doubts`.
 */
export interface Doubts {
  /** Another number once words may have been lost, to whichever watch. */
  readonly times: number
  /** Another number once so much was heard at once that words must be taken as lost. */
  readonly lost: number
}

const queued = mostQueued()
/** So many in one turn of the event loop, which hears all there is, are all there were: several times as many are kept for us. */
const mostCalm = Math.min(4_096, queued / 4)
const mostAtOnce = 1_500
/** More than this cannot have been kept for sure. */
const mostSure = Math.max(mostCalm, (queued / 4) * 3)
/** Some may have been dropped unheard, with a watch that was given up meanwhile: after a flood there is one more look. */
const afterwardsMs = 1_000
/** The system says of each that it is over, which takes room too. */
const closedInTurn = 256

function mostQueued(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1')) || 0
  } catch {
    return 0
  }
}

const now = { times: 0, lost: 0 }
let inTurn = 0
const listeners = new Set<() => void>()
let afterwards: NodeJS.Timeout | undefined

export function doubts(): Doubts {
  return { ...now }
}

/** Whether so little was heard in this turn of the event loop that nothing can have been lost, and each can be dealt with on the spot. */
export function isCalm(): boolean {
  return inTurn <= Math.min(mostAtOnce, mostCalm)
}

/** Told once a turn is over in which words may have been lost, and once more when it has been calm for a while. */
export function onDoubt(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function raise(): void {
  now.times++
  for (const listener of listeners) listener()
}

function count(): void {
  if (inTurn++ === 0) setImmediate(endTurn)
  // Nobody who asks within this turn may believe that nothing happened; what is dropped later in it counts again at its end.
  if (inTurn === Math.floor(mostCalm) + 1) now.times++
}

function endTurn(): void {
  const heard = inTurn
  inTurn = 0
  if (heard <= mostCalm) return
  if (heard > mostSure) now.lost++
  clearTimeout(afterwards)
  afterwards = setTimeout(raise, afterwardsMs).unref()
  raise()
}

export interface CountedWatch {
  /** What it had to say until now still counts, so it is given up only when the system has been heard. */
  close(): void
}

/** What `fs.watch` tells of a path, counted; nothing where that went wrong. It throws as `fs.watch` does, and keeps no process alive. */
export function watchCounted(
  at: string | Buffer,
  hear: (kind: 'rename' | 'change' | undefined, name?: string | null) => void,
): CountedWatch {
  let over = false
  const watcher = watch(at, { persistent: false }, (kind, name) => {
    count()
    if (!over) hear(kind, name)
  })
  watcher.on('error', () => {
    if (!over) hear(undefined)
  })
  return {
    close() {
      if (over) return
      over = true
      if (given.push(watcher) === 1) polled().then(giveUp, giveUp)
    },
  }
}

let given: FSWatcher[] = []

function giveUp(): void {
  for (const watcher of given.slice(0, closedInTurn)) watcher.close()
  given = given.slice(closedInTurn)
  if (given.length > 0) polled().then(giveUp, giveUp)
}

let poll: Promise<void> | undefined

/** Everything that the system had to say when this was asked has been heard: the event loop has gone round to it. */
export function polled(): Promise<void> {
  // Only the next turn is sure to ask the system; this one may be through with that. Who asks in the same turn waits for the same.
  poll ??= new Promise((resolve) => {
    setImmediate(() => {
      poll = undefined
      setImmediate(resolve)
    })
  })
  return poll
}

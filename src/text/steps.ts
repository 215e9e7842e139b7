/** Something that takes as long as the disk does: done on the spot, or beside the event loop. */
interface Wait {
  now(): unknown
  soon(): Promise<unknown>
}

/**
 * Long work written down once, from top to bottom. Each `yield` is a place where others may have their turn; who carries it out decides
 * whether they do: `runInSlices` while a server runs, `runToEnd` while nobody can call yet.
 */
export type Steps<T> = Generator<Wait | undefined, T, unknown>

/** One thing that the disk takes its time for. */
export function* wait<T>(now: () => T, soon: () => Promise<T>): Steps<T> {
  return (yield { now, soon }) as T
}

/** Long works have so much of a turn of the event loop, all of them together. */
const sliceMs = 4
/** What is over after so long waits for nobody: a read is not put behind ten thousand files. */
const shortMs = 1

let began: number | undefined
const newTurn = (): void => {
  began = undefined
}

/** Whether long works have had their time in this turn. */
function spent(): boolean {
  if (began !== undefined) return performance.now() - began > sliceMs
  began = performance.now()
  setImmediate(newTurn)
  return false
}

const waiting: (() => void)[] = []

/** Whoever has waited longest goes on, and the next where there is time left. */
async function startNext(): Promise<void> {
  newTurn()
  do {
    waiting.shift()?.()
    // It goes on before we do.
    await Promise.resolve()
  } while (waiting.length > 0 && !spent())
  starting = waiting.length > 0
  if (starting) setImmediate(() => void startNext())
}

let starting = false

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve)
    if (starting) return
    starting = true
    setImmediate(() => void startNext())
  })

/** For work of some milliseconds in one piece: of those who come together one begins in each turn, the first on the spot. */
export function oneInATurn(): () => Promise<void> {
  let last: Promise<void> | undefined
  return async () => {
    const before = last
    const mine = (before ?? Promise.resolve()).then(turn)
    last = mine
    void mine.then(() => {
      if (last === mine) last = undefined
    })
    await before
  }
}

/** For loops that wait for promises already: between their stretches everybody else has a turn. */
export interface Pace {
  /** Whether it was long enough; cheap enough to be asked for every line. */
  due(): boolean
  /** Throws where the call was ended or ran out of time: it goes no further. */
  turn(): Promise<void>
}

export function openPace(signal?: AbortSignal): Pace {
  let since = performance.now()
  return {
    due: () => performance.now() - since > shortMs && spent(),
    async turn() {
      await turn()
      signal?.throwIfAborted()
      since = performance.now()
    },
  }
}

/** The same for work that is part of such a loop. */
export async function paced<T>(steps: Steps<T>, pace: Pace): Promise<T> {
  let next = steps.next()
  while (!next.done) {
    if (pace.due()) await pace.turn()
    next = stepOn(steps, next)
  }
  return next.value
}

/** Carries work out in small steps: other calls are answered meanwhile. */
export function runInSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  return goOn(steps, undefined, signal)
}

/**
 * The same for work that is nearly always short: done on the spot as long as it is, so that calls that come together stay in the order
 * in which they came.
 */
export function runPromptly<T>(steps: Steps<T>): T | Promise<T> {
  const since = performance.now()
  let next = steps.next()
  while (!next.done) {
    if (performance.now() - since > sliceMs) return goOn(steps, next)
    next = stepOn(steps, next)
  }
  return next.value
}

async function goOn<T>(steps: Steps<T>, from?: IteratorResult<Wait | undefined, T>, signal?: AbortSignal): Promise<T> {
  let since = from ? Number.NEGATIVE_INFINITY : performance.now()
  let next = from ?? steps.next()
  while (!next.done) {
    let answer: unknown
    try {
      if (next.value) {
        const asked = performance.now()
        answer = await next.value.soon()
        // The disk's time is not ours.
        since += performance.now() - asked
      } else if (performance.now() - since > shortMs && spent()) {
        await turn()
        since = performance.now()
        signal?.throwIfAborted()
      }
    } catch (fault) {
      next = steps.throw(fault)
      continue
    }
    next = steps.next(answer)
  }
  return next.value
}

/** What a step waits for is done at once. */
function stepOn<T>(steps: Steps<T>, { value }: IteratorYieldResult<Wait | undefined>): IteratorResult<Wait | undefined, T> {
  let answer: unknown
  try {
    answer = value?.now()
  } catch (fault) {
    return steps.throw(fault)
  }
  return steps.next(answer)
}

/** Carries work out without a pause. */
export function runToEnd<T>(steps: Steps<T>): T {
  let next = steps.next()
  while (!next.done) next = stepOn(steps, next)
  return next.value
}

/** The same for each of many, others in between. */
export function* each<T, U>(items: Iterable<T>, act: (item: T, index: number) => U): Steps<U[]> {
  const made: U[] = []
  for (const item of items) {
    made.push(act(item, made.length))
    yield
  }
  return made
}

/** The order of texts, by their characters' numbers. */
export const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** So many are sorted in one go. */
const run = 1_000

/** A sorted copy, however many there are. */
export function* sorted<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += run) {
    runs.push(items.slice(from, from + run).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] as T[], runs[at + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const made: T[] = []
  for (let [l, r] = [0, 0]; l < left.length || r < right.length;) {
    const isLeft = r === right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0)
    made.push((isLeft ? left[l++] : right[r++]) as T)
    if (made.length % run === 0) yield
  }
  return made
}

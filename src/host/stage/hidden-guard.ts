import { isTemporary } from '../paths.ts'
import { keyOf, type Came, type Hidden, type HiddenWatch } from './hidden.ts'

/** Where programs look, and what must be hidden there. */
export type HiddenView = Pick<HiddenWatch, 'scan' | 'follow' | 'known'>

/** What a running program may have seen, in words: that it came while it ran. */
export interface Exposure {
  path: string
  says: string
}

/** Several folders as one. */
export function hiddenViewOf(watches: readonly HiddenWatch[]): HiddenView {
  return {
    scan: async () => (await Promise.all(watches.map((one) => one.scan()))).flat(),
    known() {
      const all = watches.map((one) => one.known())
      return all.includes(undefined) ? undefined : all.flatMap((one) => one ?? [])
    },
    follow(listener) {
      const ways = watches.map((one) => one.follow(listener))
      return () => ways.forEach((stop) => stop())
    },
  }
}

/** Of all that is to be hidden only some; of the rest it is told that something came, not what. */
export function guardOnly(hiddenView: HiddenView, isMeant: (one: Pick<Hidden, 'at'>) => boolean): HiddenView {
  return {
    scan: async () => (await hiddenView.scan()).filter(isMeant),
    known: () => hiddenView.known()?.filter(isMeant),
    follow: (listener) => hiddenView.follow((came) => listener(came && isMeant(came) ? came : undefined)),
  }
}

/** How often it is looked where nothing was told; a look that takes long is not made all the time. */
const guardMs = 100
const restFor = 10

/**
 * What is hidden is covered where it stood when a program was started. What comes later, however shortly it stays, is put in the
 * place of one, or gets another name, is not covered: the first of them is told. `within` is the part of the project the program sees.
 * What came and went unseen counts as one, except to who is `live`: a server that runs for days would not outlast a build beside it.
 */
export function guardHidden(
  hiddenView: HiddenView,
  hides: readonly Hidden[],
  within: string,
  onSeen: (seen: Exposure) => void,
  live = false,
): () => void {
  const covered = new Map(hides.map((one) => [keyOf(one), one.is]))
  let stopped = false
  let looking = false
  let again = false
  const tell = (seen: Exposure | undefined): void => {
    if (seen && !stopped) onSeen(seen)
  }
  const look = async (): Promise<void> => {
    again = true
    if (looking) return
    looking = true
    while (again && !stopped) {
      again = false
      tell(
        await hiddenView.scan().then(
          (now) => exposureOf(now, hides, within),
          (fault: Error) => ({ path: '.', says: `it is not known what came (${fault.message})` }),
        ),
      )
    }
    looking = false
  }
  const unfollow = hiddenView.follow((came) => {
    // What is covered was moved, removed or replaced, and may be read under another name by now.
    const isCovered = came?.is !== undefined && covered.get(keyOf(came)) === came.is
    if (came && !isCovered && concerns(came, within) && !(came.unseen && live))
      tell(came.unseen ? unseen(came) : covered.has(keyOf(came)) ? gone(came) : late(came))
    void look()
  })
  // The system does not tell everywhere, nor of everything.
  let timer: NodeJS.Timeout | undefined
  const lookAfter = (ms: number): void => {
    timer = setTimeout(() => {
      const since = performance.now()
      void look().then(() => stopped || lookAfter(Math.max(guardMs, (performance.now() - since) * restFor)))
    }, ms).unref()
  }
  lookAfter(guardMs)
  return () => {
    stopped = true
    clearTimeout(timer)
    unfollow()
  }
}

/** The first that a program may have seen, by what is to be hidden now and what was covered for it. */
export function exposureOf(now: readonly Hidden[], hides: readonly Hidden[], within: string): Exposure | undefined {
  const came = uncovered(now, hides, within)
  if (came) return hides.some((one) => keyOf(one) === keyOf(came)) ? gone(came) : late(came)
  const there = new Set(now.map(keyOf))
  const left = hides.find((one) => concerns(one, within) && !there.has(keyOf(one)))
  return left && gone(left)
}

/** The first that is to be hidden and was not covered for a program. */
export function uncovered(now: readonly Hidden[], hides: readonly Hidden[], within: string): Hidden | undefined {
  const covered = new Map(hides.map((one) => [keyOf(one), one.is]))
  return now.find((one) => concerns(one, within) && covered.get(keyOf(one)) !== one.is)
}

function late({ path }: Pick<Hidden, 'path'>): Exposure {
  return { path, says: `${path} came while it ran` }
}

function unseen({ path }: Came): Exposure {
  return { path, says: `${path} came and went, or was changed and changed back, while it ran, before it could be looked at` }
}

function gone({ path }: Pick<Hidden, 'path'>): Exposure {
  return { path, says: `${path} was removed, replaced or given another name while it ran` }
}

/** Our own temporary files hold what is about to be a file of the project. */
function concerns({ path }: Pick<Hidden, 'path'>, within: string): boolean {
  if (isTemporary(path.slice(path.lastIndexOf('/') + 1))) return false
  return within === '' || path.startsWith('/') || path.startsWith(`${within}/`)
}

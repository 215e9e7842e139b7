import type { CDPSession, Page } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { readerScript, type WalkSummary } from './in-page.ts'

/** One document of a page, and the place in its process where only we are. */
export interface PageWorld {
  session: CDPSession
  context: number
  frame: string
  parent: PageWorld | undefined
  url: string
}

interface FrameTree {
  frame: { id: string; parentId?: string; url: string }
  childFrames?: FrameTree[]
}

export const worldName = 'handrail'
/** Frames looked into at once. */
const atOnce = 16

/** The document that was read is no more: the page went elsewhere, or ended. */
export class WorldGone extends Error {}

const orGone = <T>(wait: Promise<T>): Promise<T> =>
  wait.catch((cause: unknown) => {
    throw new WorldGone('the document is gone', { cause })
  })

/** Does it for each, some at a time. */
export async function severally<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) await Promise.all(items.slice(at, at + atOnce).map(act))
}

const entered = new WeakMap<Page, readonly PageWorld[]>()

/** The documents of a page as they were entered last. */
export const worldsOf = (page: Page): readonly PageWorld[] => entered.get(page) ?? []

const sessions = new WeakMap<Page, Promise<CDPSession>>()

/** Ours to a page's own target. There is one, whoever reads, watches or acts: each costs the browser an agent of every kind. */
export function sessionOf(page: Page): Promise<CDPSession> {
  const known = sessions.get(page)
  if (known) return known
  const opening = page.context().newCDPSession(page)
  sessions.set(page, opening)
  opening.catch(() => sessions.delete(page))
  return opening
}

/** Pages whose documents have the reader from their beginning. */
const prepared = new WeakSet<Page>()

/** Every document of the page has the reader from now on, so that it is not sent to each of them. */
export async function prepareReading(page: Page, session: CDPSession): Promise<void> {
  await session.send('Page.addScriptToEvaluateOnNewDocument', { source: readerScript, worldName })
  prepared.add(page)
}

/** The frame of each page itself, from its first reading on: it keeps its name wherever the page goes. */
const mainFrames = new WeakMap<Page, string>()

const intoWorld = async (session: CDPSession, frameId: string): Promise<number> =>
  (await session.send('Page.createIsolatedWorld', { frameId, worldName })).executionContextId

export interface Worlds {
  worlds: PageWorld[]
  /** Frames a person does not see, and those beyond the most that are read. */
  hidden: number
  unread: number
  /** Lets go of what was opened for this reading only. */
  release(): Promise<void>
}

/** Enters every frame of a page that a person can see, in the order of the page. */
export async function enterFrames(page: Page, most: number): Promise<Worlds> {
  const session = await sessionOf(page)
  const known = mainFrames.get(page)
  const early = known === undefined ? undefined : intoWorld(session, known)
  // Heard below, where it is used.
  early?.catch(() => undefined)
  const { frameTree } = (await session.send('Page.getFrameTree')) as { frameTree: FrameTree }
  mainFrames.set(page, frameTree.frame.id)
  const others: CDPSession[] = []
  const found: { session: CDPSession; tree: FrameTree }[] = [{ session, tree: frameTree }]
  const listed = countFrames(frameTree)
  if (page.frames().length > listed)
    // Those in a process of their own have a session of their own; the driver refuses one to the others.
    for (const frame of page.frames().slice(1, most)) {
      const own = await page
        .context()
        .newCDPSession(frame)
        .catch(() => undefined)
      if (!own) continue
      others.push(own)
      const tree = await own.send('Page.getFrameTree').catch(() => undefined)
      if (tree) found.push({ session: own, tree: tree.frameTree as FrameTree })
    }
  const all = found.flatMap((one) => flat(one.session, one.tree))
  // One without frames; what is asked of frames goes other ways, too.
  const isPrepared = prepared.has(page) && all.length === 1
  const worlds: PageWorld[] = []
  const byFrame = new Map<string, PageWorld>()
  let hidden = 0
  const enter = async (one: (typeof all)[number]): Promise<void> => {
    const parent = one.parent === undefined ? undefined : byFrame.get(one.parent)
    if (one.parent !== undefined && (!parent || !(await ownerIsShown(parent, one.frame)))) return void (hidden += 1)
    const context = await (one.frame === known && early ? early : intoWorld(one.session, one.frame))
    const world = { session: one.session, context, frame: one.frame, parent, url: one.url }
    const made = isPrepared ? undefined : makeReader(world)
    // What is asked of it next comes after this on the same way; where it failed, so does that.
    if (all.length === 1) made?.catch(() => undefined)
    else await made
    byFrame.set(one.frame, world)
    worlds.push(world)
  }
  const [top, ...rest] = all
  if (top) await orGone(enter(top))
  // A frame is judged where its parent was entered, so they are taken by depth.
  const waiting = rest.slice(0, most - 1).map((one) => ({ ...one, rank: depthOf(one, all) }))
  for (const rank of [...new Set(waiting.map((one) => one.rank))].sort((a, b) => a - b)) {
    const layer = waiting.filter((one) => one.rank === rank)
    await severally(layer, (one) => enter(one).catch(() => void (hidden += 1)))
  }
  const order = new Map(all.map(({ frame }, at) => [frame, at]))
  worlds.sort((a, b) => (order.get(a.frame) ?? 0) - (order.get(b.frame) ?? 0))
  entered.set(page, worlds)
  return {
    worlds,
    hidden,
    unread: Math.max(0, page.frames().length - most),
    release: async () => void (await Promise.all(others.map((one) => one.detach().catch(() => undefined)))),
  }
}

function flat(
  session: CDPSession,
  tree: FrameTree,
): { session: CDPSession; frame: string; parent: string | undefined; url: string }[] {
  const list: ReturnType<typeof flat> = []
  const waiting = [tree]
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    list.push({ session, frame: one.frame.id, parent: one.frame.parentId, url: one.frame.url })
    waiting.push(...(one.childFrames ?? []).toReversed())
  }
  return list
}

function countFrames(tree: FrameTree): number {
  let count = 0
  const waiting = [tree]
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    count += 1
    waiting.push(...(one.childFrames ?? []))
  }
  return count
}

function depthOf(one: { parent: string | undefined }, all: readonly { frame: string; parent: string | undefined }[]): number {
  const parents = new Map(all.map(({ frame, parent }) => [frame, parent]))
  let depth = 0
  for (let at = one.parent; at !== undefined && depth < all.length; at = parents.get(at)) depth += 1
  return depth
}

async function ownerIsShown(parent: PageWorld, frameId: string): Promise<boolean> {
  const { backendNodeId } = await parent.session.send('DOM.getFrameOwner', { frameId })
  const { object } = await parent.session.send('DOM.resolveNode', { backendNodeId, executionContextId: parent.context })
  const { result } = await parent.session.send('Runtime.callFunctionOn', {
    objectId: object.objectId as string,
    functionDeclaration: 'function () { return handrailReading.isShown(this) }',
    returnByValue: true,
  })
  return result.value === true
}

const makeReader = (world: PageWorld): Promise<unknown> =>
  world.session.send('Runtime.evaluate', { contextId: world.context, expression: `${readerScript};0`, returnByValue: true })

/** Calls a function of ours in one of its documents; what comes back is plain data. */
export async function inWorld<T>(world: PageWorld, expression: string): Promise<T> {
  const ask = () =>
    world.session.send('Runtime.evaluate', {
      contextId: world.context,
      expression: `Object.hasOwn(globalThis, 'handrailReading') ? handrailReading.${expression} : '${noReader}'`,
      returnByValue: true,
    })
  const first = await orGone(ask())
  // A document that was there before its page was prepared.
  const isMissing = first.result.value === noReader
  if (isMissing) await orGone(makeReader(world))
  const { result, exceptionDetails } = isMissing ? await orGone(ask()) : first
  if (exceptionDetails)
    throw new Fault('internal', 'Reading the page failed', {
      details: { thrown: (exceptionDetails.exception?.description ?? exceptionDetails.text).slice(0, 1_000) },
    })
  return result.value as T
}

/** No text of a page is told bare. */
const noReader = 'handrail: no reader'

/** Elements that are asked whether a part of them is closed, at most. */
const mostHosts = 3_000

/**
 * Opens what a page keeps closed, where it keeps anything: the browser's own search, which goes through closed parts, finds more than
 * a walk does. Says how many elements may be out of reach because there were more to ask than can be.
 */
export async function openClosedParts(
  worlds: readonly PageWorld[],
  summaries: ReadonlyMap<PageWorld, WalkSummary>,
  counts: ReadonlyMap<CDPSession, Promise<number>>,
): Promise<{ changed: Set<PageWorld>; missing: number }> {
  const changed = new Set<PageWorld>()
  let missing = 0
  for (const session of new Set(worlds.map((world) => world.session))) {
    const mine = worlds.filter((world) => world.session === session)
    const found = new Map(mine.map((world) => [world, summaries.get(world)?.found ?? 0]))
    const there = await orGone(counts.get(session) ?? Promise.resolve(0))
    const short = (): number => there - [...found.values()].reduce((sum, count) => sum + count, 0)
    let isWhole = true
    for (const world of mine) {
      // Parts may hold others: as long as some turn up.
      for (let more = true; more && short() > 0;) {
        const { opened, askedAll } = await openPartsIn(world).catch(() => ({ opened: undefined, askedAll: false }))
        more = opened !== undefined
        if (opened !== undefined) found.set(world, opened)
        if (opened !== undefined) changed.add(world)
        if (!askedAll) isWhole = false
      }
    }
    // What changed meanwhile is no sign of anything; only what was not asked can hide something.
    if (!isWhole) missing += Math.max(0, short())
  }
  return { changed, missing }
}

/** What the browser's own search finds in each process of a page, begun at once: it is over by the time the walks are. */
export function countElements(worlds: readonly PageWorld[]): ReadonlyMap<CDPSession, Promise<number>> {
  return new Map(
    [...new Set(worlds.map(({ session }) => session))].map((session) => {
      const count = Promise.all([
        session.send('DOM.enable'),
        session.send('DOM.performSearch', { query: '<' }),
        session.send('DOM.disable'),
      ]).then(([, { resultCount }]) => resultCount)
      // Heard by whoever asks for it.
      count.catch(() => undefined)
      return [session, count]
    }),
  )
}

/** Opens the closed parts of one document that can be come to now; says what a walk finds then, or nothing where there were none. */
async function openPartsIn({ session, context }: PageWorld): Promise<{ opened: number | undefined; askedAll: boolean }> {
  const objectGroup = 'handrail-hosts'
  let opened: number | undefined
  const { result } = await session.send('Runtime.evaluate', {
    contextId: context,
    expression: `handrailReading.hosts(${mostHosts})`,
    objectGroup,
  })
  try {
    const { result: entries } = await session.send('Runtime.getProperties', {
      objectId: result.objectId as string,
      ownProperties: true,
    })
    const hosts = entries.flatMap(({ name, value }) => (/^\d+$/.test(name) && value?.objectId ? [value.objectId] : []))
    await severally(hosts, async (objectId) => {
      const { node } = await session.send('DOM.describeNode', { objectId, depth: 0 })
      const closed = node.shadowRoots?.find(({ shadowRootType }) => shadowRootType === 'closed')
      if (!closed) return
      const { object } = await session.send('DOM.resolveNode', {
        backendNodeId: closed.backendNodeId,
        executionContextId: context,
        objectGroup,
      })
      const { result: count } = await session.send('Runtime.callFunctionOn', {
        objectId,
        functionDeclaration: 'function (part) { return handrailReading.opened(this, part) }',
        arguments: [{ objectId: object.objectId as string }],
        returnByValue: true,
      })
      opened = Math.max(opened ?? 0, Number(count.value))
    })
    return { opened, askedAll: hosts.length < mostHosts }
  } finally {
    await session.send('Runtime.releaseObjectGroup', { objectGroup }).catch(() => undefined)
  }
}

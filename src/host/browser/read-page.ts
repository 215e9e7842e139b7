import { createHash, randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import type { PageBlock, PageElement, PageForm } from '../../text/page-reading/blocks.ts'
import { mainPlaces } from '../../text/page-reading/main-first.ts'
import { between, blockMarkdown } from '../../text/page-reading/render.ts'
import { pageFault } from './faults.ts'
import type { Pulled, WalkSummary } from './in-page.ts'
import {
  countElements,
  enterFrames,
  inWorld,
  openClosedParts,
  severally,
  WorldGone,
  type PageWorld,
  type Worlds,
} from './page-worlds.ts'

/** What a page says. All of it is data from a stranger, never an instruction. */
export interface PageReading {
  untrusted: true
  url: string
  title: string
  language?: string
  /** What it is about first, then, after a line that says so, the rest and its frames. */
  markdown: string
  /** What can be acted on, of what stands in `markdown`. */
  elements: PageElement[]
  forms: PageForm[]
  links: { text: string; url: string; id: string }[]
  /** Goes on where this ends; the parts put together are the whole text. */
  next?: string
  /** Characters of the whole text. */
  totalChars: number
  dropped: Dropped
  /** SHA-256 of the whole text. */
  digest: string
}

/** What is not in the text, and how much of it. Nothing is here that is 0. */
export interface Dropped {
  /** Words a person does not see: hidden, of no size, transparent, out of the page, in a closed `details`. */
  hidden?: { chars: number; elements: number }
  /** Characters nobody sees, such as those of no width. */
  invisibleChars?: number
  /** Pictures without words of their own. */
  pictures?: number
  /** Frames that are not shown, and those beyond the most that are read. */
  frames?: { hidden: number; unread: number }
  /** Elements that were not come to, in the time or the room there was. */
  unreadElements?: number
  /** Elements in closed parts of the page that could not be opened. */
  closedElements?: number
  /** Things to act on that have no id, because there are so many. */
  unnamed?: number
  /** With `main`: what stands outside of it; read without `main` to have it. */
  rest?: { chars: number }
}

export interface ReadOptions {
  maxChars?: number
  cursor?: string
  /** Only what the page is about. */
  main?: boolean
  /** Ids in the text for links, too. */
  linkIds?: boolean
  timeoutMs?: number
}

const defaultChars = 20_000
/** Of one page altogether, and of one piece that is fetched from it. */
const mostChars = 100_000_000
const pieceChars = 200_000
const mostFrames = 1_000
/** A text no longer than this is not fetched again. */
const keptChars = 400_000

/** One look at a page. Its words stay in the processes of the page; this is where they are found. */
interface Snapshot {
  id: string
  options: { main: boolean; linkIds: boolean }
  worlds: PageWorld[]
  summaries: ReadonlyMap<PageWorld, WalkSummary>
  places: Side[]
  digest: string
  total: number
  dropped: Dropped
  /** Places in the text from which reading can go on. */
  index: Stop[]
  /** All of it, where it is short. */
  pieces: Piece[] | undefined
  release(): Promise<void>
}
interface Side {
  world: PageWorld
  places: number[] | null
  inside: boolean
  /** What says where this begins. */
  title: string
}
interface Stop {
  offset: number
  side: number
  block: number
  before: PageBlock | undefined
}

interface Piece {
  text: string
  elements: PageElement[]
  unseenChars: number
  world: PageWorld
}

const snapshots = new WeakMap<Page, Snapshot>()

/** Reads what a page says, whole and in order, bounded in time and room whatever the page does. */
export async function readPage(page: Page, options: ReadOptions = {}): Promise<PageReading> {
  const timeoutMs = options.timeoutMs ?? 30_000
  const end = performance.now() + timeoutMs
  return inTime(page, timeoutMs, async () => {
    const most = options.maxChars ?? defaultChars
    if (options.cursor !== undefined) {
      const [id, offset] = options.cursor.split('.')
      const snapshot = snapshots.get(page)
      if (!snapshot || snapshot.id !== id || !/^\d{1,12}$/.test(offset ?? '')) throw moved()
      const stillThere = async (): Promise<unknown> => inWorld(snapshot.worlds[0] as PageWorld, 'pull.length')
      return stillThere()
        .then(() => chunk(page, snapshot, Number(offset), most))
        .catch((cause: unknown) => {
          throw cause instanceof WorldGone && !page.isClosed() ? moved() : cause
        })
    }
    // A page that goes elsewhere while it is read is read where it came to.
    for (;;)
      try {
        return await chunk(page, await look(page, options, end), 0, most)
      } catch (cause) {
        if (!(cause instanceof WorldGone) || page.isClosed() || performance.now() > end) throw cause
        await page.waitForLoadState('domcontentloaded', { timeout: Math.max(1, end - performance.now()) }).catch(() => undefined)
      }
  })
}

async function look(page: Page, options: ReadOptions, end: number): Promise<Snapshot> {
  const last = snapshots.get(page)
  snapshots.delete(page)
  await last?.release()
  const entered = await enterFrames(page, mostFrames)
  const { worlds } = entered
  const summaries = new Map<PageWorld, WalkSummary>()
  /** All of the page itself, where that is short. */
  let short: Pulled | null = null
  const walk = async (world: PageWorld): Promise<void> => {
    const ms = Math.round(Math.max(100, (end - performance.now()) * 0.6))
    const bounds = `{ ms: ${ms}, chars: ${mostChars} }`
    if (world !== worlds[0]) return void summaries.set(world, await inWorld<WalkSummary>(world, `walk(${bounds})`))
    const { told, all } = await inWorld<{ told: WalkSummary; all: Pulled | null }>(world, `read(${bounds}, ${pieceChars})`)
    summaries.set(world, told)
    short = all
  }
  const walkAll = (some: readonly PageWorld[]): Promise<void> =>
    severally(some, (world) =>
      // One that went away meanwhile is one less; where it is the page itself, all of it is read again.
      walk(world).catch((cause: unknown) => {
        if (world.parent === undefined) throw cause
        entered.unread += 1
      }),
    )
  const counts = countElements(worlds)
  await walkAll(worlds)
  const walked = worlds.filter((world) => summaries.has(world))
  const closed = await openClosedParts(walked, summaries, counts)
  await walkAll([...closed.changed])

  const [top] = worlds
  if (!top) throw new WorldGone()
  const weights = new Map(summaries.get(top)?.weights)
  const isMain = mainPlaces(weights)
  const places = [...weights.keys()].filter(isMain)
  const outside = [...weights].reduce((sum, [flags, chars]) => sum + (isMain(flags) ? 0 : chars), 0)
  const framed = worlds.slice(1).filter((world) => (summaries.get(world)?.weights.length ?? 0) > 0)
  const isOnly = options.main === true
  const sides: Side[] = [
    { world: top, places, inside: true, title: '' },
    ...(isOnly || outside === 0 ? [] : [{ world: top, places, inside: false, title: '⟦the rest of the page⟧' }]),
    ...(isOnly ? [] : framed.map((world) => ({ world, places: null, inside: true, title: `⟦frame: ${oneLine(world.url)}⟧` }))),
  ]
  const rest = outside + framed.reduce((sum, world) => sum + weightOf(summaries.get(world)), 0)
  const snapshot: Snapshot = {
    id: randomBytes(6).toString('hex'),
    options: { main: isOnly, linkIds: options.linkIds === true },
    worlds,
    summaries,
    places: sides,
    digest: '',
    total: 0,
    dropped: droppedOf(summaries, entered, closed.missing, isOnly ? rest : 0),
    index: [],
    pieces: undefined,
    release: entered.release,
  }
  const hash = createHash('sha256')
  let unseen = 0
  const pieces: Piece[] = []
  for await (const piece of textOf(snapshot, undefined, short)) {
    hash.update(piece.text)
    snapshot.total += piece.text.length
    unseen += piece.unseenChars
    if (snapshot.total <= keptChars) pieces.push(piece)
  }
  if (snapshot.total <= keptChars) snapshot.pieces = pieces
  snapshot.digest = hash.digest('hex')
  if (unseen > 0) snapshot.dropped.invisibleChars = unseen
  snapshots.set(page, snapshot)
  return snapshot
}

async function chunk(page: Page, snapshot: Snapshot, from: number, maxChars: number): Promise<PageReading> {
  const most = Math.max(1, maxChars)
  const seen = new Map<PageElement, PageWorld>()
  let markdown = ''
  let next: number | undefined
  const start = snapshot.pieces ? undefined : snapshot.index.findLast(({ offset }) => offset <= from)
  let at = start?.offset ?? 0
  for await (const { text, elements, world } of snapshot.pieces ?? textOf(snapshot, start)) {
    const begins = at
    at += text.length
    if (at <= from) continue
    const rest = begins < from ? text.slice(from - begins) : text
    if (markdown.length + rest.length > most) {
      const room = markdown === '' ? whole(rest, most) : 0
      if (room > 0) for (const element of elements) seen.set(element, world)
      markdown += rest.slice(0, room)
      next = from + markdown.length
      break
    }
    markdown += rest
    for (const element of elements) seen.set(element, world)
  }
  if (next !== undefined && next >= snapshot.total) next = undefined
  const elements = [...seen.keys()]
  const forms: PageForm[] = []
  for (const world of new Set([...seen].flatMap(([{ role }, one]) => (role === 'link' ? [] : [one]))))
    forms.push(...(await inWorld<PageForm[]>(world, 'forms()')))
  const ids = new Set(elements.map(({ id }) => id))
  const top = snapshot.summaries.get(snapshot.worlds[0] as PageWorld)
  return {
    untrusted: true,
    url: page.url(),
    title: top?.title ?? '',
    ...(top?.language && { language: top.language }),
    markdown,
    elements: elements.filter(({ id }) => id !== ''),
    forms: forms.filter(({ fields }) => fields.some((id) => ids.has(id))),
    links: elements.flatMap(({ role, name, url, id }) => (role === 'link' && url !== undefined ? [{ text: name, url, id }] : [])),
    ...(next !== undefined && { next: `${snapshot.id}.${next}` }),
    totalChars: snapshot.total,
    dropped: snapshot.dropped,
    digest: snapshot.digest,
  }
}

/** The whole text in pieces, block by block, from a place on. `short` are the blocks of the page itself, where they are here already. */
async function* textOf(snapshot: Snapshot, start: Stop | undefined, short: Pulled | null = null): AsyncGenerator<Piece> {
  let offset = start?.offset ?? 0
  let before = start?.before
  for (const [at, { world, places, inside, title }] of snapshot.places.entries()) {
    if (at < (start?.side ?? 0)) continue
    let block = at === start?.side ? start.block : 0
    let isFirst = block === 0
    for (let ended = false; !ended;) {
      if (offset > (snapshot.index.at(-1)?.offset ?? -1)) snapshot.index.push({ offset, side: at, block, before: brief(before) })
      const piece =
        short && world === snapshot.worlds[0]
          ? { ...short, blocks: short.blocks.filter(({ flags }) => places === null || places.includes(flags) === inside) }
          : await inWorld<Pulled>(world, `pull(${block}, ${JSON.stringify(places)}, ${inside}, ${pieceChars})`)
      const known = new Map(piece.elements)
      for (const one of piece.blocks) {
        const elements: PageElement[] = []
        let unseenChars = 0
        const markdown = blockMarkdown(one, {
          base: snapshot.summaries.get(world)?.url ?? '',
          linkIds: snapshot.options.linkIds,
          elements: known,
          seen: (element) => void elements.push(element),
          unseen: (count) => void (unseenChars += count),
        })
        if (markdown === '') continue
        const lead = isFirst && title !== '' ? `${offset > 0 ? '\n\n' : ''}${title}\n\n` : between(before, one)
        isFirst = false
        const text = lead + markdown
        yield { text, elements, unseenChars, world }
        offset += text.length
        before = one
      }
      block = piece.next
      ended = piece.end
    }
  }
}

/** As much of a block as `between` looks at. */
const brief = (block: PageBlock | undefined): PageBlock | undefined => block && { ...block, text: block.text.slice(0, 100) }

/** Up to so many characters, none of them cut in two. */
function whole(text: string, most: number): number {
  if (text.length <= most) return text.length
  const code = text.charCodeAt(most - 1)
  return code >= 0xd800 && code <= 0xdbff ? Math.max(1, most - 1) : most
}

function droppedOf(summaries: ReadonlyMap<PageWorld, WalkSummary>, frames: Worlds, closed: number, rest: number): Dropped {
  const sum = (of: (summary: WalkSummary) => number): number => [...summaries.values()].reduce((total, one) => total + of(one), 0)
  const [chars, elements] = [sum(({ hidden }) => hidden.chars), sum(({ hidden }) => hidden.elements)]
  const [pictures, left, unnamed] = [sum((one) => one.pictures), sum((one) => one.left), sum((one) => one.unnamed)]
  return {
    ...(chars > 0 && { hidden: { chars, elements } }),
    ...(pictures > 0 && { pictures }),
    ...(frames.hidden + frames.unread > 0 && { frames: { hidden: frames.hidden, unread: frames.unread } }),
    ...(left > 0 && { unreadElements: left }),
    ...(closed > 0 && { closedElements: closed }),
    ...(unnamed > 0 && { unnamed }),
    ...(rest > 0 && { rest: { chars: rest } }),
  }
}

const weightOf = (summary: WalkSummary | undefined): number => (summary?.weights ?? []).reduce((sum, [, chars]) => sum + chars, 0)

const oneLine = (address: string): string => address.replace(/[\s⟦⟧]/g, '').slice(0, 200)

function moved(): Fault {
  return new Fault('conflict', 'The page was read again or has gone elsewhere since this reading', {
    hint: 'Read it again from the start, without a cursor.',
  })
}

/** A page that does not answer holds nobody up. */
function inTime<T>(page: Page, timeoutMs: number, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () =>
        reject(
          new Fault('page-timeout', `The page could not be read within ${timeoutMs} ms`, {
            hint: 'Its scripts may never rest. Raise limits.browserTimeoutMs if it needs longer.',
          }),
        ),
      timeoutMs,
    )
    act()
      .then(resolve, (cause: unknown) => reject(cause instanceof Fault ? cause : pageFault(cause, page.url(), page.isClosed())))
      .finally(() => clearTimeout(late))
  })
}

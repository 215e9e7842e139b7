import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import type { KnownLinks, MadeLink } from '../../contracts/links.ts'
import { foldName } from '../../text/fold-name.ts'
import { isInRoot, namesOn } from '../../text/root-path.ts'
import { secretOn, secretsIn } from '../../text/secret-files.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { openPace } from '../../text/steps.ts'
import { polled } from '../inotify-pressure.ts'
import type { PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'
import { openGitStarts } from './git-starts.ts'
import { watchLinks, type LinkBounds, type Links } from './link-watch.ts'
import { openStarted } from './started.ts'

export interface LinkNames {
  /** All links as they are now, and those that are about to be made. */
  scan(made: readonly MadeLink[]): Promise<KnownLinks>
  /** Tells the rules what links that are called like secrets lead to; little to wait for where no link has changed. */
  hideLinkedSecrets(): Promise<void> | undefined
  changed(): void
  close(): void
}

/** Where a link leads: each place on its way that is in the project, with the name that this place gets by it. */
interface Way {
  places: { place: string; name: string }[]
  /** Where it ends, where that is in the project. */
  end?: string
  /** It goes through folders nobody follows, so it must be gone again each time. */
  loose: boolean
}

/** Names by the folded place they lead to. */
type Names = Map<string, string[]>

const mostHops = 40
const mostNames = 1_000
/** So many that lead through the outside are gone again with each look; more of them only once in a while. */
const mostLoose = 256
const freshMs = 1_000
const before = process.platform === 'win32' ? '' : '/'

/**
 * What another root has to do with a place, given by its names from the top of the machine: the place lies in it, or around it and then `tail`
 * leads from there to the root.
 */
export type Elsewhere = (at: readonly string[]) => { place: string; tail: readonly string[] }[]

/** Under which other names the files of a project are known by way of its links. `judges` are told what is a secret by way of one. */
export function openLinkNames(
  root: Root,
  rules: PathRules,
  judges: Pick<PathRules, 'hideBehind'> = rules,
  elsewhere: Elsewhere = () => [],
  bounds?: Partial<LinkBounds>,
): LinkNames {
  const watch = watchLinks(root, rules, isSecretLink, bounds)
  const ofGit = openGitStarts(root.path)
  const started = openStarted(root.path)
  const top = root.path.split('/').filter((name) => name !== '')
  let known = { version: -1, firm: new Map() as Names, loose: [] as MadeLink[] }
  /** Which links the rules were told of, and when. */
  let judged = { version: -1, at: Number.NEGATIVE_INFINITY }
  let outside = { at: Number.NEGATIVE_INFINITY, names: new Map() as Names }

  const goThrough = async (
    links: Iterable<MadeLink>,
    linkAt: LinkAt,
    each: (link: MadeLink, way: Way) => void,
  ): Promise<void> => {
    const pace = openPace()
    for (const link of links) {
      each(link, follow(link, linkAt))
      if (pace.due()) await pace.turn()
    }
  }

  type LinkAt = (path: string) => string | undefined
  const follow = (link: MadeLink, linkAt: LinkAt): Way => {
    const places: Way['places'] = []
    let at = [...top, ...link.path.split('/').slice(0, -1)]
    const ahead = link.target.split('/').toReversed()
    if (link.target.startsWith('/')) at.length = 0
    /** Some of it is no text, so only the system can follow it. */
    let isRaw = link.target.includes('\ufffd')
    let loose = false
    let hops = 0
    /** So many folders of the way in the project are known to be followed: each is looked at once, however deep it goes. */
    let open = 0
    const up = (to = at.length - 1): void => {
      at.length = Math.max(0, to)
      open = Math.min(open, Math.max(0, at.length - top.length))
    }
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === '' || name === '.') continue
      if (name === '..') {
        up()
        continue
      }
      at.push(name)
      if (isAbove(at)) continue
      const inside = isBelow(at) ? at.slice(top.length) : undefined
      while (inside && open < inside.length - 1 && rules.refuseByName(inside.slice(0, open + 1)) === undefined) open++
      const isFollowed = inside !== undefined && open >= inside.length - 1
      if (!isFollowed) loose = true
      const next = isFollowed ? linkAt(inside.join('/')) : readLink(before + at.join('/'))
      if (next === undefined) continue
      // Whoever replaces a link on the way replaces what lies behind all of it.
      if (inside) places.push({ place: inside.join('/'), name: link.path })
      if (++hops > mostHops) return { places, loose }
      isRaw ||= next.includes('\ufffd')
      up(next.startsWith('/') ? 0 : undefined)
      ahead.push(...next.split('/').toReversed())
    }
    if (isRaw) at = realNames([root.path, link.path || link.target].join('/')) ?? at
    if (isBelow(at)) {
      const end = at.slice(top.length).join('/')
      return { places: [...places, { place: end, name: link.path }], end, loose: loose || isRaw }
    }
    // A folder that the project lies in: all of it has a name behind that.
    if (isAbove(at)) places.push({ place: '', name: [link.path, ...top.slice(at.length)].join('/') })
    for (const { place, tail } of elsewhere(at)) places.push({ place, name: [link.path, ...tail].join('/') })
    return { places, loose: loose || isRaw }
  }
  const isBelow = (at: readonly string[]): boolean => top.every((one, index) => at[index] === one)
  const isAbove = (at: readonly string[]): boolean => at.every((one, index) => top[index] === one)

  const resolve = async ({ targets, version }: Links): Promise<void> => {
    const linkAt: LinkAt = (path) => targets.get(path)
    if (known.version !== version) {
      const next: typeof known = { version, firm: new Map(), loose: [] }
      const links = [...targets].map(([path, target]) => ({ path, target }))
      await goThrough(links, linkAt, (link, way) => (way.loose ? next.loose.push(link) : add(next.firm, way)))
      known = next
      outside = { at: Number.NEGATIVE_INFINITY, names: new Map() }
    }
    if (known.loose.length > mostLoose && performance.now() - outside.at < freshMs) return
    const names: Names = new Map()
    if (known.loose.length) await goThrough(known.loose, linkAt, (_, way) => add(names, way))
    outside = { at: performance.now(), names }
  }

  const isJudged = (): boolean => {
    const isRecent =
      known.loose.length === 0 ||
      performance.now() - judged.at < freshMs ||
      !known.loose.some(({ path }) => isSecretLink(path.split('/')))
    return isRecent && watch.isUnchanged(judged.version)
  }

  const inTurn = openSerialQueue()
  const judgeNow = (): Promise<void> => {
    // One after the other: what an earlier look found must not take the place of what a later one did.
    return inTurn(async () => {
      if (isJudged()) return
      const links = await watch.scan()
      const at = performance.now()
      await resolve(links)
      const { version, firm } = known
      const found = await secretPlaces([firm, outside.names])
      judged = { version, at }
      judges.hideBehind(found)
    })
  }
  return {
    async scan(given) {
      const links = await watch.scan()
      await resolve(links)
      const { targets, all, starterIndex } = links
      const { firm } = known
      const loose = outside.names
      const git = await ofGit(starterIndex.repositories)
      const made = [...git.links, ...given]
      const mine: Names = new Map()
      const madeAt = new Map(made.map(({ path, target }) => [path, target]))
      const linkAt: LinkAt = (path) => madeAt.get(path) ?? targets.get(path)
      await goThrough(made, linkAt, (_, way) => add(mine, way))
      const tables = [firm, loose, mine].filter((table) => table.size > 0)
      const leadsTo: KnownLinks['leadsTo'] = (path) => {
        if (targets.size + made.length === 0) return path
        return follow({ path: '', target: path }, linkAt).end ?? path
      }
      return {
        all,
        namesOf: (path) => (tables.length ? namesOf(path, tables) : { names: [], all: true }),
        leadsTo,
        namedBy: await started.findNamed(
          starterIndex,
          git,
          given.map(({ path }) => ({ path, at: `${root.path}/${leadsTo(path)}` })),
        ),
      }
    },
    hideLinkedSecrets() {
      // A link that was made before the call came is in the system's queue at least: the rules hold only once that was heard.
      return polled().then(() => (isJudged() ? undefined : judgeNow()))
    },
    changed: watch.changed,
    close: watch.close,
  }
}

function add(table: Names, { places }: Way): void {
  for (const { place, name } of places) {
    const key = place.split('/').map(foldName).join('/')
    const names = table.get(key)
    if (names) names.push(name)
    else table.set(key, [name])
  }
}

/** Every other name of a path, those behind names of its folders too. */
function namesOf(path: string, tables: readonly Names[]): { names: string[]; all: boolean } {
  const found = new Map<string, readonly string[]>([[path, []]])
  for (const [name, through] of found) {
    const parts = namesOn(name)
    const folded = parts.map(foldName)
    // What lies in another root is not in this one.
    for (let length = isInRoot(name) ? 1 : 0; length <= parts.length; length++) {
      const place = folded.slice(0, length).join('/')
      for (const table of tables)
        for (const link of table.get(place) ?? []) {
          // Through the same link twice is nothing new.
          if (through.includes(link)) continue
          if (found.size > mostNames) return { names: [...found.keys()].slice(1), all: false }
          const other = [link, ...parts.slice(length)].join('/')
          if (!found.has(other)) found.set(other, [...through, link])
        }
    }
  }
  return { names: [...found.keys()].slice(1), all: true }
}

/** Called like a secret, or in a folder of them. */
const isSecretLink = (names: readonly string[]): boolean => secretOn(names) !== undefined || secretsIn(names).length > 0

/** The places that have the name of a secret by way of a link, and what in there would have one. */
async function secretPlaces(tables: readonly Names[]): Promise<Set<string>> {
  const found = new Set<string>()
  const pace = openPace()
  for (const table of tables)
    for (const [place, names] of table)
      for (const name of place === '' ? [] : names) {
        if (pace.due()) await pace.turn()
        const parts = name.split('/')
        if (secretOn(parts) !== undefined) found.add(place)
        for (const below of secretsIn(parts)) found.add(`${place}/${foldName(below)}`)
      }
  return found
}

function realNames(at: string): string[] | undefined {
  try {
    return realpathSync(at)
      .split('/')
      .filter((name) => name !== '')
  } catch {
    return undefined
  }
}

function readLink(at: string): string | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(at) : undefined
  } catch {
    return undefined
  }
}

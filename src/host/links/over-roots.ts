import type { KnownLinks } from '../../contracts/links.ts'
import { belowRoot, isInRoot, namesOn, rootMark, rootOf } from '../../text/root-path.ts'
import type { PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'
import { openLinkNames, type Elsewhere, type LinkNames } from './link-names.ts'

/** Names that one path is looked at by. */
const mostNames = 1_000

/**
 * The links of the project and of its further roots, as one. Each root is followed by itself and knows its own paths from its own top; a link
 * that leads into another root gives a name to what lies there.
 */
export function openLinksOver(project: Root, rules: PathRules, judges: Pick<PathRules, 'hideBehind'>): LinkNames {
  const roots: [string, Root][] = [['', project], ...(project.others ?? [])]
  if (roots.length === 1) return openLinkNames(project, rules, judges)
  const hidden = new Map<string, ReadonlySet<string>>()
  const ends = roots.map(([mark, { path }]) => ({ mark: outside(mark), way: path.split('/').filter((name) => name !== '') }))
  const each = new Map(
    roots.map(([mark, root]) => {
      const others = ends.filter((end) => end.mark !== outside(mark))
      const elsewhere: Elsewhere = (at) =>
        others
          .filter(({ way }) => way.every((name, index) => index >= at.length || at[index] === name))
          .map(({ mark: other, way }) => ({ place: [other, ...at.slice(way.length)].join('/'), tail: way.slice(at.length) }))
      const hideBehind = (places: ReadonlySet<string>): void => {
        hidden.set(mark, new Set([...places].map((place) => known(mark, place))))
        judges.hideBehind(new Set([...hidden.values()].flatMap((set) => [...set])))
      }
      return [mark, openLinkNames(root, rules, { hideBehind }, elsewhere)] as const
    }),
  )
  const marks = [...each.keys()]
  return {
    async scan(made) {
      const scanned = await Promise.all(
        [...each].map(async ([mark, links]) => {
          const own = made.filter(({ path }) => (rootOf(path) ?? '') === mark)
          return [mark, await links.scan(own.map((link) => ({ ...link, path: belowRoot(link.path) })))] as const
        }),
      )
      const by = new Map<string, KnownLinks>(scanned)
      const linksOf = (path: string): [string, KnownLinks] => {
        const mark = rootOf(path) ?? ''
        return [mark, by.get(mark) as KnownLinks]
      }
      return {
        all: scanned.every(([, { all }]) => all),
        // Those in its own root first, then those that other roots have for any of them.
        namesOf(path) {
          const [home, links] = linksOf(path)
          const { all: ownAll, names } = links.namesOf(belowRoot(path))
          let all = ownAll
          const own = [path, ...names.map((name) => known(home, name))]
          const found = new Set(own)
          for (const one of own)
            for (const [mark, others] of scanned) {
              if (mark === home || found.size > mostNames) continue
              const more = others.namesOf(seenFrom(mark, one))
              all &&= more.all
              for (const name of more.names) found.add(known(mark, name))
            }
          return { names: [...found].slice(1), all: all && found.size <= mostNames }
        },
        leadsTo(path) {
          const [mark, links] = linksOf(path)
          return known(mark, links.leadsTo(belowRoot(path)))
        },
        namedBy(path) {
          const [mark, links] = linksOf(path)
          const by = links.namedBy(belowRoot(path))
          return by && { ...by, starter: known(mark, by.starter) }
        },
      }
    },
    hideLinkedSecrets() {
      const waits = marks.flatMap((mark) => each.get(mark)?.hideLinkedSecrets() ?? [])
      return waits.length ? Promise.all(waits).then(() => undefined) : undefined
    },
    changed() {
      for (const links of each.values()) links.changed()
    },
    close() {
      for (const links of each.values()) links.close()
    },
  }
}

/** What a root is called in another: there the project needs a mark as well. */
const outside = (mark: string): string => mark || rootMark('')

function seenFrom(mark: string, path: string): string {
  if ((rootOf(path) ?? '') === mark) return belowRoot(path)
  return isInRoot(path) ? path : `${rootMark('')}/${path}`
}

/** A path that a root tells of, as everybody writes it. */
function known(mark: string, path: string): string {
  if (isInRoot(path)) return namesOn(path)[0] === rootMark('') ? belowRoot(path) : path
  if (mark === '') return path
  return path === '' ? mark : `${mark}/${path}`
}

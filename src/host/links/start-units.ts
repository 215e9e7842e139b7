import { homedir } from 'node:os'
import type { NamedBy } from '../../contracts/links.ts'
import { joined, longestStarter, moduleNames, namesIn, type NamesIn } from '../../text/files-that-run/names-in.ts'
import { callers } from '../../text/files-that-run/starters.ts'
import { foldPath } from '../../text/fold-name.ts'
import type { Pace } from '../../text/steps.ts'

/** Something that is started together: what it names, and whom it calls. */
export interface StartUnit {
  starter: string
  included: boolean
  /** The folder that what it says counts from. */
  base: string
  /** It is longer than what is looked at. */
  cut: boolean
  names: NamesIn
  calls: readonly string[]
}

export type Named = (path: string) => NamedBy | undefined

export function startUnitOf(starter: string, text: string, bases: readonly string[], root: string): StartUnit {
  const home = homedir()
  const here = text.replaceAll(/(?<![\w/])(?:~|\$HOME|\$\{HOME\})\//g, () => `${home}/`).replaceAll(`${root}/`, () => ' ')
  // What is told by its whole path counts from the top.
  const names = namesIn(here, here === text ? bases : [...new Set([...bases, ''])])
  const calls = Object.keys(callers).filter((key) => callers[key]?.test(here))
  return { starter, included: false, base: bases[0] ?? '', cut: here.length > longestStarter, names, calls }
}

/** What is taken in: it is part of the starter, and calls nobody by a name. */
export function includedUnit(starter: string, words: readonly string[], bases: readonly string[], root: string): StartUnit {
  const unit = startUnitOf(starter, words.join('\n'), bases, root)
  // `mk/*.txt`: anything in there may be meant.
  for (const word of unit.names.words)
    if (word.includes('*'))
      for (const base of bases) unit.names.below.add(joined(base, word.slice(0, word.indexOf('*')).replace(/[^/]*$/, '')) ?? '')
  unit.names.below.delete('')
  return { ...unit, included: true, calls: [], cut: false }
}

/** Who names a path, of all these. */
export async function namedIn(
  units: readonly StartUnit[],
  unread: { starter: string; base: string }[],
  pace: Pace,
): Promise<Named> {
  const tables = {
    whole: new Map<string, StartUnit>(),
    modules: new Map<string, StartUnit>(),
    ends: new Map<string, StartUnit>(),
    below: new Map<string, StartUnit>(),
  }
  for (const unit of units) {
    const { starter, base, cut, names } = unit
    if (cut) unread.push({ starter, base })
    for (const key of ['whole', 'modules', 'ends', 'below'] as const)
      for (const name of names[key]) if (!tables[key].has(name)) tables[key].set(name, unit)
    if (pace.due()) await pace.turn()
  }
  const { whole, modules, ends, below } = tables
  const aboveOf = (path: string): StartUnit | undefined => {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const found = below.get(path.slice(0, at))
      if (found !== undefined) return found
    }
    return undefined
  }
  const byEnd = (path: string): StartUnit | undefined => {
    for (let from = 0; ; from = path.indexOf('/', from) + 1) {
      const found = ends.get(path.slice(from))
      if (found !== undefined || !path.includes('/', from)) return found
    }
  }
  return (given) => {
    const path = foldPath(given)
    const named = whole.get(path)
    if (named !== undefined) return by(named, 'whole')
    for (const name of modules.size > 0 ? moduleNames(path) : []) {
      const starter = modules.get(name)
      if (starter !== undefined) return by(starter, name.startsWith('*/') ? 'end' : 'whole')
    }
    const ended = ends.size > 0 ? (byEnd(path) ?? byEnd(path.replace(/\.[^./]+$/, '.'))) : undefined
    const around = ended ?? (below.size > 0 ? aboveOf(path) : undefined)
    if (around !== undefined) return by(around, 'end')
    const large = unread.find(({ base }) => base === '' || path.startsWith(`${base}/`))
    return large && { starter: large.starter, included: false, how: 'unread' }
  }
}

const by = ({ starter, included }: StartUnit, how: NamedBy['how']): NamedBy => ({ starter, included, how })

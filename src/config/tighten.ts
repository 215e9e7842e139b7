import type { Loosening, Tighter } from '../contracts/project-settings.ts'

/** What a setting declares about itself. */
export interface Direction {
  tighter: Tighter
  /** What a looser value does, in words; `{}` stands for it. */
  loosens?: string
  /** A list whose emptiness stands for everything there is. */
  emptyIsAll?: boolean
}

/** Whether one folder lies inside another, both as a setting writes them. */
export type Inside = (folder: string, other: string) => boolean

export interface Tightened {
  value: unknown
  loosening?: Loosening
  /** What counts once that is trusted, where it is not just what the file says. */
  whole?: unknown
}

/** The part of a project's value that tightens, and what the rest of it would loosen. */
export function tighten(key: string, direction: Direction, base: unknown, wanted: unknown, inside: Inside): Tightened {
  const { tighter } = direction
  const looser = (value: unknown, what: unknown): { value: unknown; loosening: Loosening } => ({
    value,
    loosening: { key, from: base, to: wanted, ...inWords(direction, what) },
  })
  if (Array.isArray(base)) {
    if (tighter === 'more') {
      const lost = without(base, wanted as string[])
      const both = [...base, ...without(wanted as string[], base)]
      return lost.length ? looser(both, lost) : { value: wanted }
    }
    if (tighter === 'fewer') return fewer(direction, base, wanted as string[], looser)
  }
  switch (tighter) {
    case 'each':
      return each(key, direction, base as Table, wanted as Table)
    case 'neutral':
      return { value: wanted }
    case 'lower':
      return (wanted as number) <= (base as number) ? { value: wanted } : looser(base, wanted)
    case 'on':
    case 'off':
      return wanted === base || wanted === (tighter === 'on') ? { value: wanted } : looser(base, wanted)
    case 'inside':
      return wanted === base || inside(wanted as string, base as string) ? { value: wanted } : looser(base, wanted)
    default: {
      const rank = (value: unknown): number =>
        Array.isArray(tighter) ? tighter.findIndex((group) => group.includes(value)) : value === base ? 0 : 1
      return rank(wanted) <= rank(base) ? { value: wanted } : looser(base, wanted)
    }
  }
}

type Table = Readonly<Record<string, object>>

/** Nothing of the person's own stands in it, nor is replaced by it: what they wrote may sign in somewhere. */
function each(key: string, direction: Direction, base: Table, wanted: Table): Tightened {
  const gained = Object.entries(wanted).filter(([name]) => !Object.hasOwn(base, name))
  if (gained.length === 0) return { value: base }
  const own = gained.map(([name, value]) => [name, { ...value, ofProject: true }] as const)
  const entries = gained.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  const { says, does } = inWords(direction, entries)
  return {
    value: base,
    loosening: { key, from: null, to: Object.fromEntries(gained), says, does, entries },
    whole: { ...Object.fromEntries(own), ...base },
  }
}

function fewer(
  { emptyIsAll = false }: Direction,
  base: readonly string[],
  wanted: readonly string[],
  looser: (value: unknown, what: unknown) => { value: unknown; loosening: Loosening },
): { value: unknown; loosening?: Loosening } {
  const gained = without(wanted, base)
  if (!emptyIsAll) return gained.length ? looser(without(wanted, gained), gained) : { value: wanted }
  if (base.length === 0) return { value: wanted }
  if (wanted.length === 0) return looser(base, ['all there are'])
  // An empty list would be all of them, and a name may be part of another's set: what is in both is said as such.
  const both = wanted.flatMap((one) => (base.includes(one) ? [one] : base.map((other) => `${other}+${one}`)))
  return gained.length ? looser(both, gained) : { value: wanted }
}

function without(list: readonly string[], others: readonly string[]): string[] {
  const gone = new Set(others)
  return list.filter((one) => !gone.has(one))
}

/** All of it: what a person is not shown, they cannot agree to. Texts are quoted, so that none passes for two, nor for our words. */
function inWords({ tighter, loosens = 'says {}' }: Direction, what: unknown): Pick<Loosening, 'says' | 'does' | 'entries'> {
  const put = (words: string): string => loosens.replace('{}', () => words)
  if (!Array.isArray(what)) {
    // One of a few words that we chose is ours.
    const says = put(typeof what === 'string' && !Array.isArray(tighter) ? JSON.stringify(what) : String(what))
    return { says, does: says }
  }
  const entries = what.map((one) => JSON.stringify(one))
  return { says: put(entries.join(', ')), does: put(entries.length === 1 ? 'one entry' : `${entries.length} entries`), entries }
}

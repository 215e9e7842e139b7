import type { Pace } from '../../text/steps.ts'

/** Boxes in rows, and lines that go around them: enough of the usual layered layout for a map of scenes. */
export interface Layout {
  width: number
  height: number
  boxes: Map<string, { x: number; y: number }>
  /** For each edge the points it passes, from its start to its end. */
  lines: { x: number; y: number }[][]
}

export const box = { width: 180, height: 44 }
/** Most lanes of lines that pass rows; further ones go straight, over whatever stands there. */
const mostLanes = 10_000
const gap = { across: 40, down: 96, margin: 36, lane: 26 }

interface Spot {
  id: string
  width: number
  x: number
}

/** `edges` are pairs of names; the first of `names` stands on top. */
export async function layOut(
  names: readonly string[],
  edges: readonly (readonly [string, string])[],
  pace: Pace,
): Promise<Layout> {
  const levels = levelsOf(names, edges)
  const rows: Spot[][] = []
  const put = (id: string, level: number, width: number): void => void (rows[level] ??= []).push({ id, width, x: 0 })
  for (const name of names) put(name, levels.get(name) ?? 0, box.width)
  // A line over several rows gets a lane in each of them, so that it does not run through a box.
  let lanes = 0
  const chains = edges.map(([from, to], index) => {
    const [a, b] = [levels.get(from) ?? 0, levels.get(to) ?? 0]
    const [top, bottom] = a <= b ? [from, to] : [to, from]
    const chain = [top]
    const passed = Math.max(0, Math.abs(a - b) - 1)
    if (lanes + passed > mostLanes) return [top, bottom]
    lanes += passed
    for (let level = Math.min(a, b) + 1; level < Math.max(a, b); level++) {
      put(`${index}@${level}`, level, gap.lane)
      chain.push(`${index}@${level}`)
    }
    return [...chain, bottom]
  })
  const links = chains.flatMap((chain) => chain.slice(1).map((id, index) => [chain[index] as string, id] as const))
  await order(rows, links, pace)
  const width = place(rows)
  const spots = new Map(rows.flatMap((row, level) => row.map((spot) => [spot.id, { ...spot, level }] as const)))
  const y = (level: number): number => gap.margin + level * (box.height + gap.down)
  const boxes = new Map(names.map((name) => [name, { x: spots.get(name)?.x ?? 0, y: y(levels.get(name) ?? 0) }]))
  const lines = chains.map((chain, index) => {
    const points = chain.map((id) => {
      const spot = spots.get(id) as Spot & { level: number }
      return { x: spot.x + spot.width / 2, y: y(spot.level) + box.height / 2 }
    })
    return (levels.get(edges[index]?.[0] ?? '') ?? 0) <= (levels.get(edges[index]?.[1] ?? '') ?? 0) ? points : points.toReversed()
  })
  return { width: width + 2 * gap.margin, height: y(rows.length - 1) + box.height + gap.margin, boxes, lines }
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

/** How far down each name stands: below everything that leads to it, except what leads back. */
function levelsOf(names: readonly string[], edges: readonly (readonly [string, string])[]): Map<string, number> {
  const next = new Map<string, string[]>(names.map((name) => [name, []]))
  for (const [from, to] of edges) if (from !== to) next.get(from)?.push(to)
  const state = new Map<string, 'open' | 'done'>()
  const order: string[] = []
  const forward = new Map<string, string[]>()
  // Depth first without recursion, so that a game of ten thousand scenes in a row is fine too.
  for (const first of names) {
    const stack: { name: string; rest: readonly string[]; at: number }[] = []
    const enter = (name: string): void => {
      state.set(name, 'open')
      stack.push({ name, rest: next.get(name) ?? [], at: 0 })
    }
    if (!state.has(first)) enter(first)
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const to = top.rest[top.at++]
      if (to === undefined) {
        state.set(top.name, 'done')
        order.push(top.name)
        stack.pop()
      } else if (state.get(to) !== 'open') {
        add(forward, top.name, to)
        if (!state.has(to)) enter(to)
      }
    }
  }
  const levels = new Map(names.map((name) => [name, 0]))
  for (const name of order.toReversed())
    for (const to of forward.get(name) ?? []) levels.set(to, Math.max(levels.get(to) ?? 0, (levels.get(name) ?? 0) + 1))
  return levels
}

/** Each row in the order of what it is tied to in the row above, then below, a few times. */
async function order(rows: Spot[][], links: readonly (readonly [string, string])[], pace: Pace): Promise<void> {
  const ties = { up: new Map<string, string[]>(), down: new Map<string, string[]>() }
  for (const [top, bottom] of links) {
    add(ties.up, bottom, top)
    add(ties.down, top, bottom)
  }
  const sort = async (row: Spot[], other: Spot[] | undefined, tied: Map<string, string[]>): Promise<void> => {
    if (pace.due()) await pace.turn()
    const places = new Map((other ?? []).map(({ id }, index) => [id, index]))
    const pull = new Map(
      row.map(({ id }, index) => {
        const found = (tied.get(id) ?? []).flatMap((one) => places.get(one) ?? [])
        return [id, found.length === 0 ? index : found.reduce((sum, one) => sum + one, 0) / found.length]
      }),
    )
    row.sort((one, two) => (pull.get(one.id) ?? 0) - (pull.get(two.id) ?? 0))
  }
  for (let round = 0; round < 4; round++) {
    for (let level = 1; level < rows.length; level++) await sort(rows[level] ?? [], rows[level - 1], ties.up)
    for (let level = rows.length - 2; level >= 0; level--) await sort(rows[level] ?? [], rows[level + 1], ties.down)
  }
}

/** Rows side by side around one middle; gives the width of the widest. */
function place(rows: Spot[][]): number {
  const widths = rows.map((row) => row.reduce((sum, { width }) => sum + width + gap.across, -gap.across))
  const widest = widths.reduce((most, one) => Math.max(most, one), box.width)
  rows.forEach((row, level) => {
    let x = gap.margin + (widest - (widths[level] ?? 0)) / 2
    for (const spot of row) {
      spot.x = x
      x += spot.width + gap.across
    }
  })
  return widest
}

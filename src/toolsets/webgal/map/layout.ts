import type { Pace } from '../../../text/steps.ts'
import { add, levelsOf } from './levels.ts'

/** A scene as the layout sees it. */
export interface Box {
  id: string
  height: number
}

/** A line from one box to another; `port` is how far below the top of its box it begins. */
export interface Line {
  from: string
  to: string
  port: number
}

export interface Layout {
  width: number
  height: number
  boxes: Map<string, { x: number; y: number }>
  /** For each line its path as SVG has it. */
  paths: string[]
}

export const boxWidth = 230
/** Where lines reach a box: beside its name. */
export const entry = 15
const gap = { across: 96, down: 16, band: 40, lane: 7, pass: 10 }
const pitch = boxWidth + gap.across
/** A line over more columns than this goes around, in the corridor below its band. */
const longestPass = 6
/** Lines that lead to the same box share a lane; beyond so many, lanes are shared by anybody. */
const mostLanes = 20
/** Most places where lines pass between boxes. */
const mostPasses = 10_000
/** Columns a band has at least, where there are several. */
const shortest = 5
/** As wide as a screen is, compared with its height. */
const aspect = 1.6

/** What stands in a column: a box, or a place where a line passes. */
interface Spot {
  id: string
  height: number
  y: number
}

/**
 * Boxes in columns, each right of those that lead to it; the columns stand in bands one below the other, as words do in lines, so that a
 * story of a hundred scenes in a row is no strip. Lines pass between the boxes, never through them.
 */
export async function layOut(boxes: readonly Box[], lines: readonly Line[], pace: Pace): Promise<Layout> {
  const columns = await columnsOf(boxes, lines, pace)
  const perBand = columnsPerBand(columns)
  const at = new Map(columns.flatMap((column, index) => column.map(({ id }) => [id, index] as const)))
  const bandOf = (column: number): number => Math.floor(column / perBand)
  let passes = 0
  const chains = lines.map(({ from, to }, index): string[] | undefined => {
    const [a, b] = [at.get(from) ?? 0, at.get(to) ?? 0]
    if (b <= a || bandOf(a) !== bandOf(b) || b - a > longestPass || (b - a > 1 && passes > mostPasses)) return undefined
    const chain = [from]
    for (let column = a + 1; column < b; column++) {
      const id = `${index}@${column}`
      columns[column]?.push({ id, height: gap.pass, y: 0 })
      chain.push(id)
      passes++
    }
    return [...chain, to]
  })
  const ties = tiesOf(chains)
  await order(columns, ties, pace)
  const heights = await settle(columns, ties, perBand, pace)
  const corridors = corridorsOf(lines, chains, at, bandOf, heights.length)
  const tops: number[] = []
  let y = 0
  for (const [band, height] of heights.entries()) {
    tops.push(y)
    y += height + (corridors.heights[band] ?? 0) + (band + 1 < heights.length ? gap.band : 0)
  }
  const spots = new Map<string, { x: number; y: number }>()
  for (const [index, column] of columns.entries())
    for (const spot of column)
      spots.set(spot.id, { x: (index % perBand) * pitch + gap.across / 2, y: spot.y + (tops[bandOf(index)] ?? 0) })
  const paths = lines.map(({ from, to, port }, index) => {
    const [start, end] = [spots.get(from) ?? { x: 0, y: 0 }, spots.get(to) ?? { x: 0, y: 0 }]
    const out = { x: start.x + boxWidth, y: start.y + port }
    const into = { x: end.x, y: end.y + entry }
    const chain = chains[index]
    if (chain)
      return through(
        out,
        chain.slice(1, -1).map((id) => spots.get(id) ?? out),
        into,
      )
    const { band, lane, side } = corridors.of(index)
    const along = (tops[band] ?? 0) + (heights[band] ?? 0) + gap.lane * (lane + 1)
    return around(out, into, along, side)
  })
  const used = Math.min(columns.length, perBand)
  return {
    width: Math.max(1, used) * pitch,
    height: y,
    boxes: new Map(boxes.map(({ id }) => [id, spots.get(id) ?? { x: 0, y: 0 }])),
    paths,
  }
}

/** Levels, each in the order of what it is tied to; one that is too high becomes several columns. */
async function columnsOf(boxes: readonly Box[], lines: readonly Line[], pace: Pace): Promise<Spot[][]> {
  const levels = levelsOf(
    boxes.map(({ id }) => id),
    lines.map(({ from, to }) => [from, to] as const),
  )
  const rows: Spot[][] = []
  for (const { id, height } of boxes) (rows[levels.get(id) ?? 0] ??= []).push({ id, height, y: 0 })
  const forward = lines.filter(({ from, to }) => (levels.get(from) ?? 0) < (levels.get(to) ?? 0))
  await order(rows, tiesOf(forward.map(({ from, to }) => [from, to])), pace)
  const area = boxes.reduce((sum, { height }) => sum + (height + gap.down) * pitch, 0)
  const most = Math.max(500, Math.sqrt(area / aspect) * 1.2)
  return rows.flatMap((row) => {
    const columns: Spot[][] = [[]]
    let height = 0
    for (const spot of row) {
      if (height + spot.height > most && height > 0) {
        columns.push([])
        height = 0
      }
      columns.at(-1)?.push(spot)
      height += spot.height + gap.down
    }
    return columns
  })
}

const heightOf = (column: readonly Spot[]): number => column.reduce((sum, { height }) => sum + height + gap.down, -gap.down)

/** So many that the whole comes nearest to the shape of a screen. */
function columnsPerBand(columns: readonly Spot[][]): number {
  const heights = columns.map(heightOf)
  let best = { columns: Math.max(1, columns.length), off: Number.POSITIVE_INFINITY }
  for (let bands = 1; bands <= Math.min(60, columns.length); bands++) {
    const per = Math.ceil(columns.length / bands)
    // A short story is easier to read in one line, however wide.
    if (per < shortest && bands > 1) break
    let height = 0
    for (let from = 0; from < heights.length; from += per) {
      let tallest = 0
      for (let index = from; index < Math.min(heights.length, from + per); index++)
        tallest = Math.max(tallest, heights[index] ?? 0)
      height += tallest + gap.band * 2
    }
    const off = Math.abs(Math.log((per * pitch) / height / aspect))
    if (off < best.off) best = { columns: per, off }
  }
  return best.columns
}

interface Ties {
  before: Map<string, string[]>
  after: Map<string, string[]>
}

function tiesOf(chains: readonly (readonly string[] | undefined)[]): Ties {
  const ties: Ties = { before: new Map(), after: new Map() }
  for (const chain of chains)
    for (let index = 1; index < (chain?.length ?? 0); index++) {
      const [one, two] = [chain?.[index - 1] ?? '', chain?.[index] ?? '']
      add(ties.before, two, one)
      add(ties.after, one, two)
    }
  return ties
}

/** Each column in the order of what it is tied to before, then behind, a few times. */
async function order(columns: Spot[][], ties: Ties, pace: Pace): Promise<void> {
  const sort = async (column: Spot[], other: readonly Spot[], tied: Map<string, string[]>): Promise<void> => {
    if (pace.due()) await pace.turn()
    const places = new Map(other.map(({ id }, index) => [id, index]))
    const pull = new Map(
      column.map(({ id }, index) => {
        const found = (tied.get(id) ?? []).flatMap((one) => places.get(one) ?? [])
        return [id, found.length === 0 ? index : found.reduce((sum, one) => sum + one, 0) / found.length]
      }),
    )
    column.sort((one, two) => (pull.get(one.id) ?? 0) - (pull.get(two.id) ?? 0))
  }
  for (let round = 0; round < 4; round++) {
    for (let index = 1; index < columns.length; index++) await sort(columns[index] ?? [], columns[index - 1] ?? [], ties.before)
    for (let index = columns.length - 2; index >= 0; index--)
      await sort(columns[index] ?? [], columns[index + 1] ?? [], ties.after)
  }
}

/** Moves every spot towards what it is tied to, its order kept; gives the height of each band. */
async function settle(columns: Spot[][], ties: Ties, perBand: number, pace: Pace): Promise<number[]> {
  const spots = new Map(columns.flatMap((column) => column.map((spot) => [spot.id, spot] as const)))
  for (const column of columns) pack(column)
  for (let round = 0; round < 4; round++)
    for (const column of round % 2 === 0 ? columns : columns.toReversed()) {
      if (pace.due()) await pace.turn()
      const wanted = column.map(({ id, y }) => {
        const tied = [...(ties.before.get(id) ?? []), ...(ties.after.get(id) ?? [])]
        return tied.length === 0 ? y : tied.reduce((sum, one) => sum + (spots.get(one)?.y ?? y), 0) / tied.length
      })
      // Pushed down from above, and up from below: both keep the order, and so does the middle of both.
      const down: number[] = []
      for (const [index, { y }] of column.entries()) {
        const above = column[index - 1]
        const least = above ? (down[index - 1] ?? 0) + above.height + gap.down : Number.NEGATIVE_INFINITY
        down.push(Math.max(wanted[index] ?? y, least))
      }
      let below = Number.POSITIVE_INFINITY
      for (let index = column.length - 1; index >= 0; index--) {
        const spot = column[index] as Spot
        below = Math.min(wanted[index] ?? spot.y, below - spot.height - gap.down)
        spot.y = ((down[index] ?? 0) + below) / 2
      }
    }
  const heights: number[] = []
  for (let from = 0; from < columns.length; from += perBand) {
    const band = columns.slice(from, from + perBand).flat()
    const top = band.reduce((least, { y }) => Math.min(least, y), Number.POSITIVE_INFINITY)
    for (const spot of band) spot.y = Math.round(spot.y - top)
    heights.push(band.reduce((most, { y, height }) => Math.max(most, y + height), 0))
  }
  return heights
}

function pack(column: readonly Spot[]): void {
  let y = 0
  for (const spot of column) {
    spot.y = y
    y += spot.height + gap.down
  }
}

interface Corridors {
  /** Below each band. */
  heights: number[]
  of(line: number): { band: number; lane: number; side: number }
}

/** Lines that go around take the corridor before their goal's band; those to one goal go together. */
function corridorsOf(
  lines: readonly Line[],
  chains: readonly unknown[],
  at: ReadonlyMap<string, number>,
  bandOf: (column: number) => number,
  bands: number,
): Corridors {
  const into = new Map<string, number>()
  for (const { to } of lines) into.set(to, (into.get(to) ?? 0) + 1)
  const lanes = Array.from({ length: bands }, () => new Map<string, number>())
  const found = new Map<number, { band: number; lane: number; side: number }>()
  for (const [index, { from, to }] of lines.entries()) {
    if (chains[index] !== undefined) continue
    const [a, b] = [bandOf(at.get(from) ?? 0), bandOf(at.get(to) ?? 0)]
    const band = b > a ? b - 1 : b
    const taken = lanes[band] ?? new Map<string, number>()
    const bundle = (into.get(to) ?? 0) > 1 ? `to ${to}` : `from ${from}`
    const lane = taken.get(bundle) ?? taken.size % mostLanes
    taken.set(bundle, lane)
    found.set(index, { band, lane, side: lane % 5 })
  }
  return {
    heights: lanes.map((taken) => (taken.size === 0 ? 0 : (Math.min(mostLanes, taken.size) + 2) * gap.lane)),
    of: (line) => found.get(line) ?? { band: 0, lane: 0, side: 0 },
  }
}

type Point = { x: number; y: number }

/** A smooth line that passes between the boxes of the columns it crosses. */
function through(out: Point, passes: readonly Point[], into: Point): string {
  let d = `M${out.x} ${out.y}`
  let from = out
  const curve = (to: Point): void => {
    const middle = (from.x + to.x) / 2
    d += `C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`
    from = to
  }
  for (const { x, y } of passes) {
    curve({ x, y: y + gap.pass / 2 })
    from = { x: x + boxWidth, y: y + gap.pass / 2 }
    d += `H${from.x}`
  }
  curve(into)
  return d
}

/** Out into the gap between columns, along the corridor, and in from the gap before the goal. */
function around(out: Point, into: Point, along: number, side: number): string {
  const [leave, arrive] = [out.x + 12 + side * 6, into.x - 16 - side * 5]
  const round = 6
  const corner = (x: number, y: number, towards: Point, from: Point): string => {
    const before = { x: x + Math.sign(from.x - x) * round, y: y + Math.sign(from.y - y) * round }
    const behind = { x: x + Math.sign(towards.x - x) * round, y: y + Math.sign(towards.y - y) * round }
    return `L${before.x} ${before.y}Q${x} ${y} ${behind.x} ${behind.y}`
  }
  const points = [out, { x: leave, y: out.y }, { x: leave, y: along }, { x: arrive, y: along }, { x: arrive, y: into.y }, into]
  let d = `M${out.x} ${out.y}`
  for (let index = 1; index < points.length - 1; index++) {
    const [before, here, behind] = [points[index - 1] as Point, points[index] as Point, points[index + 1] as Point]
    d += corner(here.x, here.y, behind, before)
  }
  return `${d}L${into.x} ${into.y}`
}

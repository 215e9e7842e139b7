import { printable } from '../../text/printable.ts'
import type { Pace } from '../../text/steps.ts'
import { short } from './finding.ts'
import type { SceneGraph, Way } from './graph.ts'
import { box, layOut } from './layout.ts'

/** More than can be told apart in a picture. */
const mostScenes = 2_000
const mostWays = 5_000

/** The part of a map that is drawn, and what is not, in words. */
export function drawable(graph: SceneGraph): { graph: SceneGraph; leftOut: string[] } {
  const scenes = graph.scenes.slice(0, mostScenes)
  const start = graph.scenes.find(({ name }) => name === graph.start)
  if (start && !scenes.includes(start)) scenes[scenes.length - 1] = start
  const names = new Set(scenes.map(({ name }) => name))
  const between = graph.ways.filter(({ from, to }) => names.has(from) && names.has(to) && from !== to)
  const ways = between.slice(0, mostWays)
  const leftOut = [
    ...(scenes.length < graph.scenes.length
      ? [`drawing: only ${scenes.length} of ${graph.scenes.length} scenes are drawn.`]
      : []),
    ...(ways.length < between.length ? [`drawing: only ${ways.length} of ${between.length} ways are drawn.`] : []),
  ]
  return { graph: { ...graph, scenes, ways, unreachable: graph.unreachable.filter((name) => names.has(name)) }, leftOut }
}

/** Ways between scenes, each pair and word once: what is worth drawing. */
function drawn({ ways }: SceneGraph): Way[] {
  const seen = new Set<string>()
  return ways.filter(({ from, to, by, words }) => {
    const key = JSON.stringify([from, to, by, words])
    if (from === to || seen.has(key)) return false
    seen.add(key)
    return true
  })
}

const title = (name: string): string => name.replace(/\.txt$/, '')
const captionOf = ({ words, when, by }: Way): string =>
  [by === 'callScene' ? 'call' : '', words ?? '', when === undefined ? '' : `[${when}]`].filter(Boolean).join(' ')

const written: Record<string, string> = { '"': '#quot;', '&': '#amp;', '<': '#lt;', '>': '#gt;' }

/** The map as Mermaid, to be pasted into a document. */
export function toMermaid(graph: SceneGraph): string {
  const ids = new Map(graph.scenes.map(({ name }, index) => [name, `s${index}`]))
  const quote = (text: string): string =>
    `"${printable(text.replaceAll('\n', ' ')).replace(/["&<>]/g, (sign) => written[sign] ?? sign)}"`
  const lines = graph.scenes.map(
    ({ name, ends }) => `  ${ids.get(name)}${ends ? `([${quote(title(name))}])` : `[${quote(title(name))}]`}`,
  )
  for (const way of drawn(graph)) {
    const caption = captionOf(way)
    const arrow = way.by === 'callScene' ? '-.->' : '-->'
    lines.push(`  ${ids.get(way.from)} ${arrow}${caption === '' ? '' : `|${quote(caption)}|`} ${ids.get(way.to)}`)
  }
  for (const name of graph.unreachable) lines.push(`  style ${ids.get(name)} stroke-dasharray: 5 5`)
  return ['flowchart TD', ...lines].join('\n') + '\n'
}

/** The map as a picture: every scene below those that lead to it, ways as curves with their words. */
export async function toSvg(graph: SceneGraph, pace: Pace): Promise<string> {
  const ways = drawn(graph)
  const names = [graph.start, ...graph.scenes.map(({ name }) => name).filter((name) => name !== graph.start)]
  const { width, height, boxes, lines } = await layOut(
    names,
    ways.map(({ from, to }) => [from, to] as const),
    pace,
  )
  const shapes = graph.scenes.map(({ name, ends, reachable, deadEnd }) => {
    const { x, y } = boxes.get(name) as { x: number; y: number }
    const kind = !reachable ? 'lost' : ends ? 'end' : deadEnd ? 'dead' : name === graph.start ? 'start' : 'scene'
    return (
      `<g class="${kind}"><rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="${ends ? box.height / 2 : 8}"/>` +
      `<text x="${x + box.width / 2}" y="${y + box.height / 2 + 5}">${escape(short(title(name), 24))}</text></g>`
    )
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif">`,
    '<style>rect{fill:#fff;stroke:#456;stroke-width:1.5}text{text-anchor:middle;font-size:14px;fill:#123}.start rect{fill:#dcefff}.end rect{fill:#e2f5e4;stroke:#2a7a3a}.dead rect{fill:#fdecd2;stroke:#b36b00}.lost rect{fill:#f4f4f4;stroke:#999;stroke-dasharray:5 4}path{fill:none;stroke:#678;stroke-width:1.4}.call path{stroke-dasharray:5 4}.words{font-size:11px;fill:#345;paint-order:stroke;stroke:#fafbfc;stroke-width:4px}</style>',
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#678;stroke:none"/></marker></defs>',
    `<rect width="${width}" height="${height}" style="fill:#fafbfc;stroke:none"/>`,
    ...ways.map((way, index) => curve(way, lines[index] ?? [], index)),
    ...shapes,
    '</svg>',
    '',
  ].join('\n')
}

type Point = { x: number; y: number }

/** A smooth line through its points, leaving and reaching the boxes at their edges, with its words on it. */
function curve(way: Way, points: readonly Point[], index: number): string {
  const down = (points.at(-1)?.y ?? 0) >= (points[0]?.y ?? 0)
  const half = (box.height / 2) * (down ? 1 : -1)
  const spread = ((index % 5) - 2) * 16
  const path = points.map(({ x, y }, place) => {
    if (place === 0) return { x: x + spread, y: y + half }
    return place === points.length - 1 ? { x: x + spread, y: y - half } : { x, y }
  })
  const [first = { x: 0, y: 0 }, ...rest] = path
  let d = `M${first.x} ${first.y}`
  let from = first
  for (const to of rest) {
    const middle = (from.y + to.y) / 2
    d += `C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`
    from = to
  }
  const caption = short(captionOf(way), 26)
  const share = 0.32 + 0.12 * (index % 4)
  const next = rest[0] ?? first
  const words =
    caption === ''
      ? ''
      : `<text class="words" x="${first.x + (next.x - first.x) * share}" y="${first.y + (next.y - first.y) * share + 4}">${escape(caption)}</text>`
  return `<g class="${way.by === 'callScene' ? 'call' : 'way'}"><path d="${d}" marker-end="url(#tip)"/>${words}</g>`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/\p{Cc}/gu, ' ')
}

import { printable } from '../../../text/printable.ts'
import type { Pace } from '../../../text/steps.ts'
import type { SceneGraph, SceneNode, Way } from '../graph.ts'
import { captionOf, drawn, titleOf } from './drawable.ts'
import { fitName, fitText } from './fit-text.ts'
import { boxWidth, entry, layOut, type Layout } from './layout.ts'
import { add } from './levels.ts'
import { fillIn, mapWords, type Lang } from './words.ts'

const size = { head: 30, row: 19, margin: 28, legend: 74, heading: 44, title: 13, caption: 11.5 }
/** A scene with more ways shows the first; all of them stand in the page. */
const mostRows = 7

/** One line in the box of a scene: a choice, a condition, a call, or something that is not there. */
interface Row {
  text: string
  kind: 'way' | 'call' | 'bad' | 'more'
}

interface Card {
  scene: SceneNode
  /** Its place in the list of scenes, by which the page knows it. */
  index: number
  rows: Row[]
  height: number
}

/** Everything between the borders of the picture, and how large that is. */
export interface World {
  width: number
  height: number
  body: string
}

/** Every scene right of those that lead to it, its choices inside its box; scenes that are never reached stand apart, below. */
export async function worldOf(graph: SceneGraph, lang: Lang, pace: Pace): Promise<World> {
  const ways = drawn(graph)
  const { cards, ports } = cardsOf(graph, ways, lang)
  const isReached = new Map(cards.map(({ scene }) => [scene.name, scene.reachable]))
  const part = async (reached: boolean): Promise<{ layout: Layout; body: string[]; count: number }> => {
    const some = cards.filter(({ scene }) => scene.reachable === reached)
    const first = some.toSorted((one, two) => Number(two.scene.name === graph.start) - Number(one.scene.name === graph.start))
    const lines = ways
      .map((way, index) => ({ way, port: ports[index] ?? entry }))
      .filter(({ way }) => isReached.get(way.from) === reached && isReached.get(way.to) === reached)
    const layout = await layOut(
      first.map(({ scene, height }) => ({ id: scene.name, height })),
      lines.map(({ way: { from, to }, port }) => ({ from, to, port })),
      pace,
    )
    const indexes = new Map(cards.map(({ scene, index }) => [scene.name, index]))
    const paths = lines.map(
      ({ way }, index) =>
        `<path class="way${way.by === 'callScene' ? ' call' : ''}" data-f="${indexes.get(way.from)}" data-t="${indexes.get(way.to)}" d="${layout.paths[index]}"><title>${escaped(
          `${titleOf(way.from)} → ${titleOf(way.to)} ${captionOf(way)}`,
        )}</title></path>`,
    )
    const boxes = some.map((card) => boxOf(card, layout.boxes.get(card.scene.name) ?? { x: 0, y: 0 }, graph.start))
    return { layout, body: [...paths, ...boxes], count: some.length }
  }
  const main = await part(true)
  const apart = await part(false)
  const body = [`<g transform="translate(0 0)">${main.body.join('\n')}</g>`]
  let { height } = main.layout
  if (apart.count > 0) {
    const heading = fillIn(mapWords[lang].apart, { start: titleOf(graph.start) })
    const top = height + size.heading
    body.push(
      `<path class="rule" d="M48 ${height + 12}H${Math.max(main.layout.width, apart.layout.width) - 48}"/>`,
      `<text class="heading" x="48" y="${height + 34}">${escaped(`${fitText(heading, 600, 15)} (${apart.count})`)}</text>`,
      `<g transform="translate(0 ${top + 8})">${apart.body.join('\n')}</g>`,
    )
    height = top + 8 + apart.layout.height
  }
  return { width: Math.max(main.layout.width, apart.layout.width), height, body: body.join('\n') }
}

/** What stands in each box, and where each way leaves its box. */
function cardsOf(graph: SceneGraph, ways: readonly Way[], lang: Lang): { cards: Card[]; ports: number[] } {
  const words = mapWords[lang]
  const from = new Map<string, number[]>()
  for (const [index, way] of ways.entries()) add(from, way.from, index)
  const bad = new Map<string, string[]>()
  for (const { from: scene, target } of graph.missing) add(bad, scene, target)
  for (const { from: scene, label } of graph.missingLabels) add(bad, scene, `#${label}`)
  const ports: number[] = []
  const cards = graph.scenes.map((scene, index): Card => {
    const leading = from.get(scene.name) ?? []
    const lost = [...new Set(bad.get(scene.name))]
    const isPlain = lost.length === 0 && leading.length === 1 && captionOf(ways[leading[0] ?? 0] as Way) === ''
    const rows: Row[] = isPlain
      ? []
      : [
          ...lost.map((text): Row => ({ text: `✗ ${text}`, kind: 'bad' })),
          ...leading.map((at): Row => rowOf(ways[at] as Way, words.callRow)),
        ]
    const shown = rows.length > mostRows ? mostRows - 1 : rows.length
    for (const [place, at] of leading.entries())
      ports[at] = isPlain ? entry : size.head + size.row * (Math.min(lost.length + place, shown) + 0.5)
    const more = rows.length - shown
    const kept = [
      ...rows.slice(0, shown),
      ...(more > 0 ? [{ text: fillIn(words.more, { n: more }), kind: 'more' } as const] : []),
    ]
    return { scene, index, rows: kept, height: size.head + kept.length * size.row + (kept.length > 0 ? 6 : 0) }
  })
  return { cards, ports }
}

function rowOf(way: Way, call: string): Row {
  const isCall = way.by === 'callScene'
  const condition = way.when === undefined ? '' : `[${way.when}] `
  const says = isCall ? fillIn(call, { to: titleOf(way.to) }) : (way.words ?? `→ ${titleOf(way.to)}`)
  return { text: condition + says, kind: isCall ? 'call' : 'way' }
}

/** Clipped by itself, so that no name, however wide, is painted over its neighbours. */
function boxOf({ scene, index, rows, height }: Card, { x, y }: { x: number; y: number }, start: string): string {
  const kinds = [
    ...(scene.name === start ? ['start'] : []),
    ...(!scene.reachable ? ['lost'] : scene.ends ? ['end'] : scene.deadEnd ? ['dead'] : []),
  ]
  const mark = `${scene.name === start ? '▶ ' : ''}${scene.ends ? '■ ' : scene.deadEnd && scene.reachable ? '⚠ ' : ''}`
  const name = mark + fitName(titleOf(scene.name), boxWidth - 22 - mark.length * 8, size.title)
  const captions = rows.map(
    ({ text, kind }, place) =>
      `<text class="row ${kind}" x="12" y="${size.head + size.row * (place + 0.5) + 4}">${escaped(fitText(text, boxWidth - 24, size.caption))}</text>`,
  )
  return `<svg class="${['scene', ...kinds].join(' ')}" data-i="${index}" x="${x}" y="${y}" width="${boxWidth}" height="${height}"><title>${escaped(scene.name)}</title><rect x="1" y="1" width="${boxWidth - 2}" height="${height - 2}" rx="${scene.ends ? 14 : 6}"/><text class="name" x="11" y="20">${escaped(name)}</text>${captions.join('')}</svg>`
}

/** The map as a picture of its own, with a legend. */
export async function toSvg(graph: SceneGraph, lang: Lang, pace: Pace): Promise<string> {
  const { width, height, body } = await worldOf(graph, lang, pace)
  const words = mapWords[lang]
  const whole = { width: Math.max(width, 980), height: height + size.legend + size.margin }
  const places = [20, 230, 440, 790]
  const entries = (['start', 'end', 'dead', 'lost'] as const).map(
    (kind, index) =>
      `<svg class="scene ${kind}" x="${places[index]}" y="38" width="26" height="18"><rect x="1" y="1" width="24" height="16" rx="${kind === 'end' ? 8 : 4}"/></svg><text class="key" x="${(places[index] ?? 0) + 32}" y="51">${escaped(words[kind])}</text>`,
  )
  const lines = (['way', 'call'] as const).map(
    (kind, index) =>
      `<path class="way ${kind === 'call' ? 'call' : ''}" d="M${320 + index * 210} 22h30"/><text class="key" x="${358 + index * 210}" y="26">${escaped(words[kind])}</text>`,
  )
  const marks = `<text class="row bad" x="745" y="26">✗</text><text class="key" x="760" y="26">${escaped(words.bad)}</text>`
  const heading = `<text class="heading" x="20" y="27">${escaped(`${words.title} · ${fillIn(words.scenes, { n: graph.scenes.length })}`)}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${whole.width} ${whole.height}" width="${whole.width}" height="${whole.height}">`,
    `<style>${colours.replaceAll(':root', 'svg')}${style}</style>`,
    marker,
    `<rect class="paper" width="${whole.width}" height="${whole.height}"/>`,
    `<g class="legend">${heading}${lines.join('')}${marks}${entries.join('')}</g>`,
    `<g transform="translate(0 ${size.legend})">${body}</g>`,
    '</svg>',
    '',
  ].join('\n')
}

export const marker =
  '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'

export const colours =
  ':root{--paper:#fafbfc;--text:#16202b;--quiet:#51606f;--box:#fff;--edge:#5b6d80;--way:#7b8b9b;--start:#d9ecff;--end:#dff4e2;--end-edge:#1f7a35;--dead:#fdebcf;--dead-edge:#a86200;--lost:#f0f1f3;--bad:#b3122b;--pick:#0b63ce}@media(prefers-color-scheme:dark){:root{--paper:#14181d;--text:#e5eaf0;--quiet:#a2afbd;--box:#1f262e;--edge:#7f93a8;--way:#71849a;--start:#173a5e;--end:#173d24;--end-edge:#58c477;--dead:#4a3410;--dead-edge:#e5a23c;--lost:#23272c;--bad:#ff8b9a;--pick:#6db3ff}}'

export const style =
  'text{font-family:system-ui,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;fill:var(--text);direction:ltr;unicode-bidi:isolate}.paper{fill:var(--paper)}.scene rect{fill:var(--box);stroke:var(--edge);stroke-width:1.4}.name{font-size:13px;font-weight:600}.row,.key{font-size:11.5px}.row{fill:var(--quiet)}.key{font-size:12px}.heading{font-size:15px;font-weight:600}.row.call{font-style:italic}.row.bad{fill:var(--bad)}.start rect{fill:var(--start)}.end rect{fill:var(--end);stroke:var(--end-edge)}.dead rect{fill:var(--dead);stroke:var(--dead-edge)}.lost rect{fill:var(--lost);stroke-dasharray:5 4}path.way{fill:none;stroke:var(--way);stroke-width:1.4;marker-end:url(#tip)}path.call{stroke-dasharray:5 4}.rule{stroke:var(--edge);stroke-dasharray:2 5;fill:none}path.tip{fill:var(--way)}'

export function escaped(text: string): string {
  return printable(text).replace(/[&<>"\ufffe\uffff]/g, (sign) => (sign > '~' ? ' ' : `&#${sign.charCodeAt(0)};`))
}

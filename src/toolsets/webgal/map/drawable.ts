import { firstThatFit } from '../../../text/answer-size.ts'
import { printable } from '../../../text/printable.ts'
import type { SceneGraph, Way } from '../graph.ts'
import { leftOutSentence } from '../left-out.ts'

/** More than can be told apart in a picture. */
const mostScenes = 2_000
const mostWays = 5_000
/** Most signs of what stands on the ways: the answer that carries the picture has a bound. */
const mostWords = 800_000

/** The part of a map that is drawn, and what is not, in words. */
export function drawable(graph: SceneGraph): { graph: SceneGraph; leftOut: string[] } {
  const scenes = graph.scenes.slice(0, mostScenes)
  const start = graph.scenes.find(({ name }) => name === graph.start)
  if (start && !scenes.includes(start)) scenes[scenes.length - 1] = start
  const names = new Set(scenes.map(({ name }) => name))
  const between = graph.ways.filter(({ from, to }) => names.has(from) && names.has(to) && from !== to)
  const ways = firstThatFit(between.slice(0, mostWays), { left: mostWords })
  const leftOut = [
    ...(scenes.length < graph.scenes.length
      ? [leftOutSentence('drawing: only {n} of {all} scenes are drawn.', { n: scenes.length, all: graph.scenes.length })]
      : []),
    ...(ways.length < between.length
      ? [leftOutSentence('drawing: only {n} of {all} ways are drawn.', { n: ways.length, all: between.length })]
      : []),
  ]
  return { graph: { ...graph, scenes, ways, unreachable: graph.unreachable.filter((name) => names.has(name)) }, leftOut }
}

/** Ways between scenes, each pair and word once: what is worth drawing. */
export function drawn({ ways }: SceneGraph): Way[] {
  const seen = new Set<string>()
  return ways.filter(({ from, to, by, words, when }) => {
    const key = JSON.stringify([from, to, by, words, when])
    if (from === to || seen.has(key)) return false
    seen.add(key)
    return true
  })
}

export const titleOf = (name: string): string => name.replace(/\.txt$/, '')
export const captionOf = ({ words, when, by }: Way): string =>
  [by === 'callScene' ? 'call' : '', words ?? '', when === undefined ? '' : `[${when}]`].filter(Boolean).join(' ')

const written: Record<string, string> = { '"': '#quot;', '&': '#amp;', '<': '#lt;', '>': '#gt;' }

/** The map as Mermaid, to be pasted into a document. */
export function toMermaid(graph: SceneGraph): string {
  const ids = new Map(graph.scenes.map(({ name }, index) => [name, `s${index}`]))
  const quote = (text: string): string =>
    `"${printable(text.replaceAll('\n', ' ')).replace(/["&<>]/g, (sign) => written[sign] ?? sign)}"`
  const lines = graph.scenes.map(
    ({ name, ends }) => `  ${ids.get(name)}${ends ? `([${quote(titleOf(name))}])` : `[${quote(titleOf(name))}]`}`,
  )
  for (const way of drawn(graph)) {
    const caption = captionOf(way)
    const arrow = way.by === 'callScene' ? '-.->' : '-->'
    lines.push(`  ${ids.get(way.from)} ${arrow}${caption === '' ? '' : `|${quote(caption)}|`} ${ids.get(way.to)}`)
  }
  for (const name of graph.unreachable) lines.push(`  style ${ids.get(name)} stroke-dasharray: 5 5`)
  return ['flowchart TD', ...lines].join('\n') + '\n'
}

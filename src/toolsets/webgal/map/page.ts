import { createHash } from 'node:crypto'
import { firstThatFit } from '../../../text/answer-size.ts'
import { jsonInPage } from '../../../text/json-in-page.ts'
import type { Pace } from '../../../text/steps.ts'
import { short } from '../finding.ts'
import type { Game } from '../game.ts'
import type { SceneGraph } from '../graph.ts'
import { leftOutIn } from '../left-out.ts'
import { notListed } from '../shapes.ts'
import { captionOf, drawable } from './drawable.ts'
import { colours, escaped, marker, style, worldOf } from './picture.ts'
import { showMap, type MapFacts } from './show-map.ts'
import { fillIn, mapWords, type Lang } from './words.ts'

/** Most signs of the page, as an answer carries it: first the drawing, then lists, then as much of the scripts as there is room for. */
const mostPage = 2_000_000
const mostLists = 400_000
const mostScript = 1_200_000
const longestLine = 400

/** What it takes in the page, which is a text in an answer itself: signs that are written as several count as several. */
const costOf = (item: unknown): number => JSON.stringify(jsonInPage(item)).length

type Miss = MapFacts['missing'][number]

const script = `(${showMap.toString()})(document, JSON.parse(document.getElementById('facts').textContent), (listener) => addEventListener('resize', listener))`

/** The map as one page that loads nothing and runs only the script whose digest its own policy names. */
export async function toPage(whole: SceneGraph, game: Game, lang: Lang, pace: Pace): Promise<string> {
  const { graph, leftOut } = drawable(whole)
  const { width, height, body } = await worldOf(graph, lang, pace)
  const shown = { ...graph, ways: whole.ways, leftOut: [...whole.leftOut, ...leftOut] }
  const facts = await factsOf(shown, game, lang, mostPage - JSON.stringify(body).length, pace)
  const digest = createHash('sha256').update(script).digest('base64')
  const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`
  const words = mapWords[lang]
  const name = /^Game_name:([^;\n]*)/m.exec(game.config())?.[1]?.trim() ?? ''
  const button = (id: string, sign: string, label: keyof typeof words): string =>
    `<button type="button" id="${id}" data-label="${label}" aria-label="${words[label]}">${sign}</button>`
  const key = (kind: string): string =>
    `<li><svg width="26" height="18" aria-hidden="true" class="scene ${kind}"><rect x="1" y="1" width="24" height="16" rx="${kind === 'end' ? 8 : 4}"/></svg> <span data-say="${kind}">${words[kind as 'end']}</span></li>`
  const lineKey = (kind: 'way' | 'call'): string =>
    `<li><svg width="34" height="18" aria-hidden="true"><path class="way ${kind === 'call' ? 'call' : ''}" d="M1 9h30"/></svg> <span data-say="${kind}">${words[kind]}</span></li>`
  return `<!doctype html>
<html lang="${lang === 'ZH' ? 'zh-CN' : 'en'}">
<head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<title>${escaped(`${short(name, 80)}${name === '' ? '' : ' · '}${words.title}`)}</title>
<style>${colours}${style}${pageStyle}</style></head>
<body>
<header><h1>${escaped(name === '' ? words.title : short(name, 60))}</h1><span class="quiet" data-say="scenes">${fillIn(words.scenes, { n: graph.scenes.length })}</span>
<div class="search"><input id="find" type="search" autocomplete="off" data-label="find" aria-label="${words.find}" placeholder="${words.find}"><ul id="hits" hidden></ul></div>
<button type="button" id="problems" data-say="problems">${words.problems}</button><button type="button" id="lang" data-say="other">${words.other}</button></header>
<main><div id="stage" tabindex="0" role="application" data-label="title" aria-label="${words.title}"><svg id="map" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" data-w="${width}" data-h="${height}">${marker}<g id="world">
${body}
</g></svg></div>
<div class="tools">${button('in', '+', 'in')}${button('out', '−', 'out')}<button type="button" id="fit" data-say="fit">${words.fit}</button></div>
<svg id="mini" aria-hidden="true"></svg>
<aside id="panel" hidden tabindex="-1" aria-live="polite" data-label="scene" aria-label="${words.scene}"></aside></main>
<footer><ul>${['start', 'scene', 'end', 'dead', 'lost'].map(key).join('')}${lineKey('way')}${lineKey('call')}<li><span class="bad cross">✗</span> <span data-say="bad">${words.bad}</span></li></ul><p data-say="keys">${words.keys}</p></footer>
<script type="application/json" id="facts">${jsonInPage(facts)}</script>
<script>${script}</script>
</body></html>
`
}

async function factsOf(graph: SceneGraph, game: Game, lang: Lang, room: number, pace: Pace): Promise<MapFacts> {
  const indexes = new Map(graph.scenes.map(({ name }, index) => [name, index]))
  const at = (name: string): number => indexes.get(name) ?? 0
  const leftOut = [...graph.leftOut]
  const listing = { left: mostLists }
  const some = <T>(name: string, all: readonly T[]): T[] => {
    const listed = firstThatFit(all, listing, costOf)
    leftOut.push(...notListed(name, all, listed))
    return listed
  }
  const missing = some(
    'missing',
    graph.missing.flatMap(({ from, line, target }): Miss[] => (indexes.has(from) ? [[at(from), line, target]] : [])),
  )
  const missingLabels = some(
    'missingLabels',
    graph.missingLabels.flatMap(({ from, line, label }): Miss[] => (indexes.has(from) ? [[at(from), line, `#${label}`]] : [])),
  )
  const ways = some(
    'ways',
    graph.ways.flatMap((way): MapFacts['ways'] =>
      indexes.has(way.from) && indexes.has(way.to)
        ? [[at(way.from), at(way.to), way.line, `${captionOf(way)}${way.label === undefined ? '' : ` → #${way.label}`}`]]
        : [],
    ),
  )
  const labelled = graph.scenes.map(({ labels }) => firstThatFit(labels, listing, costOf))
  leftOut.push(
    ...notListed(
      'labels',
      graph.scenes.flatMap(({ labels }) => labels),
      labelled.flat(),
    ),
  )
  let left = Math.min(mostScript, room - (mostLists - Math.max(0, listing.left)))
  const scenes: MapFacts['scenes'] = []
  for (const [index, { name, ends, reachable, deadEnd }] of graph.scenes.entries()) {
    if (pace.due()) await pace.turn()
    // What is left is shared by those to come, so that one long scene does not leave the others without.
    let share = left / (graph.scenes.length - index)
    const lines = (game.sceneText(name) ?? '')
      .replace(/^\uFEFF/, '')
      .replace(/\r?\n$/, '')
      .split(/\r?\n/)
    const kept: string[] = []
    for (const line of lines) {
      const one = short(line, longestLine)
      const cost = costOf(one)
      share -= cost
      if (share < 0) break
      left -= cost
      kept.push(one)
    }
    const kind = !reachable ? 'lost' : ends ? 'end' : deadEnd ? 'dead' : name === graph.start ? 'start' : 'scene'
    scenes.push({ name, kind, labels: labelled[index] ?? [], lines: kept, all: lines.length })
  }
  return {
    lang,
    words: mapWords,
    start: at(graph.start),
    scenes,
    ways,
    missing,
    missingLabels,
    leftOut: leftOutIn(lang, leftOut),
  }
}

const pageStyle = `
:root{color-scheme:light dark}*{box-sizing:border-box}html,body{height:100%;margin:0}body{display:flex;flex-direction:column;font:14px/1.5 system-ui,"PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif;color:var(--text);background:var(--paper)}
header{display:flex;flex-wrap:wrap;gap:.4rem .8rem;align-items:center;padding:.4rem .8rem;border-bottom:1px solid var(--edge)}h1{font-size:1.1rem;margin:0;max-width:24rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.quiet{color:var(--quiet)}
.search{position:relative;margin-left:auto}button,input{font:inherit;color:inherit;background:var(--box);border:1px solid var(--edge);border-radius:6px;padding:.2rem .6rem}input{width:min(16rem,60vw)}button{cursor:pointer}:focus-visible{outline:3px solid var(--pick);outline-offset:-1px}
#hits{position:absolute;z-index:3;right:0;top:100%;width:min(24rem,90vw);max-height:60vh;overflow:auto;margin:.2rem 0 0;padding:.3rem;list-style:none;background:var(--box);border:1px solid var(--edge);border-radius:6px}[hidden]{display:none!important}
main{position:relative;flex:1;min-height:0;display:flex}#stage{flex:1;min-width:0;overflow:auto}#stage.live{overflow:hidden;cursor:grab;touch-action:none}#stage svg.scene{cursor:pointer}#stage .scene rect{vector-effect:non-scaling-stroke}
.tools{position:absolute;left:.6rem;top:.6rem;display:flex;flex-direction:column;gap:.3rem}.tools button{min-width:2.2rem;height:2.2rem;padding:0 .4rem}
footer{border-top:1px solid var(--edge);padding:.3rem .8rem;font-size:12.5px}footer ul{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;list-style:none;margin:0;padding:0}footer svg{vertical-align:middle}footer p{margin:.1rem 0 0;color:var(--quiet)}.cross{display:inline-block;width:26px;text-align:center}.bad{color:var(--bad)}
#mini{position:absolute;right:.6rem;bottom:.6rem;width:200px;height:130px;background:var(--box);border:1px solid var(--edge);border-radius:6px;cursor:pointer}#mini.spare{display:none}#mini rect{fill:var(--edge);stroke:none}#mini .lost{opacity:.4}#mini .end{fill:var(--end-edge)}#mini .dead{fill:var(--dead-edge)}#mini .frame{fill:var(--pick);fill-opacity:.12;stroke:var(--pick);stroke-width:2px;vector-effect:non-scaling-stroke}main:has(#panel:not([hidden])) #mini{right:calc(min(26rem,100vw) + .6rem)}
#panel{width:min(26rem,100vw);overflow:auto;border-left:1px solid var(--edge);background:var(--box);padding:.6rem .9rem;overflow-wrap:anywhere}#panel h2{font-size:1.05rem;margin:0 2rem .2rem 0}#panel h3{font-size:1rem;margin:.8rem 0 .2rem}.kind{margin:0 0 .4rem;color:var(--quiet)}.close{float:right}#panel ul{margin:.2rem 0;padding-left:1rem;list-style:none;max-height:40vh;overflow:auto}.link{border:0;background:none;padding:.1rem 0;text-align:left;color:var(--pick);text-decoration:underline;white-space:pre-wrap;overflow-wrap:anywhere;max-width:100%}summary{cursor:pointer;font-weight:600}
.script{font:12px/1.5 ui-monospace,monospace;white-space:pre-wrap;padding-left:2.8rem;margin:.2rem 0}.script li::marker{color:var(--quiet)}
.scene.picked rect{stroke:var(--pick);stroke-width:3}path.out,path.in{stroke:var(--pick);stroke-width:2.4}path.in{stroke-dasharray:2 3}
@media(max-width:640px){main{flex-direction:column}#panel{width:100%;height:55%;border-left:0;border-top:1px solid var(--edge)}#mini,footer p{display:none}}`

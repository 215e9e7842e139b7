import { short } from '../finding.ts'
import type { PlayedRoute } from './explore.ts'
import { storyElement, type Change, type Story } from './story.ts'
import type { Verdict } from './verdict.ts'

export interface Filmed {
  title: string
  engine: string
  lang: 'ZH' | 'EN'
  verdict: Verdict
  routes: readonly PlayedRoute[]
  story: Story
  missing: readonly string[]
  errors: readonly string[]
  /** JPEGs by scene. */
  pictures: ReadonlyMap<string, Uint8Array>
  changes: readonly Change[] | undefined
  /** Of the filmstrip that it is compared with. */
  picturesBefore?: ReadonlyMap<string, string> | undefined
}

const words = {
  EN: {
    routes: 'routes played',
    scenes: 'scenes',
    endings: 'Endings',
    never: 'Scenes never reached',
    only: 'Scenes reached only with variables held',
    ends: { title: 'ends', stuck: 'stuck', limit: 'cut off', arrived: '', left: 'left the game', broken: 'broken' },
    lines: 'Lines never shown',
    dead: 'Dead ends',
    stuck: 'Stuck',
    missing: 'Missing files',
    errors: 'Errors',
    changes: 'Since the last time',
    new: 'new',
    gone: 'gone',
    changed: 'changed',
    way: 'Routes',
    none: 'none',
  },
  ZH: {
    routes: '条路线已走完',
    scenes: '个场景',
    endings: '结局',
    never: '从未到达的场景',
    only: '仅在固定变量后到达的场景',
    ends: { title: '结束', stuck: '卡住', limit: '已截断', arrived: '', left: '离开了游戏', broken: '已崩溃' },
    lines: '从未显示的行',
    dead: '死路',
    stuck: '卡住',
    missing: '缺少的文件',
    errors: '错误',
    changes: '与上次相比',
    new: '新增',
    gone: '消失',
    changed: '有改动',
    way: '路线',
    none: '无',
  },
} as const

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const imageOf = (source: string): string => `<img loading="lazy" alt="" src="data:image/jpeg;base64,${source}">`
const mostListed = 300
const mostLines = 60

/** The played game on one page, in one file that needs no other. */
export function filmstrip(film: Filmed): string {
  const say = words[film.lang]
  const { verdict, pictures, story, changes } = film
  const list = (title: string, items: readonly string[], kind = ''): string =>
    items.length === 0
      ? ''
      : `<details${items.length <= 12 ? ' open' : ''} class="${kind}"><summary>${title} <b>${items.length}</b></summary><ul>${items
          .slice(0, mostListed)
          .map((item) => `<li>${escaped(short(item, 300))}</li>`)
          .join('')}${items.length > mostListed ? '<li>…</li>' : ''}</ul></details>`
  const at = ({ scene, line }: { scene: string; line: number }): string => `${scene}:${line}`
  const told = new Map(story.scenes.map(({ name, shown }) => [name, shown]))
  const changed = new Map(changes?.map((one) => [one.scene, one]))
  const cards = verdict.shown.map(({ scene, shown, lines }) => {
    const picture = pictures.get(scene)
    const change = changed.get(scene)
    const image = picture ? imageOf(Buffer.from(picture).toString('base64')) : '<div class="blank"></div>'
    const said = (told.get(scene) ?? []).slice(0, 60)
    return `<article${change ? ` class="${change.is}"` : ''}>${image}<h2 title="${escaped(scene)}">${escaped(short(scene, 40))}</h2><p class="count">${shown}/${lines}${
      change ? ` · ${say[change.is]}` : ''
    }</p><details><summary>${escaped(short(said[0] ?? '', 60))}</summary>${said.map((one) => `<p>${escaped(short(one, 300))}</p>`).join('')}</details></article>`
  })
  const routes = film.routes.slice(0, mostListed).map(({ decisions, stops, end, held }) => {
    const last = stops.findLast(({ line }) => line > 0)
    const fixed = held?.map(({ key, value }) => `${key}=${value}`).join(', ')
    const taken = decisions.map(({ words: options, taken: index }) => short(options[index] ?? '', 40))
    return `${fixed ? `[${fixed}] ` : ''}${taken.length > 0 ? taken.join(' → ') : '—'} ⇒ ${last ? at(last) : ''} (${say.ends[end]})`
  })
  const side = (sign: string, source: string | undefined, lines: readonly string[]): string =>
    `<div>${source === undefined ? '' : imageOf(source)}${lines
      .slice(0, mostLines)
      .map((one) => `<p>${sign} ${escaped(short(one, 300))}</p>`)
      .join('')}${lines.length > mostLines ? '<p>…</p>' : ''}</div>`
  const differences = (changes ?? []).slice(0, mostListed).map(({ scene, is, added, removed }) => {
    const [was, now] = [film.picturesBefore?.get(escaped(scene)), pictures.get(scene)]
    return `<article><h2>${escaped(short(scene, 80))} · ${say[is]}</h2><div class="sides">${side('−', was, removed)}${side(
      '+',
      now && Buffer.from(now).toString('base64'),
      added,
    )}</div></article>`
  })
  const compared = changes
    ? `<section class="diff"><h2>${say.changes}: ${differences.length > 0 ? String(changes.length) : say.none}</h2>${differences.join('\n')}</section>`
    : ''
  return `<!doctype html><html lang="${film.lang === 'ZH' ? 'zh' : 'en'}"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"><meta name="viewport" content="width=device-width"><title>${escaped(film.title)}</title><style>${style}</style></head><body>
<header><h1>${escaped(film.title)}</h1><p>${film.routes.length} ${say.routes} · ${verdict.reached.length} ${say.scenes} · ${escaped(film.engine)}</p></header>
<section class="found">${[
    list(say.errors, film.errors, 'bad'),
    list(say.stuck, verdict.stuck.map(at), 'bad'),
    list(say.dead, verdict.deadEnds.map(at), 'bad'),
    list(say.missing, film.missing, 'bad'),
    list(say.never, verdict.neverReached, 'warn'),
    list(
      say.only,
      verdict.onlyWith.map(({ scene, variables }) => `${scene} (${variables})`),
      'warn',
    ),
    list(say.lines, verdict.neverShown.map(at), 'warn'),
    list(
      say.endings,
      verdict.endings.map((one) => `${at(one)} ×${one.routes}`),
    ),
    list(say.way, routes),
  ].join('')}</section>
${compared}
<main>${cards.join('\n')}</main>
${storyElement(story)}
</body></html>
`
}

const style = `:root{color-scheme:light dark;font:15px/1.45 system-ui,"PingFang SC","Microsoft YaHei",sans-serif}body{margin:0 auto;max-width:1500px;padding:1rem 1.5rem}h1{margin:.2rem 0}header p{margin:0;opacity:.75}
.found{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:.6rem;margin:1rem 0}.found details{border:1px solid #8886;border-left:4px solid #888;border-radius:6px;padding:.4rem .7rem}.found .bad{border-left-color:#d33}.found .warn{border-left-color:#d90}.diff h2{margin:1rem 0 .4rem}.diff article{padding:0 .7rem .5rem;margin-bottom:.6rem}.sides{display:grid;grid-template-columns:1fr 1fr;gap:.8rem}.sides img{max-width:420px;border-radius:4px}.sides p{margin:.25rem 0;padding:.1rem .4rem;overflow-wrap:anywhere}.sides div:first-child p{background:#d333}.sides div:last-child p{background:#2a43}
summary{cursor:pointer}ul{margin:.3rem 0;padding-left:1.1rem;max-height:22rem;overflow:auto;overflow-wrap:anywhere}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:1rem}article{border:1px solid #8886;border-radius:8px;overflow:hidden}article.changed,article.new{outline:3px solid #27c}
img,.blank{display:block;width:100%;aspect-ratio:16/9;object-fit:cover;background:#333}h2{font-size:1rem;margin:.5rem .7rem 0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.count{margin:0 .7rem;opacity:.7;font-size:.85rem}article details{margin:.2rem .7rem .6rem;font-size:.9rem}article details p{margin:.25rem 0;overflow-wrap:anywhere}`

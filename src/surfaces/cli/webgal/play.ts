import type { Operator } from '../../../contracts/operator.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Invocation } from '../command.ts'
import { bold, dim, green, oneLine, red, say, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { placesOf } from './places.ts'

interface At {
  scene: string
  line: number
}

interface Played {
  engine: string
  complete: boolean
  routes: number
  reached: number
  scenes: number
  errors: string[]
  missing: string[]
  deadEnds: At[]
  stuck: At[]
  neverReached: string[]
  onlyWith?: { scene: string; variables: string }[]
  neverShown: At[]
  endings: (At & { routes: number })[]
  changes?: { scene: string; is: string; added: string[]; removed: string[] }[]
  film?: string
  leftOut?: string[]
}

type Ask = <T>(runtime: Operator, tool: string, input: object) => Promise<T>

/** Plays the game, and says what was found. */
export async function play({ words, options, project, json, openAt }: Invocation, ask: Ask): Promise<number> {
  const number = (name: string): number | undefined => (options[name] === undefined ? undefined : Number(options[name]))
  const strip = options['filmstrip']
  const given = { maxRoutes: number('routes'), maxSeconds: number('seconds'), against: options['against'] }
  const [place] = placesOf([words[1] ?? project])
  if (!place) return 1
  const runtime = openAt(place.project)
  try {
    const wanted = { ...given, game: place.game, pictures: strip === undefined ? undefined : true }
    const input = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
    const found = await ask<Played>(runtime, 'play_routes', input)
    if (strip !== undefined) await ask(runtime, 'save_filmstrip', { film: found.film, path: String(strip) })
    if (json) say(terminalJson({ project: runtime.project, ...found }))
    else tell(found, strip)
    return found.errors.length + found.missing.length + found.deadEnds.length + found.stuck.length > 0 ? 1 : 0
  } finally {
    await runtime.close()
  }
}

const at = ({ scene, line }: At): string => `${scene}:${line}`
const most = 20

function tell(found: Played, strip: Invocation['options'][string]): void {
  say(
    `${bold(String(found.routes))} routes, ${found.reached} of ${found.scenes} scenes  ${dim(found.engine)}${found.complete ? '' : yellow('  (not all)')}`,
  )
  const list = (title: string, items: readonly string[], paint = yellow): void => {
    if (items.length === 0) return
    say(`\n${paint(title)} (${items.length})`)
    for (const item of items.slice(0, most)) say(folded(`  ${oneLine(item, 150)}`))
    if (items.length > most) say(dim(`  … ${items.length - most} more; --json shows them`))
  }
  list('Errors', found.errors, red)
  list('Stuck', found.stuck.map(at), red)
  list('Dead ends', found.deadEnds.map(at), red)
  list('Missing files', found.missing, red)
  list('Scenes never reached', found.neverReached)
  list(
    'Scenes reached only with variables held',
    (found.onlyWith ?? []).map(({ scene, variables }) => `${scene} (${variables})`),
  )
  list('Lines never shown', found.neverShown.map(at))
  list(
    'Endings',
    found.endings.map((one) => `${at(one)} (${one.routes} routes)`),
    green,
  )
  for (const { scene, is, added, removed } of found.changes ?? []) {
    say(`\n${bold(oneLine(scene, 120))}  ${is}`)
    for (const line of removed.slice(0, most)) say(red(folded(`  - ${oneLine(line, 150)}`)))
    for (const line of added.slice(0, most)) say(green(folded(`  + ${oneLine(line, 150)}`)))
  }
  for (const left of found.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
  if (strip !== undefined) say(`\n${String(strip)}`)
}

import type { PlayedRoute, ScenePlan } from './explore.ts'

export interface Verdict {
  /** Scenes that were seen, in the order they were. */
  reached: string[]
  neverReached: string[]
  /** Scenes that were seen only where variables were held at values, and which. */
  onlyWith: { scene: string; variables: string }[]
  neverShown: { scene: string; line: number }[]
  /** Where nothing follows and nothing ends: some engines stay there, others go back to the title. */
  deadEnds: { scene: string; line: number }[]
  stuck: { scene: string; line: number }[]
  endings: { scene: string; line: number; routes: number }[]
  /** Of each scene, how many of its lines were shown. */
  shown: { scene: string; shown: number; lines: number }[]
}

/** What playing told about the story. */
export function verdictOf(scenes: readonly ScenePlan[], routes: readonly PlayedRoute[]): Verdict {
  const stops = new Map<string, Set<number>>()
  const known = new Map(scenes.map((one) => [one.name, one]))
  const said = new Map(scenes.map(({ name, statements }) => [name, new Map(statements.map((one) => [one.line, one.content]))]))
  for (const route of routes) {
    let before = ''
    for (const { scene, line, text } of route.stops) {
      const at = stops.get(scene) ?? new Set<number>()
      stops.set(scene, at)
      // On its way elsewhere an engine passes by lines under words that stood there before: those were not shown.
      if (text !== before || text === said.get(scene)?.get(line)) at.add(line)
      before = text
    }
  }
  const seen = (scene: string): ReadonlySet<number> => stops.get(scene) ?? new Set()
  const shown = scenes.map(({ name, statements }) => {
    const lines = statements.filter(isShown)
    const at = seen(name)
    return { name, lines, missed: lines.filter(({ line, endLine }) => !at.has(line) && !at.has(endLine)) }
  })
  const byName = new Map(shown.map((one) => [one.name, one]))
  const ends = new Map<string, { scene: string; line: number; routes: number; is: 'ending' | 'dead end' | 'stuck' }>()
  for (const { stops: on, end } of routes) {
    const last = on.findLast(({ line, scene }) => line > 0 && known.has(scene))
    if (!last || (end !== 'title' && end !== 'stuck')) continue
    const scene = known.get(last.scene)
    const isOver = !scene?.statements.some((one) => one.line > last.line && one.command !== 'comment')
    const is = end === 'stuck' && !isOver ? 'stuck' : leadsToEnd(scene, last.line) ? 'ending' : 'dead end'
    const key = `${last.scene}:${last.line}`
    const before = ends.get(key)
    if (before) before.routes++
    else ends.set(key, { scene: last.scene, line: last.line, routes: 1, is })
  }
  const place = ({ scene, line }: { scene: string; line: number }): { scene: string; line: number } => ({ scene, line })
  const all = [...ends.values()]
  return {
    reached: [...stops.keys()].filter((scene) => known.has(scene)),
    onlyWith: onlyWith(routes, known),
    // One that shows nothing goes by between two looks.
    neverReached: shown.filter(({ name, lines }) => !stops.has(name) && lines.length > 0).map(({ name }) => name),
    neverShown: shown.flatMap(({ name, missed }) => (stops.has(name) ? missed.map(({ line }) => ({ scene: name, line })) : [])),
    deadEnds: all.filter(({ is }) => is === 'dead end').map(place),
    stuck: all.filter(({ is }) => is === 'stuck').map(place),
    endings: all.filter(({ is }) => is === 'ending').map(({ scene, line, routes: count }) => ({ scene, line, routes: count })),
    // As the story goes.
    shown: [...stops.keys()].flatMap((scene) => {
      const { lines, missed } = byName.get(scene) ?? {}
      return lines && missed ? [{ scene, shown: lines.length - missed.length, lines: lines.length }] : []
    }),
  }
}

function onlyWith(routes: readonly PlayedRoute[], known: ReadonlyMap<string, unknown>): Verdict['onlyWith'] {
  const free = new Set(routes.filter(({ held }) => !held).flatMap(({ stops }) => stops.map(({ scene }) => scene)))
  const found = new Map<string, string>()
  for (const { stops, held } of routes)
    for (const { scene } of held ? stops : [])
      if (known.has(scene) && !free.has(scene) && !found.has(scene))
        found.set(scene, (held ?? []).map(({ key, value }) => `${key}=${value}`).join(', '))
  return [...found].map(([scene, variables]) => ({ scene, variables }))
}

/** Dialogue that waits for a click. What goes on by itself is gone before anybody looks. */
function isShown({ command, content, args }: ScenePlan['statements'][number]): boolean {
  return command === 'say' && content !== '' && !args.some(({ key }) => key === 'next' || key === 'when' || key === 'notend')
}

/** Whether an `end` comes after a line, before anything that would have stopped there. */
function leadsToEnd(scene: ScenePlan | undefined, line: number): boolean {
  const after = scene?.statements.filter((one) => one.line > line && one.command !== 'comment') ?? []
  return after.some(({ command }) => command === 'end') || scene?.statements.find((one) => one.line === line)?.command === 'end'
}

import type { Route } from '../../../host/preview/preview.ts'
import type { Statement } from '../grammar/parse.ts'
import type { ScenePlan } from './explore.ts'
import type { Verdict } from './verdict.ts'

/** What was played, as a filmstrip keeps it for the next one. */
export interface Story {
  version: 1
  scenes: { name: string; shown: string[] }[]
  endings: string[]
}

/** The words of each scene in the order of its lines, however many routes went through it. */
export function storyOf(plans: readonly ScenePlan[], routes: readonly Route[], { endings, reached }: Verdict): Story {
  // Until a scene says something the words of the one before stand there.
  const says = new Map(plans.map(({ name, statements }) => [name, new Set(statements.filter(isSaid).flatMap(linesOf))]))
  const scenes = new Map<string, Map<string, number>>(reached.map((name) => [name, new Map<string, number>()]))
  for (const { stops } of routes)
    for (const { scene, line, text: words, speaker } of stops) {
      const said = `${speaker === '' ? '' : `${speaker}: `}${words}`.slice(0, 400)
      if (words !== '' && says.get(scene)?.has(line) && !scenes.get(scene)?.has(said)) scenes.get(scene)?.set(said, line)
    }
  return {
    version: 1,
    scenes: [...scenes].map(([name, said]) => ({
      name,
      shown: [...said].toSorted(([, one], [, other]) => one - other).map(([words]) => words),
    })),
    endings: endings.map(({ scene, line }) => `${scene}:${line}`),
  }
}

const isSaid = ({ command }: Statement): boolean => command === 'say'
const linesOf = ({ line, endLine }: Statement): number[] => (line === endLine ? [line] : [line, endLine])

export interface Change {
  scene: string
  is: 'new' | 'gone' | 'changed'
  added: string[]
  removed: string[]
}

/** What is told now that was not before, and the other way round. */
export function changesBetween(before: Story, now: Story): Change[] {
  const old = new Map(before.scenes.map((one) => [one.name, one.shown]))
  const current = new Map(now.scenes.map((one) => [one.name, one.shown]))
  const names = [...new Set([...current.keys(), ...old.keys()])]
  return names.flatMap((scene): Change[] => {
    const [was, is] = [old.get(scene), current.get(scene)]
    const [wasSaid, isNowSaid] = [new Set(was), new Set(is)]
    const added = (is ?? []).filter((one) => !wasSaid.has(one))
    const removed = (was ?? []).filter((one) => !isNowSaid.has(one))
    if (was && is && added.length === 0 && removed.length === 0) return []
    return [{ scene, is: was ? (is ? 'changed' : 'gone') : 'new', added, removed }]
  })
}

/** More than the words of the longest games. */
const largestStory = 16 << 20
const mark = 'id="handrail-play">'

/** For a filmstrip; nothing in it ends the element it stands in. */
export const storyElement = (story: Story): string =>
  `<script type="application/json" ${mark}${JSON.stringify(story).replaceAll('<', '\\u003c')}</script>`

/** The story in a filmstrip of before; nothing where there is none. */
export function storyIn(html: string): Story | undefined {
  const start = html.indexOf(mark)
  const end = html.indexOf('</script>', start)
  if (start < 0 || end < 0 || end - start > largestStory) return undefined
  try {
    return asStory(JSON.parse(html.slice(start + mark.length, end)))
  } catch {
    return undefined
  }
}

/** A file says what it likes; of what is not as it should be nothing is taken. */
function asStory(found: unknown): Story | undefined {
  const { version, scenes, endings } = (found ?? {}) as Record<string, unknown>
  const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === 'string')
  if (version !== 1 || !Array.isArray(scenes) || !isTexts(endings)) return undefined
  const read = scenes.flatMap((one: unknown) => {
    const { name, shown } = (one ?? {}) as Record<string, unknown>
    return typeof name === 'string' && isTexts(shown) ? [{ name, shown }] : []
  })
  return { version: 1, scenes: read, endings }
}

/** The pictures in a filmstrip of before, as they stand in it, by the name of their scene as that is written there. */
export function picturesIn(html: string): Map<string, string> {
  const found = new Map<string, string>()
  // A file says what it likes: nothing but letters of a picture comes out of it.
  for (const [, source, name] of html.matchAll(
    /<img loading="lazy" alt="" src="data:image\/jpeg;base64,([A-Za-z\d+/=]+)"><h2 title="([^"]*)">/g,
  ))
    if (source !== undefined && name !== undefined && !found.has(name)) found.set(name, source)
  return found
}

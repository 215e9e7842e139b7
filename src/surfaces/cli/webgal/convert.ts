import { terminalJson } from '../../../text/terminal-json.ts'
import type { Invocation } from '../command.ts'
import { dim, oneLine, say } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { ask, eachGame, named, noScenes } from './games.ts'
import { isMeant, placesOf } from './places.ts'
import type { Report } from './report.ts'
import { changeWords, type Lang } from './words.ts'

/** More files than one change takes. */
const mostAtOnce = 200

/** Scenes that are not UTF-8, through the kernel, so that it can be undone. */
export async function convert(invocation: Invocation): Promise<number> {
  const all: { project: string; path: string; from: string }[] = []
  let lang: Lang = 'ZH'
  for await (const { place, runtime, lang: spoken, answer } of eachGame<Report>(invocation, 'project_report', { limit: 0 })) {
    lang = spoken
    if (answer.scenes === 0 && answer.unreadable.length === 0) throw noScenes(runtime.project, lang)
    const below = answer.game === '' ? 'scene/' : `${answer.game}/scene/`
    const paths = (answer.encodings ?? []).map(({ path }) => path).filter((path) => isMeant(place, path.slice(below.length)))
    for (let from = 0; from < paths.length; from += mostAtOnce) {
      const input = { paths: paths.slice(from, from + mostAtOnce) }
      const { converted } = await ask<{ converted: { path: string; from: string }[] }>(runtime, 'convert_encoding', input)
      for (const one of converted) all.push({ project: runtime.project, ...one })
    }
  }
  const words = changeWords[lang]
  if (invocation.json) say(terminalJson({ converted: all }))
  else {
    for (const { path, from } of all) say(folded(`${oneLine(path, 120)}  ${dim(`${from} → UTF-8`)}`))
    say(all.length === 0 ? words.allUtf8 : words.converted(all.length))
  }
  return 0
}

/** A variable of the game, or a label of one scene, under another name. */
export async function rename(invocation: Invocation, from: string, to: string): Promise<number> {
  const { options, json, openAt } = invocation
  const [place] = placesOf(named(invocation, 3))
  if (!place) return 1
  const runtime = openAt(place.project)
  try {
    const found = await ask<{ applied: boolean; places: number; files: { path: string; lines: number[] }[] }>(
      runtime,
      'rename_in_game',
      {
        from,
        to,
        dryRun: options['dry-run'] === true,
        ...(place.game !== undefined && { game: place.game }),
        ...(options['scene'] !== undefined && { scene: String(options['scene']) }),
      },
    )
    const words = changeWords[runtime.config.lang]
    if (json) say(terminalJson({ project: runtime.project, ...found }))
    else {
      for (const { path: file, lines } of found.files) say(folded(`${oneLine(file, 120)}  ${dim(lines.slice(0, 40).join(', '))}`))
      say(found.applied ? words.renamed(found.places, found.files.length) : words.wouldRename(found.places, found.files.length))
    }
    return 0
  } finally {
    await runtime.close()
  }
}

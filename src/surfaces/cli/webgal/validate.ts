import { join } from 'node:path'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Invocation } from '../command.ts'
import { say } from '../print.ts'
import { formats } from './formats.ts'
import { eachGame, named, noScenes } from './games.ts'
import { isMeant, placesOf, type Place } from './places.ts'
import type { Report, Told } from './report.ts'
import { stylish } from './stylish.ts'
import type { Lang } from './words.ts'

/** Every scene of every game that was named, by the engine it has; with `--watch` again and again. */
export async function validate(invocation: Invocation): Promise<number> {
  const { options, json, dependencies } = invocation
  const format = json ? 'json' : String(options['format'] ?? 'stylish')
  if (format !== 'stylish' && !Object.hasOwn(formats, format))
    throw new Fault('bad-input', `Unknown format: ${format}`, { hint: 'stylish, json, sarif or github.' })
  const once = async (): Promise<number> => {
    const told: Told[] = []
    let lang: Lang = 'ZH'
    let version = ''
    for await (const { place, runtime, lang: spoken, answer } of eachGame<Report>(invocation, 'project_report', {
      limit: 10_000,
    })) {
      ;({ version } = runtime)
      lang = spoken
      if (answer.scenes === 0 && answer.unreadable.length === 0) throw noScenes(runtime.project, lang)
      told.push(toldOf(answer, place, runtime.project, options))
    }
    if (format === 'stylish') stylish(told, lang, options['all'] === true)
    else say(formats[format]?.(told, version))
    return told.some(({ failed }) => failed) ? 1 : 0
  }
  if (options['watch'] !== true) return once()
  const folders = placesOf(named(invocation))
  const changes = await dependencies.watchFolders(
    folders.map(({ project, game }) => (game === undefined ? project : join(project, game))),
  )
  for (;;) {
    await once()
    await changes.next()
  }
}

function toldOf(report: Report, place: Place, project: string, options: Invocation['options']): Told {
  const meant = report.diagnostics.filter(({ scene }) => isMeant(place, scene))
  const count = (severity: string): number => meant.filter((one) => one.severity === severity).length
  const part = { errors: count('error'), warnings: count('warning'), notes: count('info') }
  const seen = place.only.length === 0 ? report : { ...report, ...part, diagnostics: meant, valid: part.errors === 0 }
  const failed = !seen.valid || (options['strict'] === true && seen.warnings > 0)
  return { project, report: seen, failed, shown: meant.filter(({ severity }) => severity !== 'info' || options['all'] === true) }
}

import { bold, dim, green, oneLine, red, say, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { fromHere } from './places.ts'
import type { Diagnostic, Told } from './report.ts'
import { wordsIn, type Lang } from './words.ts'

/** Where no row of a scene's own words begins a line of the screen. */
const behind = ' '.repeat(17)
const paint = { error: red, warning: yellow, info: dim }
/** So many equal ones are told together. */
const together = 4

/** For people: by file, what is equal together, and a verdict. */
export function stylish(told: readonly Told[], lang: Lang, all: boolean): void {
  const words = wordsIn[lang]
  for (const one of told) {
    const { report, project, shown } = one
    const { engine, atLeast } = report
    const version = engine
      ? words.engine(engine.version, engine.from, engine.derivative)
      : atLeast
        ? words.atLeast(atLeast.version, oneLine(atLeast.from, 80))
        : words.unknownEngine
    say(`${bold(fromHere(project, report.game) || '.')}  ${dim(version)}`)
    const groups = grouped(shown)
    const isTogether = (found: Diagnostic): boolean => !all && (groups.get(keyOf(found))?.length ?? 0) >= together
    let file = ''
    for (const found of shown.toSorted(byPlace)) {
      if (isTogether(found)) continue
      if (found.path !== file) say(`\n${bold(oneLine(found.path, 120))}`)
      file = found.path
      tell(found, lang, String(found.line).padStart(4))
    }
    for (const group of groups.values()) {
      const [first] = group
      if (!first || !isTogether(first)) continue
      const places = group.slice(0, 5).map(({ scene, line }) => `${scene}:${line}`)
      say(`\n${bold(words.places(group.length))}`)
      tell(first, lang, '    ')
      say(dim(folded(`        ${oneLine([...places, ...(group.length > 5 ? ['…'] : [])].join(', '), 300)}`, behind)))
    }
    for (const left of report.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
    for (const name of report.unreadable) say(`${bold(oneLine(name, 120))}\n        ${red(words.error)}  ${words.noText}`)
    if (report.encodings?.length) say(dim(words.convert))
    say(`${shown.length > 0 || report.unreadable.length > 0 ? '\n' : ''}${verdict(one, lang)}`)
  }
}

const keyOf = ({ code, message }: Diagnostic): string => `${code}\0${message}`

function grouped(shown: readonly Diagnostic[]): Map<string, Diagnostic[]> {
  const groups = new Map<string, Diagnostic[]>()
  for (const one of shown) {
    const group = groups.get(keyOf(one))
    if (group) group.push(one)
    else groups.set(keyOf(one), [one])
  }
  return groups
}

const byPlace = (one: Diagnostic, other: Diagnostic): number =>
  one.path === other.path ? one.line - other.line : one.path < other.path ? -1 : 1

function tell({ severity, message, fixHint }: Diagnostic, lang: Lang, at: string): void {
  say(folded(`  ${at}  ${paint[severity](wordsIn[lang][severity])}  ${oneLine(message, 160)}`, behind))
  if (fixHint !== undefined) say(dim(folded(`        → ${oneLine(fixHint, 150)}`, behind)))
}

function verdict({ report, failed }: Told, lang: Lang): string {
  const words = wordsIn[lang]
  const { scenes, lines, errors, warnings, notes, truncated } = report
  return `${failed ? red(words.notFine) : green(words.fine)}${words.counts({ scenes, lines, errors, warnings, notes })}${truncated ? words.notAll : ''}`
}

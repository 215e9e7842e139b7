import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command } from '../command.ts'
import { bold, dim, green, oneLine, progressBar, red, say, table, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

/** Where no row of a scene's own words begins a line of the screen. */
const behind = ' '.repeat(17)

interface Diagnostic {
  scene: string
  line: number
  message: string
  fixHint?: string
  severity: 'error' | 'warning' | 'info'
}

interface Report {
  valid: boolean
  scenes: number
  lines: number
  words: number
  errors: number
  warnings: number
  notes: number
  diagnostics: Diagnostic[]
  truncated: boolean
  unreadable: string[]
  unused: string[]
  characters: { name: string; lines: number; words: number }[]
  leftOut?: string[]
}

interface Graph {
  start: string
  scenes: { name: string; ends: boolean }[]
  ways: { from: string; to: string; by: string; line: number; label?: string; words?: string; when?: string }[]
  missing: { from: string; line: number; target: string }[]
  unreachable: string[]
  deadEnds: string[]
  drawing?: string
  leftOut?: string[]
}

export const webgal: Command = {
  name: 'webgal',
  summary: 'Check a WebGAL game: every scene, its route map, a report',
  usage: 'handrail webgal validate|graph|report [DIR] [--json]',
  projectWord: 1,
  about: `validate  every diagnostic of every scene; exit code 1 where the engine would misread or fail on something, so that it serves in a
          game's own CI. --strict counts warnings too, --all shows notes such as missing semicolons.
graph     the route map: scenes, choices, dead ends, unreachable scenes, missing targets; --svg and --mermaid print a drawing.
report    scenes, lines and words per character, resources no scene uses.

Messages are Chinese unless --lang EN or HANDRAIL_LANG=EN.`,
  options: [
    { name: 'strict', says: 'validate: warnings fail too.' },
    { name: 'all', says: 'validate: show notes too.' },
    { name: 'svg', says: 'graph: print a picture.' },
    { name: 'mermaid', says: 'graph: print Mermaid.' },
  ],
  examples: [
    'handrail webgal validate ./my-game --lang EN',
    'handrail webgal graph ./my-game --svg > map.svg',
    'handrail webgal report ./my-game --json',
  ],
  async run({ words, options, json, open }) {
    const [what, , ...more] = words
    if ((what !== 'validate' && what !== 'graph' && what !== 'report') || more.length > 0)
      throw new Fault('bad-input', what === undefined ? 'What about the game?' : `Unknown: webgal ${words.join(' ')}`, {
        hint: 'handrail webgal validate, graph or report, and a folder.',
      })
    const runtime = open()
    try {
      if (what === 'graph') return await graph(runtime, options, json)
      const report = await ask<Report>(runtime, 'project_report', { limit: 10_000 })
      if (report.scenes === 0 && report.unreadable.length === 0)
        throw new Fault('not-found', `No scenes below ${runtime.project}`, {
          hint: 'A game has its scenes in game/scene/*.txt.',
        })
      if (what === 'report') return summary(report, json)
      return validate(report, options, json)
    } finally {
      await runtime.close()
    }
  },
}

/** As a person, over the same road as everybody. */
async function ask<T>(runtime: Operator, tool: string, input: object): Promise<T> {
  const bar = progressBar(tool)
  try {
    const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli-webgal', role: 'person' } as const
    const { output } = await runtime.call(tool, input, caller, { onProgress: (done, total) => bar.show(done, total ?? 0) })
    return output as T
  } finally {
    bar.end()
  }
}

function validate(report: Report, options: Record<string, string | boolean | undefined>, json: boolean): number {
  const failed = !report.valid || (options['strict'] === true && report.warnings > 0)
  const shown = report.diagnostics.filter(({ severity }) => severity !== 'info' || options['all'] === true)
  if (json) say(terminalJson({ ...report, diagnostics: shown, failed }))
  else {
    const paint = { error: red, warning: yellow, info: dim }
    const sorted = shown.toSorted((one, other) =>
      one.scene === other.scene ? one.line - other.line : one.scene < other.scene ? -1 : 1,
    )
    let scene = ''
    for (const { scene: name, line, severity, message, fixHint } of sorted) {
      if (name !== scene) say(`${scene === '' ? '' : '\n'}${bold(oneLine(name, 120))}`)
      scene = name
      say(folded(`  ${String(line).padStart(4)}  ${paint[severity](severity.padEnd(7))}  ${oneLine(message, 160)}`, behind))
      if (fixHint !== undefined) say(dim(folded(`        → ${oneLine(fixHint, 150)}`, behind)))
    }
    for (const left of report.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
    for (const name of report.unreadable) say(`${bold(oneLine(name, 120))}\n        ${red('error')}    not UTF-8 text`)
    if (shown.length > 0 || report.unreadable.length > 0) say()
    const verdict = failed ? red('Not fine') : green('Fine')
    say(
      `${verdict}: ${report.scenes} scenes, ${report.lines} lines; ${report.errors} errors, ${report.warnings} warnings, ${report.notes} notes${report.truncated ? ' (not all shown)' : ''}`,
    )
  }
  return failed ? 1 : 0
}

function summary(report: Report, json: boolean): number {
  if (json) say(terminalJson(report))
  else {
    say(
      `${bold(String(report.scenes))} scenes, ${report.lines} lines, ${report.words} words; ${report.errors} errors, ${report.warnings} warnings`,
    )
    if (report.characters.length)
      say(
        `\n${table(
          ['who', 'lines', 'words'],
          report.characters.map(({ name, lines, words }) => [name, String(lines), String(words)]),
        )}`,
      )
    for (const left of report.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
    say(report.unused.length ? `\n${bold('No scene names these files')}` : '\nEvery resource is used.')
    for (const file of report.unused.slice(0, 200)) say(folded(`  ${oneLine(file, 150)}`))
    if (report.unused.length > 200) say(dim(`  … ${report.unused.length - 200} more; --json shows them all`))
  }
  return 0
}

async function graph(runtime: Operator, options: Record<string, string | boolean | undefined>, json: boolean): Promise<number> {
  const format = options['svg'] === true ? 'svg' : options['mermaid'] === true ? 'mermaid' : 'json'
  const found = await ask<Graph>(runtime, 'scene_graph', { format })
  if (json) say(terminalJson(found))
  else if (found.drawing !== undefined) process.stdout.write(found.drawing)
  else {
    for (const left of found.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
    const rows = found.ways.map(({ from, to, by, line, label, words, when }) => [
      `${from}:${line}`,
      by,
      label === undefined ? to : `${to === from ? '' : to}#${label}`,
      words ?? '',
      when ?? '',
    ])
    say(table(['from', 'by', 'to', 'words', 'when'], rows))
    const list = (title: string, names: string[]): void =>
      void (names.length && say(`\n${bold(title)}: ${names.map((name) => oneLine(name, 80)).join(', ')}`))
    list(
      'Endings',
      found.scenes.filter(({ ends }) => ends).map(({ name }) => name),
    )
    list('Dead ends', found.deadEnds)
    list('Unreachable', found.unreachable)
    list(
      'Missing',
      found.missing.map(({ from, line, target }) => `${target} (${from}:${line})`),
    )
  }
  return found.missing.length > 0 ? 1 : 0
}

import { join } from 'node:path'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command, Invocation } from '../command.ts'
import { bold, dim, oneLine, progressBar, say, table, yellow } from '../print.ts'
import { formats } from '../webgal/formats.ts'
import { isMeant, placesOf, type Place } from '../webgal/places.ts'
import { play } from '../webgal/play.ts'
import type { Report, Told } from '../webgal/report.ts'
import { stylish } from '../webgal/stylish.ts'
import type { Lang } from '../webgal/words.ts'
import { folded } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

interface Graph {
  start: string
  scenes: { name: string; ends: boolean }[]
  ways: { from: string; to: string; by: string; line: number; label?: string; words?: string; when?: string }[]
  missing: { from: string; line: number; target: string }[]
  missingLabels?: { from: string; line: number; label: string }[]
  unreachable: string[]
  deadEnds: string[]
  drawing?: string
  leftOut?: string[]
}

export const webgal: Command = {
  name: 'webgal',
  summary: 'Check a WebGAL game: every scene, its route map, a report',
  usage: 'handrail webgal validate|convert [PATH...] | graph|report [DIR] [--json] | rename FROM TO [DIR] | play [DIR] | lsp',
  projectWord: 1,
  acts: {
    validate: Number.POSITIVE_INFINITY,
    convert: Number.POSITIVE_INFINITY,
    graph: 1,
    rename: 3,
    lsp: 0,
    play: 1,
    report: 1,
  },
  about: `validate  every diagnostic of every scene, by the engine that the game has; exit code 1 where that engine would misread or fail on
          something, so that it serves in a game's own CI. PATH is a project, a folder of many games (each is told by name), game/,
          game/scene, a part of it or one scene; several may be named. Equal ones are told together; --all shows each, and notes such
          as missing semicolons. --strict counts warnings too. --format json, sarif or github is for other programs. Nothing is
          written, and a folder that cannot be written to is as good as any.
convert   scenes in GBK, Shift_JIS, UTF-16 and the like become UTF-8; \`handrail undo --last\` takes it back.
graph     the route map: scenes, choices, dead ends, unreachable scenes, missing targets; --svg and --mermaid print a drawing.
rename    a variable in every scene, or with --scene a label of that scene; \`handrail undo --last\` takes it back.
play      the game in the real engine, every route up to --routes (30) and --seconds (300): crashes, dead ends, missing files, scenes never
          reached, lines never shown; exit code 1 where there are some of the first three. --filmstrip FILE.html writes a picture of every
          scene into the project; --against FILE.html tells what changed since that filmstrip.
lsp       the language server for editors, on stdin and stdout; docs/guide/webgal.md has the lines for their settings.
report    scenes, lines and words per character, resources no scene uses.

Messages are Chinese unless --lang EN or HANDRAIL_LANG=EN.`,
  options: [
    { name: 'strict', says: 'validate: warnings fail too.' },
    { name: 'all', says: 'validate: show notes too, and equal ones one by one.' },
    { name: 'format', value: 'FORMAT', says: 'validate: stylish (for people), json, sarif or github.' },
    { name: 'watch', says: 'validate: again whenever a file changes.' },
    { name: 'scene', value: 'SCENE', says: 'rename: a label of this scene, not a variable.' },
    { name: 'dry-run', says: 'rename: only tell the places.' },
    { name: 'routes', value: 'N', says: 'play: most routes.' },
    { name: 'seconds', value: 'N', says: 'play: longest time.' },
    { name: 'filmstrip', value: 'FILE', says: 'play: an HTML file of the project to write.' },
    { name: 'against', value: 'FILE', says: 'play: an earlier filmstrip to compare with.' },
    { name: 'stdio', says: 'lsp: always so; editors pass it.' },
    { name: 'html', says: 'graph: print a page to look around in.' },
    { name: 'svg', says: 'graph: print a picture.' },
    { name: 'mermaid', says: 'graph: print Mermaid.' },
  ],
  examples: [
    'handrail webgal validate ./my-game --lang EN',
    'handrail webgal validate game/scene/start.txt game/scene/part-two',
    'handrail webgal validate . --format sarif > webgal.sarif',
    'handrail webgal convert ./my-game',
    'handrail webgal play ./my-game --filmstrip filmstrip.html',
    'handrail webgal rename score points ./my-game',
    'handrail webgal graph ./my-game --svg > map.svg',
    'handrail webgal report ./my-game --json',
  ],
  async run(invocation) {
    const { words, options, json, open } = invocation
    const [what, , ...more] = words
    if (what === 'validate') return validate(invocation)
    if (what === 'convert') return convert(invocation)
    if (what === 'rename') return rename(invocation)
    if (what === 'play') return play(invocation, ask)
    if (what === 'lsp') return lsp(invocation)
    if ((what !== 'graph' && what !== 'report') || more.length > 0)
      throw new Fault('bad-input', what === undefined ? 'What about the game?' : `Unknown: webgal ${words.join(' ')}`, {
        hint: 'handrail webgal validate, convert, graph or report, and a folder.',
      })
    const runtime = open()
    try {
      if (what === 'graph') return await graph(runtime, options, json)
      const report = await ask<Report>(runtime, 'project_report', { limit: 10_000 })
      if (report.scenes === 0 && report.unreadable.length === 0)
        throw new Fault('not-found', `No scenes below ${runtime.project}`, {
          hint: 'A game has its scenes in game/scene/*.txt.',
        })
      return summary(report, json)
    } finally {
      await runtime.close()
    }
  },
}

async function rename({ words, options, json, openAt }: Invocation): Promise<number> {
  const [, from, to, path, ...more] = words
  if (from === undefined || to === undefined || more.length > 0)
    throw new Fault('bad-input', 'What shall be called what?', { hint: 'handrail webgal rename FROM TO, and a folder.' })
  const [place] = placesOf([path ?? String(options['project'] ?? process.env['HANDRAIL_PROJECT'] ?? '.')])
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
    if (json) say(terminalJson({ project: runtime.project, ...found }))
    else {
      for (const { path: file, lines } of found.files) say(folded(`${oneLine(file, 120)}  ${dim(lines.slice(0, 40).join(', '))}`))
      say(
        `${found.places} places in ${found.files.length} scenes${found.applied ? '; `handrail undo --last` takes it back.' : ' would change.'}`,
      )
    }
    return 0
  } finally {
    await runtime.close()
  }
}

/** Nothing but the protocol goes to stdout. */
function lsp({ openAt, dependencies }: Invocation): Promise<number> {
  for (const method of ['log', 'info', 'debug'] as const) console[method] = console.error
  return dependencies.serveLsp(openAt)
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

/** Every game of every place that was named, one after another. */
async function look({ words, options, project, openAt }: Invocation): Promise<{ told: Told[]; lang: Lang; version: string }> {
  const named = words.slice(1)
  const told: Told[] = []
  let lang: Lang = 'ZH'
  let version = ''
  for (const place of placesOf(named.length === 0 ? [project] : named)) {
    const runtime = openAt(place.project)
    ;({ lang } = runtime.config)
    version = runtime.version
    try {
      const first = await ask<Report>(runtime, 'project_report', {
        limit: 10_000,
        ...(place.game !== undefined && { game: place.game }),
      })
      const reports = [first]
      for (const game of (first.games ?? []).slice(1))
        reports.push(await ask<Report>(runtime, 'project_report', { limit: 10_000, game }))
      for (const report of reports) told.push(toldOf(report, place, runtime.project, options))
      if (first.scenes === 0 && first.unreadable.length === 0)
        throw new Fault('not-found', `No scenes below ${runtime.project}`, { hint: 'A game has its scenes in game/scene/*.txt.' })
    } finally {
      await runtime.close()
    }
  }
  return { told, lang, version }
}

function toldOf(report: Report, place: Place, project: string, options: Invocation['options']): Told {
  const meant = report.diagnostics.filter(({ scene }) => isMeant(place, scene))
  const count = (severity: string): number => meant.filter((one) => one.severity === severity).length
  const part = { errors: count('error'), warnings: count('warning'), notes: count('info') }
  const seen = place.only.length === 0 ? report : { ...report, ...part, diagnostics: meant, valid: part.errors === 0 }
  const failed = !seen.valid || (options['strict'] === true && seen.warnings > 0)
  return { project, report: seen, failed, shown: meant.filter(({ severity }) => severity !== 'info' || options['all'] === true) }
}

async function validate(invocation: Invocation): Promise<number> {
  const { options, json, dependencies } = invocation
  const format = json ? 'json' : String(options['format'] ?? 'stylish')
  if (format !== 'stylish' && !Object.hasOwn(formats, format))
    throw new Fault('bad-input', `Unknown format: ${format}`, { hint: 'stylish, json, sarif or github.' })
  const once = async (): Promise<number> => {
    const { told, lang, version } = await look(invocation)
    if (format === 'stylish') stylish(told, lang, options['all'] === true)
    else say(formats[format]?.(told, version))
    return told.some(({ failed }) => failed) ? 1 : 0
  }
  if (options['watch'] !== true) return once()
  const folders = placesOf(invocation.words.length > 1 ? invocation.words.slice(1) : [invocation.project])
  const changes = await dependencies.watchFolders(
    folders.map(({ project, game }) => (game === undefined ? project : join(project, game))),
  )
  for (;;) {
    await once()
    await changes.next()
  }
}

/** Scenes that are not UTF-8, through the kernel, so that it can be undone. */
async function convert(invocation: Invocation): Promise<number> {
  const named = invocation.words.slice(1)
  for (const place of placesOf(named.length === 0 ? [invocation.project] : named)) {
    const runtime = invocation.openAt(place.project)
    try {
      const first = await ask<Report>(runtime, 'project_report', {
        limit: 0,
        ...(place.game !== undefined && { game: place.game }),
      })
      const found = [...(first.encodings ?? [])]
      for (const game of (first.games ?? []).slice(1))
        found.push(...((await ask<Report>(runtime, 'project_report', { limit: 0, game })).encodings ?? []))
      const paths = found.map(({ path }) => path)
      const all: { path: string; from: string }[] = []
      for (let from = 0; from < paths.length; from += 200)
        all.push(
          ...(await ask<{ converted: typeof all }>(runtime, 'convert_encoding', { paths: paths.slice(from, from + 200) }))
            .converted,
        )
      if (invocation.json) say(terminalJson({ project: runtime.project, converted: all }))
      else {
        for (const { path, from } of all) say(folded(`${oneLine(path, 120)}  ${dim(`${from} → UTF-8`)}`))
        say(
          all.length === 0
            ? 'Everything is UTF-8.'
            : `${all.length} files are UTF-8 now; \`handrail undo --last\` takes it back.`,
        )
      }
    } finally {
      await runtime.close()
    }
  }
  return 0
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
  const format = (['html', 'svg', 'mermaid'] as const).find((one) => options[one] === true) ?? 'json'
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
    list(
      'Missing labels',
      (found.missingLabels ?? []).map(({ from, line, label }) => `${label} (${from}:${line})`),
    )
  }
  return found.missing.length > 0 || (found.missingLabels?.length ?? 0) > 0 ? 1 : 0
}

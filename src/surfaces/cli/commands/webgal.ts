import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command, Invocation } from '../command.ts'
import { convert, rename } from '../webgal/convert.ts'
import { ask } from '../webgal/games.ts'
import { graph } from '../webgal/graph.ts'
import { play } from '../webgal/play.ts'
import { report } from '../webgal/summary.ts'
import { validate } from '../webgal/validate.ts'

export const webgal: Command = {
  name: 'webgal',
  summary: 'Check a WebGAL game: every scene, its route map, a report',
  usage: 'handrail webgal validate|convert|graph|report [PATH...] [--json] | rename FROM TO [DIR] | play [DIR] | lsp',
  projectWord: 1,
  acts: {
    validate: Number.POSITIVE_INFINITY,
    convert: Number.POSITIVE_INFINITY,
    graph: Number.POSITIVE_INFINITY,
    rename: 3,
    lsp: 0,
    play: 1,
    report: Number.POSITIVE_INFINITY,
  },
  about: `validate  every diagnostic of every scene, by the engine that the game has; exit code 1 where that engine would misread or fail on
          something, so that it serves in a game's own CI. PATH is a project, a folder of many games (each is told by name), game/,
          game/scene, a part of it or one scene; several may be named. Equal ones are told together; --all shows each, and notes such
          as missing semicolons. --strict counts warnings too. --format json, sarif or github is for other programs. Nothing is
          written, and a folder that cannot be written to is as good as any.
convert   scenes in GBK, Shift_JIS, UTF-16 and the like become UTF-8; \`handrail undo --last\` takes it back.
graph     the route map: scenes, choices, dead ends, unreachable scenes, missing targets and labels. --html prints a page to look around
          in (one file, nothing is loaded), --svg a picture, --mermaid a text for documents; a drawing is of one game.
rename    a variable in every scene, or with --scene a label of that scene; \`handrail undo --last\` takes it back.
play      the game in the real engine, every route up to --routes (30) and --seconds (300): crashes, dead ends, missing files, scenes never
          reached, lines never shown; exit code 1 where there are some of the first three. --filmstrip FILE.html writes a picture of every
          scene into the project; --against FILE.html tells what changed since that filmstrip.
lsp       the language server for editors, on stdin and stdout; docs/guide/webgal.md has the lines for their settings.
report    who says how much, what there is to translate in each scene, variables with where they are set and read, and files no
          scene uses with their sizes. PATH of convert, graph and report is as that of validate.

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
    'handrail webgal graph ./my-game --html > map.html',
    'handrail webgal report ./my-game --json',
  ],
  async run(invocation) {
    const { words } = invocation
    const [what, from, to] = words
    const acts: Record<string, () => Promise<number>> = {
      validate: () => validate(invocation),
      convert: () => convert(invocation),
      graph: () => graph(invocation),
      report: () => report(invocation),
      play: () => play(invocation, ask),
      lsp: () => lsp(invocation),
    }
    if (what === 'rename') {
      if (from === undefined || to === undefined || words.length > 4)
        throw new Fault('bad-input', 'What shall be called what?', { hint: 'handrail webgal rename FROM TO, and a folder.' })
      return rename(invocation, from, to)
    }
    const act = what !== undefined && Object.hasOwn(acts, what) ? acts[what] : undefined
    if (!act)
      throw new Fault('bad-input', what === undefined ? 'What about the game?' : `Unknown: webgal ${words.join(' ')}`, {
        hint: `There are: ${Object.keys(webgal.acts ?? {}).join(', ')}; e.g. \`handrail webgal validate ./my-game\`.`,
      })
    return act()
  },
}

/** Nothing but the protocol goes to stdout. */
function lsp({ openAt, dependencies }: Invocation): Promise<number> {
  for (const method of ['log', 'info', 'debug'] as const) console[method] = console.error
  return dependencies.serveLsp(openAt)
}

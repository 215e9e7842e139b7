import { terminalJson } from '../../../text/terminal-json.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command, Invocation } from '../command.ts'
import { commandHere } from '../program-name.ts'
import { runCommands } from './run.ts'
import { bold, green, oneLine, printable, printableBlock, red, say, table, yellow } from '../print.ts'

export const templates: Command = {
  name: 'templates',
  insteadOf: runCommands,
  summary: 'List the templates of runs, show what one does, or check those you wrote',
  usage: 'handrail templates list|show ID|check [FILE…] --project DIR',
  acts: { list: 0, show: 1, check: Number.POSITIVE_INFINITY },
  about: `A template is a file of JSON: inputs and results as schemas, and steps that are calls of tools. Yours lie in ~/.config/handrail/templates and
are there for every project. A project brings its own in handrail/templates; those count only once you trusted them (\`handrail trust\` shows what each would do), and never
in the place of one that comes with Handrail or is yours. \`show\` says in words what a template does, with its inputs and an example. \`check\` says everything that
is wrong with your files and the project's, or with the ones you name. docs/guide/runs.md has worked examples.`,
  examples: [
    'handrail templates list --project .',
    'handrail templates show batch_replace --project .',
    'handrail templates check my-template.json --project .',
  ],
  async run(invocation) {
    const { words, open } = invocation
    const [what = 'list', ...rest] = words
    if (!['list', 'show', 'check'].includes(what) || (what === 'show' && rest.length !== 1))
      throw new Fault('bad-input', what === 'show' ? 'Which template?' : `Unknown: templates ${what}`, {
        hint: '`handrail templates list` shows them; then `handrail templates show TEMPLATE`, or check.',
      })
    const runtime = open()
    try {
      if (what === 'check') return await check(runtime, rest, invocation)
      if (what === 'show') return await show(runtime, rest[0] as string, invocation)
      return await list(runtime, invocation)
    } finally {
      await runtime.close()
    }
  },
}

async function list(runtime: Operator, { json, options }: Invocation): Promise<number> {
  const runsApi = await runtime.runs()
  const found = await runsApi.templates()
  if (json) for (const one of found) say(terminalJson(one))
  else
    say(
      table(
        ['template', 'version', 'from', 'for', 'what it does'],
        found.map((one) => [
          one.templateId,
          one.version,
          sources[one.from],
          one.trustLevelSupport.join(', '),
          oneLine(one.description, 80),
        ]),
      ),
    )
  const ignored = runsApi.ignoredTemplates()
  if (ignored && !json)
    say(
      `${yellow('ignored')} ${ignored.ignored} in handrail/templates of this project, until you trust them: ${commandHere('trust', runtime.project, options)}`,
    )
  return 0
}

const sources = { handrail: 'Handrail', person: 'you', project: 'project' } as const

async function check(runtime: Operator, files: string[], { json, dependencies, options }: Invocation): Promise<number> {
  const offers = (tool: string): boolean => runtime.offers(tool)
  const named = await dependencies.checkTemplates(files, offers)
  const brought = files.length > 0 ? [] : await runtime.projectTemplates(offers)
  const checked = [...named, ...brought.map(({ file, wrong, trusted }) => ({ name: file, wrong, trusted }))]
  for (const one of checked)
    if (json) say(terminalJson(one))
    else {
      const { name, wrong } = one
      const isIgnored = 'trusted' in one && !one.trusted
      const until = isIgnored ? ` ${yellow('ignored until you trust it')}: ${commandHere('trust', runtime.project, options)}` : ''
      say(
        wrong.length === 0
          ? `${green('ok')} ${printable(name)}${until}`
          : [`${red('wrong')} ${printable(name)}`, ...wrong.map((why) => `  ${printable(why)}`)].join('\n'),
      )
    }
  if (checked.length === 0 && !json) say('There are no templates of yours, and none of the project.')
  return checked.some(({ wrong }) => wrong.length > 0) ? 1 : 0
}

async function show(runtime: Operator, id: string, { json, options }: Invocation): Promise<number> {
  const found = await (await runtime.runs()).template(id)
  if (json) {
    say(terminalJson(found))
    return 0
  }
  const { templateId, version, name, description, from, digest, does, inputsSchema, outputsSchema, exampleInputs } = found
  say(`${bold(templateId)} ${version}: ${printable(name)} (${sources[from]})${digest === undefined ? '' : `\nsha256 ${digest}`}`)
  say(`${printableBlock(description)}\n`)
  say(does.map((line) => printable(line)).join('\n'))
  say(`\n${bold('Inputs')}\n${printableBlock(JSON.stringify(inputsSchema, null, 2))}`)
  say(`\n${bold('Results')}\n${printableBlock(JSON.stringify(outputsSchema, null, 2))}`)
  const input = JSON.stringify(exampleInputs).replaceAll("'", String.raw`'\''`)
  say(`\n${bold('Example')}\n${printable(commandHere(`run ${templateId} --input '${input}'`, runtime.project, options))}`)
  return 0
}

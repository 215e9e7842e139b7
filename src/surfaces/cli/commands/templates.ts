import { terminalJson } from '../../../text/terminal-json.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { green, oneLine, printable, red, say, table } from '../print.ts'

export const templates: Command = {
  name: 'templates',
  summary: 'List the templates of runs, or check one you wrote',
  usage: 'handrail templates list|check [FILE…] --project DIR',
  about: `A template is a file of JSON: inputs and results as schemas, and steps that are calls of tools. Yours lie in ~/.config/handrail/templates, and
are there for every project. \`check\` says everything that is wrong with those files, or with the ones you name. docs/guide/runs.md has a worked example.`,
  examples: ['handrail templates list --project .', 'handrail templates check my-template.json --project .'],
  async run({ words, json, open, dependencies }) {
    const [what = 'list', ...files] = words
    if (what !== 'list' && what !== 'check')
      throw new Fault('bad-input', `Unknown: templates ${what}`, { hint: 'templates list or check [FILE…].' })
    const runtime = open()
    try {
      if (what === 'check') {
        const checked = await dependencies.checkTemplates(files, (tool) => runtime.offers(tool))
        for (const { name, wrong } of checked)
          if (json) say(terminalJson({ name, wrong }))
          else
            say(
              wrong.length === 0
                ? `${green('ok')} ${printable(name)}`
                : [`${red('wrong')} ${printable(name)}`, ...wrong.map((one) => `  ${printable(one)}`)].join('\n'),
            )
        if (checked.length === 0 && !json) say('There are no templates of yours.')
        return checked.some(({ wrong }) => wrong.length > 0) ? 1 : 0
      }
      const found = await (await runtime.runs()).templates()
      if (json) for (const one of found) say(terminalJson(one))
      else
        say(
          table(
            ['template', 'version', 'for', 'what it does'],
            found.map((one) => [one.templateId, one.version, one.trustLevelSupport.join(', '), oneLine(one.description, 80)]),
          ),
        )
      return 0
    } finally {
      await runtime.close()
    }
  },
}

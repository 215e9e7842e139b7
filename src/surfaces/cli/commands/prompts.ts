import { Fault } from '../../../contracts/faults/fault.ts'
import { promptRoles } from '../../../contracts/prompt.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { bold, dim, green, printable, printableBlock, red, say, table } from '../print.ts'

export const prompts: Command = {
  name: 'prompts',
  summary: 'List the prompts that models are asked with, show one, or check them all',
  usage: 'handrail prompts list|show ID|check --project DIR',
  acts: { list: 0, show: 1, check: 0 },
  about: `Everything a model is asked is kept in files, each with its inputs, its version and what it may answer. A project may say one in other words, in
handrail/prompts/ID.md; that counts once you trusted the file (\`handrail trust\`), and cannot ask for other inputs or another form of answer. \`check\` says everything that is
wrong: a field or section that is missing, a variable that is not declared, a condition, a text that changed without a new version, words that lead to deleting or executing.`,
  examples: [
    'handrail prompts list --project .',
    'handrail prompts show planner/default --project .',
    'handrail prompts check --project .',
  ],
  async run({ words, open, json }) {
    const [what = 'list', id] = words
    if (!['list', 'show', 'check'].includes(what) || (what === 'show' && id === undefined))
      throw new Fault('bad-input', what === 'show' ? 'Which prompt?' : `Unknown: prompts ${what}`, {
        hint: '`handrail prompts list` shows them; then `handrail prompts show ID`, or check.',
      })
    const runtime = open()
    try {
      if (what === 'check') {
        const checked = runtime.prompts.check()
        for (const one of checked)
          if (json) say(terminalJson(one))
          else {
            say(
              `${one.wrong.length === 0 ? green('ok') : red('wrong')} ${printable(one.id)} ${printable(one.version)} (${one.from})`,
            )
            for (const why of one.wrong) say(`  ${printable(why)}`)
          }
        return checked.some(({ wrong }) => wrong.length > 0) ? 1 : 0
      }
      if (what === 'list') {
        const found = runtime.prompts.list()
        if (json) for (const one of found) say(terminalJson(one))
        else
          say(
            table(
              ['prompt', 'version', 'from', 'answers', 'inputs'],
              found.map((one) => [one.id, one.version, one.from, one.output.type, one.inputs.map(({ name }) => name).join(', ')]),
            ),
          )
        return 0
      }
      const prompt = runtime.prompts.load(id as string)
      if (json) {
        say(terminalJson(prompt))
        return 0
      }
      say(`${bold(prompt.id)} ${prompt.version} (${prompt.from}), used by ${printable(prompt.used_by.join(', ') || 'nobody')}`)
      for (const { name, says } of prompt.inputs) say(`${dim(`{{${name}}}`)} ${printable(says)}`)
      for (const role of promptRoles)
        if (prompt.sections[role] !== undefined) say(`\n${bold(`## ${role}`)}\n${printableBlock(prompt.sections[role])}`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}

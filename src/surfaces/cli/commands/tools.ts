import { errorCodesOf } from '../../../contracts/faults/contract-000.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { like } from '../parse.ts'
import { bold, oneLine, say, table } from '../print.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const tools: Command = {
  name: 'tools',
  summary: 'List the tools an agent is offered, or show one',
  usage: 'handrail tools [NAME] --project DIR',
  mostWords: 1,
  about:
    'What is not listed is of no use in this project by the look of it; it can be called all the same, and --tools lists it. With a name: what it does, its input and output as JSON Schema, the errors it may raise, and examples.',
  examples: ['handrail tools --project .', 'handrail tools write_to_file --project .'],
  async run({ words, json, open }) {
    const runtime = open()
    try {
      const [name] = words
      if (name === undefined) {
        const listed = runtime.listed()
        const rows = runtime.tools.map((tool) => ({ tool, listed: listed.includes(tool) }))
        if (json)
          say(
            terminalJson(
              rows.map(({ tool: { name: one, title, description }, listed: here }) => ({
                name: one,
                title,
                description,
                listed: here,
              })),
            ),
          )
        else
          say(
            table(
              ['tool', 'listed', 'what it does'],
              rows.map(({ tool, listed: here }) => [tool.name, here ? 'yes' : 'no', oneLine(tool.description, 100)]),
            ),
          )
        return 0
      }
      const tool = runtime.tools.find((one) => one.name === name)
      if (!tool)
        throw (
          runtime.whyOff(name) ??
          new Fault('not-found', `No such tool: ${name}`, {
            hint: `${didYouMean(name, runtime.tools)}\`handrail tools\` lists them.`,
          })
        )
      const { title, description, input, output, faults, examples } = tool
      const errors = errorCodesOf(faults)
      if (json) say(terminalJson({ name, title, description, input, output, errors, examples }))
      else {
        say(
          `${bold(name)}: ${description}\n\n${bold('input')}\n${terminalJson(input, 2)}\n\n${bold('output')}\n${terminalJson(output, 2)}`,
        )
        say(`\n${bold('errors')} ${errors.join(', ') || 'none of its own'}`)
        for (const example of examples)
          say(`\n${bold(example.says)}\n  handrail call ${name} '${JSON.stringify(example.input)}' --project .`)
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

function didYouMean(name: string, tools: readonly { name: string }[]): string {
  const near = like(
    name,
    tools.map((one) => one.name),
  )
  return near === undefined ? '' : `Did you mean \`handrail tools ${near}\`? `
}

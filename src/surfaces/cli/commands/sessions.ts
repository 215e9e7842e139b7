import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { ago, printableBlock, bold, oneLine, say, table } from '../print.ts'
import { wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const sessions: Command = {
  name: 'sessions',
  summary: 'List the visits of agents, or what one of them said',
  usage: 'handrail sessions [ID] --project DIR',
  mostWords: 1,
  about: 'With an id: the questions it put to you and what it said it had done.',
  examples: ['handrail sessions --project .', 'handrail sessions sess_1f2e3d4c5b6a7988 --project .'],
  onlyReads: true,
  async run({ words, json, open }) {
    const runtime = open()
    try {
      const [id] = words
      if (id !== undefined) {
        const session = wholeId(runtime, 'sess', id)
        const notes = runtime.notes(session)
        if (notes.length === 0 && !runtime.idsLike('sess', session).includes(session))
          throw new Fault('not-found', `No such session: ${id}`, { hint: '`handrail sessions` lists them.' })
        if (json) for (const note of notes) say(terminalJson(note))
        else
          say(
            notes.length
              ? notes.map((note) => `${bold(note.kind)} ${ago(note.at)}\n${printableBlock(note.text)}`).join('\n\n')
              : 'It said nothing.',
          )
        return 0
      }
      const found = runtime.sessions()
      if (json) for (const session of found) say(terminalJson(session))
      else
        say(
          found.length
            ? table(
                ['id', 'client', 'over', 'last'],
                found.map((one) => [one.id, oneLine(one.client, 40), one.surface, ago(one.lastAt)]),
              )
            : 'Nobody came yet.',
        )
      return 0
    } finally {
      await runtime.close()
    }
  },
}

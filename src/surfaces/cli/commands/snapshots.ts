import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { ago, printable, say, table } from '../print.ts'
import { sayRoots } from '../root-lines.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const snapshots: Command = {
  name: 'snapshots',
  summary: 'List the kept states of files, newest first',
  usage: 'handrail snapshots [PATH-PREFIX] [--limit N] --project DIR',
  mostWords: 1,
  about: `Every state a file had on either side of a write is kept. "baseline" is a state from before Handrail wrote, "write" one it
wrote. To go back: handrail undo ID takes back the write that made this state.`,
  options: [{ name: 'limit', value: 'N', says: 'How many to show. Default 50.' }],
  examples: ['handrail snapshots --project .', 'handrail snapshots game/scene --limit 10 --project .'],
  onlyReads: true,
  async run({ words, options, json, open }) {
    const limit = Number(options['limit'] ?? 50)
    if (!Number.isInteger(limit) || limit < 1) throw new Fault('bad-input', '--limit must be a whole number above 0', {})
    const runtime = open()
    try {
      const found = runtime.snapshots(limit, words[0] ?? '')
      if (json) for (const snapshot of found) say(terminalJson(snapshot))
      else if (found.length === 0)
        say(words[0] === undefined ? 'Nothing kept yet.' : `Nothing is kept of ${printable(words[0])}, or of anything below it.`)
      else {
        say(
          table(
            ['id', 'when', 'kind', 'bytes', 'path', 'call'],
            found.map((one) => [
              one.id,
              ago(one.timestamp),
              one.undoneBy ? `${one.kind} (undone)` : one.kind,
              String(one.bytes),
              one.path,
              one.call ?? '',
            ]),
          ),
        )
        sayRoots(
          found.map(({ path }) => path),
          runtime.roots,
        )
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

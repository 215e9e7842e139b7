import type { LineDiff } from '../../../contracts/line-diff.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { RunsApi } from '../../../contracts/run.ts'
import type { Command } from '../command.ts'
import { confirm, onStdout } from '../confirm.ts'
import { green, printable, renderChange, say, warn } from '../print.ts'
import { sayRoots } from '../root-lines.ts'
import { folded } from '../screen-rows.ts'
import { runCommands } from './run.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

interface Undone {
  applied: boolean
  /** Names what was shown, for the call that does it. */
  shown: { upTo: number; digest: string }
  changes: { path: string; becomes: 'restored' | 'removed'; diff: LineDiff }[]
}

export const undo: Command = {
  name: 'undo',
  insteadOf: runCommands,
  summary: 'Take back a write, all writes of a call or a run, or all of a session',
  usage: 'handrail undo [SNAPSHOT|CALL|RUN] [--last] [--session ID] [--to SNAPSHOT] [--yes] --project DIR',
  about: `Shows what would change and asks, unless --yes is given. A file that was created is removed; a file that was changed gets
its former content back. --to brings back one state of a file, whoever wrote it, and takes back what was written since. Where a file changed since Handrail wrote it, nothing is touched and the later change is shown.
An undo is a write like any other: it is kept, and can be undone by its own call id.`,
  options: [
    { name: 'last', says: 'The newest change that was not undone yet.' },
    { name: 'session', value: 'ID', says: 'Everything a session wrote.' },
    { name: 'to', value: 'SNAPSHOT', says: 'Bring a file back to this state; also one from before Handrail wrote.' },
    { name: 'yes', says: 'Do not ask.' },
  ],
  examples: [
    'handrail undo --last --project .',
    'handrail undo snap_20251101T093210_ab12cd34 --yes --project .',
    'handrail undo run_1f2e3d4c5b6a79881f2e3d4c5b6a7988 --project .',
    'handrail undo --session sess_1f2e3d4c5b6a7988 --project .',
  ],
  onlyReads: true,
  takesBack: true,
  async run({ words, options, json, open }) {
    const [target] = words
    const asked = {
      ...(target !== undefined && {
        [target.startsWith('snap_') ? 'snapshot' : target.startsWith('run_') ? 'run' : 'call']: target,
      }),
      ...(typeof options['session'] === 'string' && { session: options['session'] }),
      ...(typeof options['to'] === 'string' && { to: options['to'] }),
      ...(options['last'] === true && { last: true }),
    }
    if (Object.keys(asked).length !== 1)
      throw new Fault('bad-input', 'Say exactly one thing to undo', {
        hint: 'A snapshot id, a call id, a run id, --session ID, --to SNAPSHOT, or --last. `handrail snapshots` lists what is kept.',
      })
    const runtime = open()
    try {
      const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli-person', role: 'person' } as const
      const input = target?.startsWith('run_') ? { calls: await callsOf(await runtime.runs(), target) } : asked
      const preview = (await runtime.call('undo', { ...input, dryRun: true }, caller)).output as Undone
      if (!json) {
        for (const change of preview.changes)
          say(`${renderChange(change.diff.hunks.length ? change : { ...change, says: willBe[change.becomes] })}\n`)
        sayRoots(
          preview.changes.map(({ path }) => path),
          runtime.roots,
        )
      }
      if (options['yes'] !== true) {
        const yes = await confirm(`Undo ${preview.changes.length} file(s)?`, onStdout(json))
        if (yes === undefined)
          throw new Fault('bad-input', 'Nobody is at this terminal to see it and confirm', {
            hint: 'Add --yes to undo without asking.',
          })
        if (!yes) {
          warn('Nothing changed.')
          return 1
        }
      }
      // What was shown is what is done: agents go on writing while somebody reads.
      const { output, callId } = await runtime.call('undo', { ...input, shown: preview.shown, dryRun: false }, caller)
      if (json) say(terminalJson({ ...(output as Undone), call: callId }))
      else say(folded(`${green('Undone')}: ${named((output as Undone).changes)}  (to take this back: handrail undo ${callId})`))
      return 0
    } finally {
      await runtime.close()
    }
  },
}

const willBe = { restored: 'comes back', removed: 'goes away' } as const
const mostNamed = 20

function named(changes: Undone['changes']): string {
  const more = changes.length - mostNamed
  const first = changes.slice(0, mostNamed).map(({ path, becomes }) => `${printable(path)} ${becomes}`)
  return `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Every call that a run made, as far as it came. */
async function callsOf(runsApi: RunsApi, run: string): Promise<string[]> {
  return (await runsApi.steps(run)).flatMap(({ call }) => (call === undefined ? [] : [call]))
}

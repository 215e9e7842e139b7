import type { LineDiff } from '../../../contracts/line-diff.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { RunsApi } from '../../../contracts/run.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { quotedName } from '../../../text/printable.ts'
import type { Command, Invocation } from '../command.ts'
import { confirm, onStdout } from '../confirm.ts'
import { bold, dim, green, printable, renderChange, say, warn } from '../print.ts'
import { commandHere, forShell } from '../program-name.ts'
import { sayRoots } from '../root-lines.ts'
import { folded } from '../screen-rows.ts'
import { wholeId } from '../whole-id.ts'
import { runCommands } from './run.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

interface Undone {
  applied: boolean
  /** Names what was shown, for the call that does it. */
  shown: { upTo: number; digest: string }
  kept?: string[]
  changes: { path: string; becomes: 'restored' | 'removed'; diff: LineDiff }[]
}

export const undo: Command = {
  name: 'undo',
  insteadOf: runCommands,
  summary: 'Take back a write, all writes of a call or a run, or all of a session',
  usage:
    'handrail undo [SNAPSHOT|CALL|RUN] [--last] [--session ID] [--to SNAPSHOT] [--force | --keep-mine | --merge] [--yes] --project DIR',
  mostWords: 1,
  about: `Shows what would change and asks, unless --yes is given. A file that was created is removed; a file that was changed gets
its former content back. --to brings back one state of a file, whoever wrote it, and takes back what was written since. Where a file changed since Handrail wrote it, nothing is touched and the later change is shown; then say what becomes of it:
--keep-mine leaves such files as they are and takes back the rest, --merge takes Handrail's change out and leaves yours in, --force takes back
all of it, yours too. The beginning of an id is enough.
An undo is a write like any other: it is kept, and can be undone by its own call id.`,
  options: [
    { name: 'last', says: 'The newest change that was not undone yet.' },
    { name: 'session', value: 'ID', says: 'Everything a session wrote.' },
    { name: 'to', value: 'SNAPSHOT', says: 'Bring a file back to this state; also one from before Handrail wrote.' },
    {
      name: 'force',
      says: 'Where you changed a file since: take it back all the same. What you wrote stays in `handrail snapshots`.',
    },
    { name: 'keep-mine', says: 'Where you changed a file since: leave that file as it is.' },
    { name: 'merge', says: "Where you changed a file since: take Handrail's change out and leave yours in." },
    { name: 'yes', says: 'Do not ask.' },
  ],
  examples: [
    'handrail undo --last --project .',
    'handrail undo --last --merge --yes --project .',
    'handrail undo call_1f2e3d4c --project .',
    'handrail undo --session sess_1f2e3d4c5b6a7988 --project .',
  ],
  onlyReads: true,
  takesBack: true,
  async run({ words, options, json, open }) {
    const [typed] = words
    const given = ['session', 'to', 'last'].filter((name) => options[name] !== undefined)
    if (given.length + (typed === undefined ? 0 : 1) !== 1)
      throw new Fault('bad-input', 'Say exactly one thing to undo', {
        hint: 'A snapshot id, a call id, a run id, --session ID, --to SNAPSHOT, or --last. `handrail snapshots` lists what is kept.',
      })
    const changed = changedIn(options)
    const runtime = open()
    try {
      const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli-person', role: 'person' } as const
      const input = { ...(await wantedOf(runtime, typed, options)), ...(changed !== undefined && { changed }) }
      const preview = (
        await runtime.call('undo', { ...input, dryRun: true }, caller).catch((thrown: unknown) => {
          throw json
            ? thrown
            : shownConflict(thrown, (how) => commandHere(`undo ${sameWords(typed, options)} ${how}`, runtime.project, options))
        })
      ).output as Undone
      if (!json) {
        for (const change of preview.changes)
          say(`${renderChange(change.diff.hunks.length ? change : { ...change, says: willBe[change.becomes] })}\n`)
        sayRoots(
          preview.changes.map(({ path }) => path),
          runtime.roots,
        )
        for (const path of preview.kept ?? []) say(folded(`${quotedName(path)}: stays as you left it`))
      }
      if (options['yes'] !== true) {
        const yes = await confirm(
          `Undo ${preview.changes.length === 1 ? '1 file' : `${preview.changes.length} files`}?`,
          onStdout(json),
        )
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
      else {
        say(folded(`${green('Undone')}: ${named((output as Undone).changes)}`))
        say(dim(`To take this back: ${commandHere(`undo ${callId}`, runtime.project, options)}`))
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

const hows = { force: 'force', 'keep-mine': 'keep', merge: 'merge' } as const

function changedIn(options: Invocation['options']): 'force' | 'keep' | 'merge' | undefined {
  const given = (Object.keys(hows) as (keyof typeof hows)[]).filter((name) => options[name] === true)
  if (given.length > 1)
    throw new Fault('bad-input', `Only one of ${given.map((name) => `--${name}`).join(' and ')}`, { hint: undo.usage })
  return given[0] && hows[given[0]]
}

/** What was typed as the tool takes it. A word that is the beginning of no id is a fault, not a search without result. */
async function wantedOf(runtime: Operator, typed: string | undefined, options: Invocation['options']): Promise<object> {
  if (options['last'] === true) return { last: true }
  if (typeof options['to'] === 'string') return { to: wholeId(runtime, 'snap', options['to']) }
  if (typeof options['session'] === 'string') return { session: wholeId(runtime, 'sess', options['session']) }
  const word = typed as string
  for (const kind of ['call', 'snap', 'run'] as const) {
    const id = wholeId(runtime, kind, word)
    if (!id.startsWith(`${kind}_`)) continue
    if (kind === 'run') return { calls: await callsOf(await runtime.runs(), id) }
    return kind === 'snap' ? { snapshot: id } : { call: id }
  }
  throw new Fault('bad-input', `No such snapshot, call or run: ${word}`, {
    hint: '`handrail snapshots` lists what can be undone; `handrail undo --last` takes back the newest change.',
  })
}

const sameWords = (typed: string | undefined, options: Invocation['options']): string =>
  [
    ...(typed === undefined ? [] : [typed]),
    ...(options['last'] === true ? ['--last'] : []),
    ...['session', 'to'].flatMap((name) => (typeof options[name] === 'string' ? [`--${name}`, options[name]] : [])),
  ]
    .map(forShell)
    .join(' ')

interface Changed {
  path: string
  changedSince: LineDiff
}

/** Shows what the person changed since, and says the ways on; the fault that is left needs no details. */
function shownConflict(thrown: unknown, again: (how: string) => string): unknown {
  if (!(thrown instanceof Fault) || thrown.details?.['changedSince'] === undefined) return thrown
  const {
    path,
    changedSince,
    others = [],
    mode,
  } = thrown.details as unknown as Changed & {
    others?: Changed[]
    mode?: { wrote?: string; found?: string }
  }
  warn(bold('Changed since Handrail wrote it:'))
  for (const one of [{ path, changedSince }, ...others])
    warn(
      renderChange({
        path: one.path,
        diff: one.changedSince,
        ...(one.changedSince.hunks.length === 0 && { says: saysOf(mode) }),
      }),
    )
  warn('')
  warn(`${again('--keep-mine')}\n    ${dim('leaves these files as they are, and takes back the rest')}`)
  warn(`${again('--merge')}\n    ${dim("takes Handrail's change out, and leaves yours in")}`)
  warn(`${again('--force')}\n    ${dim('takes back all of it, your change too')}`)
  warn('')
  return new Fault('conflict', thrown.message, { hint: 'Nothing was changed. Choose one of the three above.' })
}

const saysOf = (mode: { wrote?: string; found?: string } | undefined): string =>
  mode ? `permissions ${mode.wrote ?? '?'} → ${mode.found ?? '?'}` : 'is not what Handrail left there'

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

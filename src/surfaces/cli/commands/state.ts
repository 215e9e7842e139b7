import { terminalJson } from '../../../text/terminal-json.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { StateAdmin, StateView } from '../../../contracts/state.ts'
import type { Command, Invocation } from '../command.ts'
import { confirm, onStdout } from '../confirm.ts'
import { bold, dim, green, printable, say, size, warn, yellow } from '../print.ts'
import { folded, under } from '../screen-rows.ts'

export const state: Command = {
  name: 'state',
  summary: 'Say where Handrail keeps what it knows of the project; take it over after a move, or start anew',
  usage: 'handrail state [adopt|reset|import] [--from PATH] [--yes] --project DIR [--json]',
  acts: { show: 0, adopt: 0, reset: 0, import: 0 },
  about: `Approvals, tokens, the log and the kept states of files lie outside the project, in a folder of yours alone, so that no project can
bring its own. That folder belongs to one folder on the disk: where the project was moved, or removed and made again (a fresh clone),
Handrail does nothing there until you say which it is.

adopt   it is the same project: keep its history. After a move it is found by itself, or named with --from OLD-PATH.
reset   start anew. What was kept is set aside, not deleted.
import  takes over from a .handrail folder, where older versions kept state: the kept states of files (each checked) and the old log,
        for reading only. Never its approvals, sessions, keys or tokens: whoever made the project could have written those.

Each shows what it will do and asks. Stop servers on the project first.`,
  options: [
    { name: 'from', value: 'PATH', says: 'adopt: where the project was.' },
    { name: 'yes', says: 'Do not ask.' },
  ],
  examples: [
    'handrail state --project .',
    'handrail state adopt --from ~/old-place/my-game --project ~/my-game',
    'handrail state --state /var/lib/handrail --project /srv/site',
  ],
  async run(invocation) {
    const [what = 'show', ...more] = invocation.words
    const acts: Record<string, (invocation: Invocation, admin: StateAdmin) => Promise<number>> = {
      show,
      adopt,
      reset,
      import: importOld,
    }
    const act = Object.hasOwn(acts, what) ? acts[what] : undefined
    if (!act || more.length)
      throw new Fault('bad-input', `Unknown: state ${invocation.words.join(' ')}`, {
        hint: 'state, state adopt, state reset or state import.',
      })
    const admin = await invocation.openStateAdmin()
    try {
      return await act(invocation, admin)
    } finally {
      admin.close()
    }
  },
}

async function show({ json }: Invocation, admin: StateAdmin): Promise<number> {
  const view = await admin.show()
  if (json) say(terminalJson(view))
  else for (const line of linesOf(view)) say(line)
  return view.fits === 'yes' || view.fits === 'none yet' ? 0 : 1
}

/** A path in the second column. */
const beside = (text: string): string => under(printable(text), 12)

function linesOf(view: StateView): string[] {
  const least = view.atLeast ? 'at least ' : ''
  const kinds = Object.entries(view.bytes).filter(([, bytes]) => bytes > 0)
  const total = kinds.reduce((sum, [, bytes]) => sum + bytes, 0)
  const fits = {
    yes: green('its own'),
    'none yet': 'nothing is kept yet',
    'another folder': yellow(
      `of another folder: ${beside(view.why ?? '')}. handrail state adopt keeps it, handrail state reset starts anew`,
    ),
    unknown: yellow(`not usable: ${beside(view.why ?? '')}. handrail state reset sets it aside`),
  }
  const { path, device, inode } = view.project
  const others = view.others.map((one) => `            ${beside(one.path)}${one.gone ? dim(' (no longer there)') : ''}`)
  return [
    `${bold('project')}     ${beside(path)} ${dim(`(device ${device}, inode ${inode})`)}`,
    `${bold('state')}       ${beside(view.folder)}`,
    `            ${fits[view.fits]}`,
    `${bold('size')}        ${size(total)}${kinds.length ? `: ${kinds.map(([kind, bytes]) => `${kind} ${size(bytes)}`).join(', ')}` : ''}`,
    `${bold('all')}         ${least}${size(view.baseBytes)} in ${printable(view.base)}, ${view.others.length + view.moreOthers} other project(s)${view.setAside ? `, ${view.setAside} set aside` : ''}`,
    ...others,
    ...(view.moreOthers ? [dim(`            and ${view.moreOthers} more`)] : []),
    ...(view.movedFrom === undefined
      ? []
      : [`${yellow('moved')}       this folder was at ${beside(view.movedFrom)}: handrail state adopt takes its history over`]),
    ...(view.oldState
      ? [
          `${yellow('old state')}   the project brings a .handrail folder, which is ignored; if you made it: handrail state import`,
        ]
      : []),
  ]
}

async function adopt(invocation: Invocation, admin: StateAdmin): Promise<number> {
  const { from } = invocation.options
  const plan = admin.adoption(typeof from === 'string' ? from : undefined)
  const what = plan.moved ? `the state of ${printable(plan.from)}` : 'the state that was made for an earlier folder of this path'
  if (!(await agreed(invocation, `Take over ${what} for this project?`))) return 1
  admin.adopt(plan)
  await written(invocation, 'state.adopted', { from: plan.from })
  return done(invocation, { adopted: true, from: plan.from, folder: plan.to }, `${green('Taken over')}: ${printable(plan.to)}`)
}

async function reset(invocation: Invocation, admin: StateAdmin): Promise<number> {
  if (!(await agreed(invocation, 'Set aside all that is kept of this project (undo, approvals, the log) and start anew?')))
    return 1
  const aside = admin.reset()
  if (aside !== undefined) await written(invocation, 'state.reset', { aside })
  const says = aside === undefined ? 'Nothing was kept.' : `${green('Set aside')}: ${printable(aside)}`
  return done(invocation, { reset: aside !== undefined, ...(aside !== undefined && { aside }) }, says)
}

async function importOld(invocation: Invocation, admin: StateAdmin): Promise<number> {
  const found = admin.oldState()
  if (!invocation.json) {
    say(`${found.snapshots} kept state(s) of ${found.paths} path(s), ${size(found.bytes)}; old log ${size(found.auditBytes)}.`)
    if (found.refused) say(yellow(`${found.refused} are not taken:`))
    for (const reason of found.reasons) say(folded(`  ${printable(reason)}`))
    say(dim('Approvals, sessions, keys and tokens stay behind. Nothing of the old folder is changed.'))
  }
  if (!(await agreed(invocation, 'Did you or your agents make it, and shall it be taken over?'))) return 1
  const taken = admin.importOld()
  await written(invocation, 'state.imported', { snapshots: taken.snapshots, auditFile: taken.auditFile ?? null })
  const log = taken.auditFile === undefined ? '' : `; the old log is ${printable(taken.auditFile)}, for reading`
  return done(
    invocation,
    { ...found, ...taken },
    `${green('Taken over')}: ${taken.snapshots} state(s)${log}. The .handrail folder can go.`,
  )
}

async function agreed({ options, json }: Invocation, question: string): Promise<boolean> {
  if (options['yes'] === true) return true
  const yes = await confirm(question, onStdout(json))
  if (yes === undefined)
    throw new Fault('bad-input', 'Nobody is at this terminal to see it and confirm', {
      hint: 'Add --yes if you mean it.',
    })
  if (!yes) warn('Nothing changed.')
  return yes
}

/** The log that is in force from now on says what the person did. */
async function written(
  { open }: Invocation,
  event: 'state.adopted' | 'state.reset' | 'state.imported',
  details: Record<string, unknown>,
): Promise<void> {
  const runtime = open()
  runtime.audit.note({ event, by: 'person@cli', details })
  await runtime.close()
}

function done({ json }: Invocation, body: Record<string, unknown>, says: string): number {
  say(json ? terminalJson(body) : says)
  return 0
}

import { Fault } from '../../../contracts/faults/fault.ts'
import type { Amount, PrunePlan, Pruned } from '../../../contracts/prune.ts'
import type { Command } from '../command.ts'
import { confirm, onStdout } from '../confirm.ts'
import { dim, green, printable, say, size, table, warn, yellow } from '../print.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

const defaultDays = 90

export const prune: Command = {
  name: 'prune',
  summary: 'Take away what is old or no longer named, after saying what that is and how much it frees',
  usage: 'handrail prune [--days N] [--dry-run] [--yes] --project DIR [--json]',
  about: `Says what would go, then asks. Older than --days (${defaultDays}): closed files of the audit log, states of files that were written through
Handrail, evidence, answered questions with their cards, sessions and notes. Whatever their age: contents that nothing names. The
database gives back what became free.

Never: what waits for an answer, the original of a file, its present state and the one before, and any state that Handrail did not write, as
it may be the only copy of somebody's work. What is left of the log verifies as before, and says from which entry on it is kept, who pruned it
and when. Where the log is broken, none of its files goes.

It can be done while servers run. What is kept, and how much of it: docs/reference/kept.md.`,
  options: [
    { name: 'days', value: 'N', says: `How old what goes must be. Default ${defaultDays}; 0: whatever its age.` },
    { name: 'dry-run', says: 'Only say what would go.' },
    { name: 'yes', says: 'Do not ask.' },
  ],
  examples: [
    'handrail prune --project .',
    'handrail prune --days 365 --yes --project .',
    'handrail prune --dry-run --json --project .',
  ],
  onlyReads: true,
  async run({ options, json, open }) {
    const days = Number(options['days'] ?? defaultDays)
    if (!Number.isInteger(days) || days < 0)
      throw new Fault('bad-input', '--days must be a whole number, 0 or more', { hint: 'handrail prune --days 30' })
    const runtime = open()
    try {
      const plan = await runtime.pruning.plan(days)
      const isDry = options['dry-run'] === true
      if (json && isDry) say(terminalJson(plan))
      if (!json) for (const line of planned(plan)) say(line)
      if (isDry) return 0
      if (options['yes'] !== true) {
        const yes = await confirm('Take it away for good?', onStdout(json))
        if (yes === undefined)
          throw new Fault('bad-input', 'Nobody is at this terminal to see it and confirm', {
            hint: 'Add --yes if you mean it, or --dry-run to see what would go.',
          })
        if (!yes) {
          warn('Nothing changed.')
          return 1
        }
      }
      const report = await runtime.pruning.apply(plan, 'person@cli')
      say(json ? terminalJson(report) : done(report))
      return 0
    } finally {
      await runtime.close()
    }
  },
}

function planned({ going, bytes, stays, broken, days }: PrunePlan): string[] {
  const rows = (amounts: readonly Amount[]): string =>
    table(
      ['what', 'how many', 'bytes'],
      amounts.map((one) => [one.what, String(one.count), one.bytes ? size(one.bytes) : '']),
    )
  return [
    going.length
      ? `${rows(going)}\n${size(bytes)} in files, and what the database has no more use for.`
      : `Nothing is older than ${days} days, and nothing lies about. The database may still give back what it has no use for.`,
    ...(broken === undefined
      ? []
      : [yellow(`The log is broken (${printable(broken)}), so all of its files stay. handrail audit verify says more.`)]),
    ...stays.map((one) => dim(`Stays: ${one.count} ${one.what}, ${size(one.bytes)}`)),
  ]
}

function done({ gone, bytes, databaseBytes }: Pruned): string {
  const what = gone.map((one) => `${one.count} ${one.what}`).join(', ') || 'nothing old'
  return `${green('Gone')}: ${what}. Freed ${size(bytes)} in files and ${size(databaseBytes)} in the database.`
}

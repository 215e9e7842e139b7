import { errorBodyOf } from '../../../contracts/faults/contract-000.ts'
import { asFault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command } from '../command.ts'
import { printableBlock, bold, green, oneLine, red, say, size, table, yellow } from '../print.ts'
import { under } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

interface Finding {
  what: string
  state: 'good' | 'note' | 'bad'
  says: string
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'Say what works here, what does not, and where every setting came from',
  usage: 'handrail doctor --project DIR [--json]',
  about: 'Checks the system, the store, the audit log and the settings. Exit 0 when all is well, 1 when something is broken.',
  examples: ['handrail doctor --project .'],
  onlyReads: true,
  async run({ open, json, dependencies }) {
    const findings: Finding[] = []
    const add = (what: string, state: Finding['state'], says: string): void => void findings.push({ what, state, says })
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    add('node', major > 20 || (major === 20 && minor >= 19) ? 'good' : 'bad', `${process.version} (20.19 or later is needed)`)
    let settings: { key: string; value: unknown; origin: string }[] = []
    let ignored: readonly { key: string; says: string }[] = []
    try {
      const runtime = open()
      settings = [...runtime.settings]
      ignored = runtime.projectSettings?.ignored ?? []
      add('project', 'good', `${runtime.project}, ${runtime.config.mode} mode, ${runtime.tools.length} tools`)
      for (const { name, path, why } of runtime.roots)
        add(
          'root',
          why === undefined ? 'good' : 'bad',
          why === undefined ? `//${name} is ${path}` : `//${name} (${path}) is out of reach: ${why}`,
        )
      const listed = runtime.listed()
      const bytes = await dependencies.toolListBytes(listed)
      add(
        'tool list',
        'good',
        `${listed.length} tools, ${bytes} bytes of names, descriptions and inputs: about ${Math.round(bytes / 4)} tokens for a model; --tools makes it smaller`,
      )
      const unlisted = runtime.tools.filter((tool) => !listed.includes(tool))
      if (unlisted.length)
        add(
          'not listed',
          'note',
          `${unlisted.map((tool) => tool.name).join(', ')}: of no use in this project by the look of it. They can be called all the same; --tools ${[...new Set(runtime.tools.map((tool) => tool.toolset))].join(',')} lists everything`,
        )
      add(
        'paths',
        runtime.capabilities.paths === 'descriptors' ? 'good' : 'note',
        runtime.capabilities.paths === 'descriptors'
          ? 'walked by open folders: a link swapped in mid-way cannot lead out'
          : 'this system has no /proc: paths are opened by name and then checked, which leaves a short race',
      )
      add(
        'search',
        runtime.capabilities.search === 'ripgrep' ? 'good' : 'note',
        runtime.capabilities.search === 'ripgrep'
          ? 'ripgrep'
          : 'ripgrep is not installed for this system: the slower built-in search is used',
      )
      add('store', 'good', `SQLite through ${runtime.capabilities.sqlite}, in ${runtime.state.folder}`)
      if (runtime.state.ignored)
        add(
          'old state',
          'note',
          'this project brings a .handrail folder, which is ignored; if you made it: handrail state import',
        )
      if (runtime.config.cluster.databaseUrl !== '') await lookAtCluster(runtime, add)
      const browser = await runtime.capabilities.browser()
      add('browser', browser.there ? 'good' : 'note', browser.says)
      const { confined, says } = await runtime.capabilities.confinement()
      const without =
        runtime.config.stage.unconfined === 'ask'
          ? 'Each is run only after you agreed to it, unconfined, with a copy of the project for undo.'
          : 'None is run (stage.unconfined).'
      add('programs', confined ? 'good' : 'note', confined ? `confined by ${says}` : `${says} ${without}`)
      const own = runtime.projectSettings
      if (own?.fault !== undefined) add('project', 'bad', own.fault)
      else if (own?.says !== undefined) add('trust', 'note', own.says)
      const trusted = own?.loosenings.filter((one) => !ignored.includes(one)) ?? []
      if (own && trusted.length) add('trust', 'good', `you trusted ${own.file}; it ${inWords(trusted)}`)
      const brought = await runtime.projectTemplates()
      const counted = brought.filter((one) => one.trusted && one.wrong.length === 0)
      const rest = brought.length - counted.length
      if (counted.length) add('templates', 'good', `you trusted ${counted.map(({ id = '' }) => id).join(', ')} of this project`)
      if (rest)
        add(
          'templates',
          'note',
          `${rest} of ${brought.length} in handrail/templates of this project ${rest === 1 ? 'is' : 'are'} ignored: \`handrail trust\` shows what each would do, \`handrail templates check\` what is wrong`,
        )
      const verdict = await runtime.audit.check()
      add(
        'audit',
        verdict.whole ? 'good' : 'bad',
        verdict.whole
          ? `log intact: ${verdict.lines} entries${verdict.pruned ? `, kept from ${verdict.pruned.upTo + 1} on` : ''}`
          : `broken${verdict.line ? ` at line ${verdict.line}` : ''}: ${verdict.why}. \`handrail audit renew\` starts a new log`,
      )
      const { bytes: taken, atLeast, near } = await runtime.pruning.size()
      const parts = Object.entries(taken).filter(([, one]) => one > 0)
      const sum = parts.reduce((all, [, one]) => all + one, 0)
      const room = `${atLeast ? 'at least ' : ''}${size(sum)}: ${parts.map(([kind, one]) => `${kind} ${size(one)}`).join(', ')}`
      const full = near.map(({ what, count, most }) => `${count} of ${most} ${what}`).join(', ')
      const isNote = sum > largeBytes || near.length > 0
      const why = full ? `${room}; nearly full: ${full}` : room
      add('room', isNote ? 'note' : 'good', isNote ? `${why}. \`handrail prune\` says what can go` : why)
      const traces = runtime.capabilities.traces()
      if (traces)
        add(
          'traces',
          'note',
          traces.wrong === undefined
            ? `what is done, without contents, is told to ${traces.endpoint} (OTEL_EXPORTER_OTLP_…)`
            : `not told to ${traces.endpoint}: ${traces.wrong}`,
        )
      const waiting = runtime.approvals.count('pending')
      add('approvals', waiting ? 'note' : 'good', waiting ? `${waiting} wait for you: handrail approvals list` : 'none pending')
      await runtime.close()
    } catch (thrown) {
      const { message, hint } = errorBodyOf(asFault(thrown)).error
      add('project', 'bad', `${message}${hint ? ` — ${hint}` : ''}`)
    }
    if (json)
      say(terminalJson({ findings, settings: settings.map(({ key, value, origin }) => ({ key, value, origin })), ignored }))
    else {
      const marks = { good: green('ok  '), note: yellow('note'), bad: red('BAD ') }
      for (const finding of findings)
        say(`${marks[finding.state]} ${bold(finding.what.padEnd(10))} ${under(printableBlock(finding.says), column)}`)
      for (const { key, says } of ignored) say(`     ${yellow('ignored')}    ${under(`${key}: ${oneLine(says, 200)}`, column)}`)
      if (settings.length)
        say(
          `\n${table(
            ['setting', 'value', 'from'],
            settings.map(({ key, value, origin }) => [key, brief(value), origin]),
          )}`,
        )
    }
    return findings.some((finding) => finding.state === 'bad') ? 1 : 0
  },
}

/** The store that machines share: whether it answers, and who carries runs out. */
async function lookAtCluster(
  { cluster }: Pick<Operator, 'cluster'>,
  add: (what: string, state: Finding['state'], says: string) => void,
): Promise<void> {
  try {
    const view = await cluster()
    if (!view) return
    const { workers, depth } = view
    add('database', 'good', `${view.database}, space ${view.space}; queue on ${view.queue}, artifacts in ${view.artifacts}`)
    const able = workers.filter(({ kind, alive, sameRules, draining }) => kind === 'worker' && alive && sameRules && !draining)
    const others = workers.filter(({ kind, alive, sameRules }) => kind === 'worker' && alive && !sameRules).length
    const queue = `${depth.queued} queued${depth.queued ? `, the oldest for ${Math.round(depth.oldestMs / 1000)} s` : ''}, ${depth.running} running, ${depth.waitingForPerson} wait for a person`
    add('workers', able.length ? 'good' : 'note', `${able.length} carry out what is handed in here; ${queue}`)
    if (others)
      add('workers', 'note', `${others} more go by other settings, and so take nothing from here: \`handrail runs workers\``)
  } catch (thrown) {
    const { message, hint } = errorBodyOf(asFault(thrown)).error
    add('database', 'bad', `${message}${hint ? ` — ${hint}` : ''}`)
  }
}

/** A state that is larger is worth a word. */
const largeBytes = 1_000_000_000
/** Where the words of a finding stand. */
const column = 16

function inWords(loosenings: readonly { says: string }[]): string {
  return oneLine(loosenings.map(({ says }) => says).join('; '), 500)
}

function brief(value: unknown): string {
  const text = terminalJson(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Operator } from '../../../contracts/operator.ts'
import type { AuditLine } from '../../../contracts/audit.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command, Invocation } from '../command.ts'
import { confirm } from '../confirm.ts'
import { auditRow, auditTable, pathsIn } from '../audit-rows.ts'
import { dim, green, printable, progressBar, red, say, yellow } from '../print.ts'
import { sayRoots } from '../root-lines.ts'
import { folded } from '../screen-rows.ts'
import { wholeId } from '../whole-id.ts'
import { logPage } from '../../../text/log-page/log-page.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'Read the log of everything that was done, and check that nobody changed it',
  usage: 'handrail audit verify|show|tail|export|anchor|renew --project DIR [options]',
  acts: { show: 0, verify: 0, tail: 0, export: 0, anchor: 0, renew: 0 },
  about: `verify  checks the chain of hashes, and that nothing is missing. Exit 0: intact. Exit 1: names the first bad line. What an earlier
        verify found intact is compared with it byte for byte, and only what came since line by line; --full takes every line.
show    the newest events (--limit N, --call ID, --session ID, --tool NAME, --path PATH, --client NAME, --outcome WORD).
tail    follows the log as it grows.
export  the whole log as JSON Lines on stdout, its head on stderr. With --html one page: it shows each call's story, and checks
        itself in any browser, without the network.
anchor  prints where the log stands now (line, hash, time, project), or adds it to a file with --to FILE. Kept where nobody who can
        reach the log can reach it, it proves later that nothing was taken away: verify --anchor FILE or verify --anchor HASH.
renew   after a break (a log that was removed, put back to an older state or swapped): keeps what is left, and starts a new log whose
        first line says so. Until then nothing that must be written down is done.

The log is audit.jsonl in the project's state folder (handrail state says where): one JSON line an event, each carrying the hash of
the line before. A file that is full (limits.auditFileBytes) is closed as audit.NUMBER.jsonl, after its first entry, and the log goes on in
the next: all of these commands read them as one. Closed files stay until you say handrail prune, or for limits.auditKeptDays.`,
  options: [
    { name: 'limit', value: 'N', says: 'How many events to show. Default 30.' },
    { name: 'call', value: 'ID', says: 'Only this call.' },
    { name: 'session', value: 'ID', says: 'Only this session.' },
    { name: 'tool', value: 'NAME', says: 'Only this tool.' },
    { name: 'path', value: 'PATH', says: 'Only what touches this file, or a file below this folder.' },
    { name: 'client', value: 'NAME', says: 'Only this client, with or without its version.' },
    {
      name: 'outcome',
      value: 'WORD',
      says: 'Only what ended so: ok, error, cancelled, approved, denied, or a code such as E_CONFLICT.',
    },
    { name: 'html', says: 'export: one page that checks itself.' },
    { name: 'anchor', value: 'FILE|HASH', says: 'verify: the log must still hold what was anchored.' },
    { name: 'full', says: 'verify: every line by itself, whatever was verified before.' },
    { name: 'to', value: 'FILE', says: 'anchor: add it to this file.' },
    { name: 'yes', says: 'renew: do not ask again.' },
  ],
  examples: [
    'handrail audit verify --project .',
    'handrail audit show --tool write_to_file --limit 10 --project .',
    'handrail audit show --path src --outcome error --project .',
    'handrail audit export --project . > audit.jsonl',
    'handrail audit export --html --project . > audit.html',
    'handrail audit anchor --to /media/stick/anchors.jsonl --project .',
    'handrail audit verify --anchor /media/stick/anchors.jsonl --project .',
  ],
  onlyReads: true,
  async run(invocation) {
    const [what = 'show'] = invocation.words
    const runtime = invocation.open()
    try {
      switch (what) {
        case 'verify':
          return await verify(invocation, runtime)
        case 'show':
          return show(invocation, runtime)
        case 'tail':
          return await tail(invocation, runtime)
        case 'export':
          return await exportAll(invocation, runtime)
        case 'anchor':
          return anchor(invocation, runtime)
        case 'renew':
          return await renew(invocation, runtime)
        default:
          throw new Fault('bad-input', `Unknown: audit ${what}`, {
            hint: 'audit verify, show, tail, export, anchor or renew.',
          })
      }
    } finally {
      await runtime.close()
    }
  },
}

async function verify({ json, options }: Invocation, runtime: Operator): Promise<number> {
  const wanted = options['anchor']
  const anchors =
    typeof wanted !== 'string'
      ? []
      : /^[0-9a-f]{64}$/i.test(wanted)
        ? [{ hash: wanted.toLowerCase() }]
        : runtime.audit.anchorsIn(wanted)
  const bar = progressBar('Checking')
  const verdict = await runtime.audit.check({ full: options['full'] === true, anchors, onProgress: bar.show })
  bar.end()
  if (json) say(terminalJson(verdict))
  else if (verdict.whole)
    say(
      `${green('Log intact')}: ${verdict.lines} entries, head ${verdict.head}` +
        (anchors.length ? `\nAnchors found: ${anchors.length}` : '') +
        (verdict.pruned
          ? `\nKept from entry ${verdict.pruned.upTo + 1} on: the earlier ones were pruned by ${printable(verdict.pruned.by)} on ${printable(verdict.pruned.at.slice(0, 10))}`
          : '') +
        (verdict.note ? `\n${yellow(verdict.note)}` : ''),
    )
  else say(`${red('Broken')}${verdict.line ? ` at line ${verdict.line}` : ''}: ${verdict.why}`)
  return verdict.whole ? 0 : 1
}

function anchor({ json, options }: Invocation, runtime: Operator): number {
  const to = options['to']
  const anchored = typeof to === 'string' ? runtime.audit.keepAnchor(to) : { project: runtime.project, ...runtime.audit.head() }
  if (json) say(terminalJson(anchored))
  else {
    say(`entry ${anchored.seq}, ${anchored.at || 'nothing written yet'}\n${anchored.hash}\n${printable(anchored.project)}`)
    if (typeof to === 'string') say(dim(`Added to ${printable(to)}. Check with: handrail audit verify --anchor ${printable(to)}`))
  }
  return 0
}

async function renew({ json, options }: Invocation, runtime: Operator): Promise<number> {
  const verdict = await runtime.audit.check()
  if (verdict.whole)
    throw new Fault('conflict', 'The log is intact; there is nothing to renew', {
      hint: '`handrail audit verify` shows it.',
    })
  const question = `${printable(verdict.why)}.\nKeep what is left aside and start a new log?`
  const yes = options['yes'] === true || (await confirm(question, 'question'))
  if (yes === undefined)
    throw new Fault('bad-input', 'Nobody is at this terminal to confirm', { hint: 'Say --yes to start a new log.' })
  if (!yes) return 1
  const kept = runtime.audit.renew()
  say(
    json
      ? terminalJson({ kept })
      : `A new log was started; its first line records the break. Kept: ${kept.join(', ') || 'nothing was left'}`,
  )
  return 0
}

interface Wanted {
  fits: (line: AuditLine) => boolean
  /** As they stand in a line that fits. */
  holding: string[]
}

function wantedBy({ options }: Invocation, runtime: Operator): Wanted {
  const { tool, path, client, outcome } = options
  const call = typeof options['call'] === 'string' ? callNamed(runtime, options['call']) : undefined
  const session = typeof options['session'] === 'string' ? wholeId(runtime, 'sess', options['session']) : undefined
  return {
    fits: (line) =>
      (call === undefined || line.call === call) &&
      (session === undefined || line.session === session) &&
      (tool === undefined || line.tool === tool) &&
      (typeof path !== 'string' || touchesPath(line, path)) &&
      (typeof client !== 'string' || line.client === client || line.client?.startsWith(`${client}/`) === true) &&
      (typeof outcome !== 'string' || endedSo(line, outcome)),
    holding: Object.entries({ call, session, tool }).flatMap(([name, value]) =>
      value === undefined ? [] : [`"${name}":${terminalJson(value)}`],
    ),
  }
}

/** A file by its name in the project, or whatever lies below a folder. */
function touchesPath(line: AuditLine, wanted: string): boolean {
  const path = wanted.replace(/^\.\//, '').replace(/\/+$/, '')
  return pathsIn(line).some((one) => path === '.' || one === path || one.startsWith(`${path}/`))
}

/** In the words that `show` prints. A program that failed is an error of its own kind. */
function endedSo(line: AuditLine, outcome: string): boolean {
  const { exitCode } = (line.details ?? {}) as { exitCode?: unknown }
  const failed = typeof exitCode === 'number' && exitCode !== 0
  if (outcome === 'ok') return (line.outcome === 'ok' || line.outcome === 'replayed') && !failed
  if (outcome === 'error') return line.outcome === 'error' || failed
  if (outcome === 'approved' || outcome === 'denied') return line.approved === (outcome === 'approved')
  return line.outcome === outcome || line.error === outcome
}

/** A call by the beginning of its id. Of those that changed nothing only the log knows. */
function callNamed(runtime: Operator, typed: string): string {
  const begins = typed.startsWith('call_') ? typed : `call_${typed}`
  const [found] = runtime.audit.last(1, ({ call }) => call?.startsWith(begins) === true, [`"call":"${begins}`])
  if (found?.call === undefined)
    throw new Fault('not-found', `No such call in the log: ${typed}`, {
      hint: '`handrail audit show` lists the newest, with their ids.',
    })
  return found.call
}

function show(invocation: Invocation, runtime: Operator): number {
  const limit = Number(invocation.options['limit'] ?? 30)
  if (!Number.isInteger(limit) || limit < 1) throw new Fault('bad-input', '--limit must be a whole number above 0', {})
  const { fits, holding } = wantedBy(invocation, runtime)
  const lines = runtime.audit.last(limit, fits, holding)
  if (invocation.json) for (const line of lines) say(terminalJson(line))
  else if (lines.length === 0) say('Nothing yet.')
  else {
    say(auditTable(lines))
    sayRoots(lines.flatMap(pathsIn), runtime.roots)
  }
  return 0
}

/** Follows until it is told to stop. Whoever reads slowly is not written ahead of: the log is read on from where it stands. */
async function tail(invocation: Invocation, runtime: Operator): Promise<number> {
  const { fits } = wantedBy(invocation, runtime)
  const from = Math.max(1, runtime.audit.head().seq - 9)
  const show = async (lines: readonly AuditLine[]): Promise<void> => {
    for (const line of lines.filter(fits))
      await print(invocation.json ? terminalJson(line) : folded(auditRow(line).map(printable).join('  ')))
  }
  const stop = runtime.audit.subscribe({ from, onLost: (why) => process.stderr.write(`${yellow(why)}\n`) }, show)
  // Following alone keeps no process alive.
  const staying = setInterval(() => undefined, 2 ** 31 - 1)
  await new Promise<void>((resolve) => process.once('SIGINT', resolve))
  clearInterval(staying)
  stop()
  return 0
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await new Promise((resolve) => process.stdout.once('drain', resolve))
}

async function exportAll({ options }: Invocation, runtime: Operator): Promise<number> {
  if (options['html'] === true) return await exportPage(runtime)
  for (const line of runtime.audit.lines()) await print(terminalJson(line))
  const head = runtime.audit.head()
  process.stderr.write(`${dim(`head: line ${head.seq}, ${head.hash}`)}\n`)
  return 0
}

/** What is exported is checked first: a page that says it is intact is not made of a log that is not. */
async function exportPage(runtime: Operator): Promise<number> {
  const verdict = await runtime.audit.check()
  if (!verdict.whole)
    throw new Fault('conflict', `The log is broken at line ${verdict.line}: ${verdict.why}`, {
      hint: 'No page was made. `handrail audit export` gives the lines as they are, `handrail audit verify` says what is wrong.',
    })
  // Entries that come while it is written are left to the next export.
  const { lines: last, head } = verdict
  const first = (verdict.pruned?.upTo ?? 0) + 1
  const facts = {
    project: basename(runtime.project),
    exportedAt: new Date().toISOString(),
    entries: Math.max(0, last - first + 1),
    head,
  }
  const digest = (text: string): string => createHash('sha256').update(text).digest('base64')
  for (const part of logPage(upTo(last, runtime.audit.lines()), facts, digest))
    if (!process.stdout.write(part)) await new Promise((resolve) => process.stdout.once('drain', resolve))
  process.stderr.write(`${dim(`head: line ${last}, ${head}`)}\n`)
  return 0
}

function* upTo(last: number, lines: Iterable<AuditLine>): Generator<AuditLine> {
  for (const line of lines) {
    if (line.seq > last) return
    yield line
  }
}

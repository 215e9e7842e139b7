import { setTimeout as pause } from 'node:timers/promises'
import type { AuditLine } from '../../../contracts/audit.ts'
import { ToolError } from '../../../contracts/errors.ts'
import type { Command, Invocation } from '../command.ts'
import { dim, green, oneLine, plain, progressBar, red, say, table, yellow } from '../print.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'Read the log of everything that was done, and check that nobody changed it',
  usage: 'handrail audit verify|show|tail|export --project DIR [options]',
  about: `verify  checks the chain of hashes. Exit 0: whole. Exit 1: names the first bad line.
show    the newest events (--limit N, --call ID, --session ID, --tool NAME).
tail    follows the log as it grows.
export  the whole log as JSON Lines on stdout, its head on stderr; note the head elsewhere to prove later that nothing was cut.

The log is audit.jsonl in the project's state folder (handrail state says where): one JSON line an event, each carrying the hash of
the line before.`,
  options: [
    { name: 'limit', value: 'N', says: 'How many events to show. Default 30.' },
    { name: 'call', value: 'ID', says: 'Only this call.' },
    { name: 'session', value: 'ID', says: 'Only this session.' },
    { name: 'tool', value: 'NAME', says: 'Only this tool.' },
  ],
  examples: [
    'handrail audit verify --project .',
    'handrail audit show --tool write_to_file --limit 10 --project .',
    'handrail audit export --project . > audit.jsonl',
  ],
  looks: true,
  async run(invocation) {
    const [what = 'show'] = invocation.words
    const runtime = invocation.open()
    try {
      switch (what) {
        case 'verify':
          return verify(invocation, runtime)
        case 'show':
          return show(invocation, runtime)
        case 'tail':
          return await tail(invocation, runtime)
        case 'export':
          return await exportAll(runtime)
        default:
          throw new ToolError('E_BAD_ARGS', `Unknown: audit ${what}`, { hint: 'audit verify, show, tail or export.' })
      }
    } finally {
      await runtime.close()
    }
  },
}

type Runtime = ReturnType<Invocation['open']>

function verify({ json }: Invocation, runtime: Runtime): number {
  const bar = progressBar('Checking')
  const verdict = runtime.audit.verify(bar.show)
  bar.end()
  if (json) say(JSON.stringify(verdict))
  else if (verdict.whole)
    say(`${green('Whole')}: ${verdict.lines} lines, head ${verdict.head}${verdict.note ? `\n${yellow(verdict.note)}` : ''}`)
  else say(`${red('Broken')} at line ${verdict.line}: ${verdict.why}`)
  return verdict.whole ? 0 : 1
}

function filterOf({ options }: Invocation): (line: AuditLine) => boolean {
  const { call, session, tool } = options
  return (line) =>
    (call === undefined || line.call === call) &&
    (session === undefined || line.session === session) &&
    (tool === undefined || line.tool === tool)
}

function show(invocation: Invocation, runtime: Runtime): number {
  const limit = Number(invocation.options['limit'] ?? 30)
  if (!Number.isInteger(limit) || limit < 1) throw new ToolError('E_BAD_ARGS', '--limit must be a whole number above 0', {})
  const lines = runtime.audit.last(limit, filterOf(invocation))
  if (invocation.json) for (const line of lines) say(JSON.stringify(line))
  else if (lines.length === 0) say('Nothing yet.')
  else say(table(['line', 'time', 'event', 'what', 'outcome', 'by', 'id'], lines.map(row)))
  return 0
}

function row(line: AuditLine): string[] {
  const what = [line.tool, pathsOf(line), line.evidence?.join(', ')].filter(Boolean).join(' ')
  const outcome = line.error ?? line.outcome ?? (line.approved === undefined ? '' : line.approved ? 'approved' : 'denied')
  return [
    String(line.seq),
    line.at.slice(0, 19).replace('T', ' '),
    line.event,
    oneLine(what || (line.message ?? ''), 60),
    outcome,
    oneLine(line.by ?? line.client ?? '', 24),
    line.call ?? line.approval ?? line.session ?? '',
  ]
}

function pathsOf(line: AuditLine): string {
  const touches = Array.isArray(line.touches) ? (line.touches as { path?: string }[]) : []
  return touches
    .map((touch) => touch.path)
    .filter(Boolean)
    .join(', ')
}

async function tail(invocation: Invocation, runtime: Runtime): Promise<number> {
  const fits = filterOf(invocation)
  let seen = Math.max(0, runtime.audit.head().seq - 10)
  let open = true
  process.once('SIGINT', () => (open = false))
  while (open) {
    const fresh = runtime.audit.last(1_000, (line) => line.seq > seen && fits(line)).filter((line) => line.seq > seen)
    for (const line of fresh) say(invocation.json ? JSON.stringify(line) : row(line).map(plain).join('  '))
    seen = Math.max(seen, runtime.audit.head().seq)
    await pause(300)
  }
  return 0
}

async function exportAll(runtime: Runtime): Promise<number> {
  for (const line of runtime.audit.lines())
    if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await new Promise((resolve) => process.stdout.once('drain', resolve))
  const head = runtime.audit.head()
  process.stderr.write(`${dim(`head: line ${head.seq}, ${head.hash}`)}\n`)
  return 0
}

import { Fault } from '../../../contracts/faults/fault.ts'
import { memoryKinds, type MemoryHit, type MemoryKind, type MemoryStatus } from '../../../contracts/memory.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { timeOf } from '../../../text/time-of.ts'
import type { Command, Invocation } from '../command.ts'
import { bold, dim, oneLine, printableInline, progressBar, say, size, yellow } from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'
import { shortId } from '../whole-id.ts'

export const memory: Command = {
  name: 'memory',
  summary: 'Find what was done before: calls, runs, artifacts, conversations',
  usage: 'handrail memory search [WORD…]|status|rebuild --project DIR [options]',
  acts: { search: Number.POSITIVE_INFINITY, status: 0, rebuild: 0 },
  about: `search   the newest first, with all of the words, in any order. Of what is written without spaces, as Chinese is, every stretch is found.
status   how far the index is, and how much it takes.
rebuild  throws the index away and makes it anew.

Agents have it as search_memory; they find no conversations but those with Handrail's own agent find theirs. The index holds no text: what is
shown is read from the log, the runs, the artifacts and the conversations themselves. Removed or damaged, it is made anew from them.`,
  options: [
    { name: 'path', value: 'PATH', says: 'Only what touches this file, or a file below this folder.' },
    { name: 'tool', value: 'NAME', says: 'Only calls of this tool.' },
    { name: 'kind', value: 'KIND', says: `Only these: ${memoryKinds.join(', ')}.` },
    { name: 'since', value: 'TIME', says: 'Only from then on: 2026-11-18, or 2026-11-18T09:00:00Z.' },
    { name: 'until', value: 'TIME', says: 'Only up to then; a date alone is its end.' },
    { name: 'limit', value: 'N', says: 'How many to show. Default 20.' },
  ],
  examples: [
    'handrail memory search lantern --project .',
    'handrail memory search --path game/scene --tool write_to_file --since 2026-11-01 --project .',
    'handrail memory status --project .',
  ],
  onlyReads: true,
  async run(invocation) {
    const [what = 'status', ...words] = invocation.words
    const runtime = invocation.open()
    try {
      if (what === 'search') return await search(invocation, runtime, words)
      const bar = progressBar('Reading the log')
      const status = what === 'rebuild' ? await runtime.memory.rebuild(bar.show) : runtime.memory.status()
      bar.end()
      say(invocation.json ? terminalJson(status) : statusText(status))
      return 0
    } finally {
      await runtime.close()
    }
  },
}

async function search({ options, json }: Invocation, runtime: Operator, words: readonly string[]): Promise<number> {
  const limit = Number(options['limit'] ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new Fault('bad-input', '--limit must be a whole number from 1 to 1000', {})
  const kind = options['kind'] as MemoryKind | undefined
  if (kind !== undefined && !memoryKinds.includes(kind))
    throw new Fault('bad-input', `No such kind: ${kind}`, { hint: `One of ${memoryKinds.join(', ')}.` })
  const text = (name: string): string | undefined => (typeof options[name] === 'string' ? options[name] : undefined)
  const bar = progressBar('Reading the log')
  const answer = await runtime.memory.search(
    {
      words: words.join(' '),
      path: text('path'),
      tool: text('tool'),
      kind,
      since: timeOf(text('since'), false),
      until: timeOf(text('until'), true),
      limit,
    },
    undefined,
    bar.show,
  )
  bar.end()
  const { hits, more, behind } = answer
  if (json) say(terminalJson(answer))
  else {
    say(hits.length === 0 ? 'Nothing found.' : hits.map(shown).join('\n'))
    if (more) say(dim(`There are older ones: --limit ${limit * 2}, or --until ${hits.at(-1)?.at ?? ''}.`))
    if (behind > 0) say(yellow(`${behind === 1 ? 'One entry' : `${behind} entries`} of the log could not be looked through.`))
  }
  return 0
}

/** What was written down may be anybody's words: they stand behind a bar. */
function shown({ kind, id, at, what, outcome, excerpt }: MemoryHit): string {
  const name = kind === 'event' ? `line ${id}` : `${kind} ${oneLine(shortId(id), 40)}`
  const head = `${at.slice(0, 19).replace('T', ' ')}  ${name}${outcome === undefined ? '' : `  ${oneLine(outcome, 40)}`}`
  const lines = [
    oneLine(what, 200),
    ...(excerpt === undefined ? [] : [oneLine(printableInline(excerpt.trim().replace(/\s*\n\s*/g, ' · ')), 240)]),
  ]
  return `${bold(folded(head))}\n${quotedBlock(lines, '| ', columns())}`
}

function statusText({ entries, bytes, upTo, head, madeAnew }: MemoryStatus): string {
  return [
    `${entries} entries, ${size(bytes)}`,
    upTo >= head
      ? `Everything up to line ${head} of the log is in it.`
      : `Up to line ${upTo} of ${head} of the log; the next search takes up the rest.`,
    ...(madeAnew === undefined ? [] : [`Made anew: ${oneLine(madeAnew, 200)}.`]),
  ].join('\n')
}

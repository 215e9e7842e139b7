import { userInfo } from 'node:os'
import { Fault } from '../../../contracts/faults/fault.ts'
import { grantKinds, type Grant } from '../../../contracts/grant.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Session } from '../../../contracts/session.ts'
import type { Command, Invocation } from '../command.ts'
import { ago, green, oneLine, printable, say, table, warn } from '../print.ts'
import { wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const grants: Command = {
  name: 'grants',
  summary: 'See what you let agents do beyond the rules, give more and take it back',
  usage: 'handrail grants list|allow KIND WHAT|revoke ID [--session ID] [--once | --for TIME | --always] --project DIR',
  acts: { list: 0, allow: 2, revoke: 1 },
  about: `Files that hold credentials (.env, .npmrc, keys, …) are out of reach of every tool and program. \`grants allow secret PATH\` lets
the tools of one session read that one file; programs still do not see it, and nobody writes it. \`grants allow runs PATH\` lets a
session change a file that makes a program run something on an everyday command (vite.config.ts, Makefile, …) without asking;
your first yes to such a change gives the same. It counts for the reasons the file is asked about now: where it runs for another
one later, or is removed, you are asked again. \`grants allow host NAME\` lets pages be sent to that site, with --once for one run or call; your yes to a
question about sites gives the same for its session. \`grants allow tool mcp.SERVER.TOOL\` lets a session call that tool of a mounted server without asking, as it is defined
now. A grant is for one file, site or tool and one session, or with --always for every session; what is not for
good lapses by itself. Secrets are never granted for good. All of it is in the log, with every use of a secret.`,
  options: [
    { name: 'session', value: 'ID', says: 'Whose it is. It must be said where there are several.' },
    { name: 'for', value: 'TIME', says: 'How long it counts: 30m, 2h, 1d. Default 12h, at most 7d.' },
    { name: 'once', says: 'For secret: one reading, and no more. For host: one run or call.' },
    { name: 'always', says: 'For runs, host and tool: every session, until you revoke it.' },
  ],
  examples: [
    'handrail grants list --project .',
    'handrail grants allow secret config/.env.test --for 1h --project .',
    'handrail grants allow runs vite.config.ts --always --project .',
    'handrail grants allow host example.org --always --project .',
    'handrail grants allow tool mcp.files.read --session sess_1f2e3d4c --project .',
    'handrail grants revoke grant_1f2e3d4c5b6a7988 --project .',
  ],
  async run(invocation) {
    const { words, json, open } = invocation
    const [what = 'list', ...rest] = words
    const runtime = open()
    try {
      if (what === 'list') {
        const found = runtime.grants.list()
        if (json) for (const grant of found) say(terminalJson(grant))
        else
          say(
            found.length
              ? table(['id', 'kind', 'for', 'what', 'session', 'given', 'by', 'until', 'reasons'], found.map(row))
              : 'Nothing is granted.',
          )
        return 0
      }
      const by = `${userInfo().username}@cli`
      if (what === 'allow') {
        const grant = await given(runtime, { ...wanted(invocation, rest), by }, json)
        if (json) say(terminalJson(grant))
        else say(`${green('Granted')}: ${described(grant)}  (to take it back: handrail grants revoke ${grant.id})`)
        return 0
      }
      const [id] = rest
      if (what !== 'revoke' || id === undefined)
        throw new Fault('bad-input', what === 'revoke' ? 'Which grant?' : `Unknown: grants ${what}`, {
          hint: 'grants list, allow secret PATH, allow runs PATH, allow host NAME, allow tool NAME or revoke ID.',
        })
      const revoked = runtime.grants.revoke(wholeId(runtime, 'grant', id), by)
      say(json ? terminalJson(revoked) : `Revoked: ${printable(revoked.subject)}`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}

type Give = Operator['grants']['give']
type Given = Awaited<ReturnType<Give>>

/** Where it must be said whose it is, those who may be meant are shown. */
async function given({ grants: { give } }: Operator, wish: Parameters<Give>[0], json: boolean): Promise<Given> {
  try {
    return await give(wish)
  } catch (fault) {
    const offered = fault instanceof Fault ? fault.details?.['sessions'] : undefined
    if (json || !Array.isArray(offered)) throw fault
    const rows = (offered as (Session & { refused: boolean; program?: string })[]).map((one) => [
      one.id,
      oneLine(one.client, 40),
      one.surface,
      one.program === undefined ? '' : oneLine(one.program, 40),
      ago(one.lastAt),
      one.refused ? 'was refused it' : '',
    ])
    warn(table(['session', 'client', 'over', 'process', 'last call', ''], rows))
    const { message, hint } = fault as Fault
    throw new Fault('bad-input', message, hint === undefined ? {} : { hint })
  }
}

function wanted({ options }: Invocation, [kind, path]: string[]): Omit<Parameters<Give>[0], 'by'> {
  const known = grantKinds.find((one) => one === kind)
  if (known === undefined || path === undefined)
    throw new Fault('bad-input', 'Say what is granted and for which file, site or tool', {
      hint: 'handrail grants allow secret PATH, runs PATH, host NAME, or tool NAME.',
    })
  const { session, for: time, once, always } = options
  if (
    [time !== undefined, once === true, always === true].filter(Boolean).length > 1 ||
    (always === true && session !== undefined)
  )
    throw new Fault('bad-input', 'Say one of --once, --for TIME and --always, and no session with --always', {
      hint: 'Without any of them it counts for 12 hours of one session.',
    })
  return {
    kind: known,
    subject: path,
    ...(once === true && { scope: 'once' as const }),
    ...(always === true && { scope: 'always' as const }),
    ...(typeof session === 'string' && { session }),
    ...(typeof time === 'string' && { ttlMs: milliseconds(time) }),
  }
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function milliseconds(time: string): number {
  const [, count, unit] = /^(\d{1,4})([mhd])$/.exec(time) ?? []
  const ms = Number(count) * units[unit as keyof typeof units]
  if (ms > 0 && ms <= 7 * units.d) return ms
  throw new Fault('bad-input', `Not a time: ${oneLine(time, 40)}`, { hint: 'Write 30m, 2h or 1d; seven days at most.' })
}

function row({ id, kind, scope, subject, session, by, givenAt, expiresAt, reasons }: Grant): string[] {
  const why = oneLine(reasons.join('; '), 120)
  return [id, kind, scope, oneLine(subject, 60), session ?? 'every', ago(givenAt), oneLine(by, 30), until(expiresAt), why]
}

const until = (at: number | null): string => (at === null ? 'you revoke it' : new Date(at).toISOString())

function described({ kind, scope, session, subject, expiresAt, client, surface }: Given): string {
  const whose = session === null ? 'every session' : `${printable(session)} (${oneLine(client ?? '', 40)} over ${surface ?? ''})`
  const may = { secret: 'read', runs: 'change', host: 'visit', tool: 'call' }[kind]
  return `${whose} may ${may} ${printable(subject)}${scope === 'once' ? ' once,' : ''} until ${until(expiresAt)}`
}

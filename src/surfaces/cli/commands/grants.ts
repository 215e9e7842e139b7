import { userInfo } from 'node:os'
import { Fault } from '../../../contracts/faults/fault.ts'
import { grantKinds, type Grant } from '../../../contracts/grant.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Session } from '../../../contracts/session.ts'
import type { Command, Invocation } from '../command.ts'
import { ago, green, oneLine, printable, say, table, warn } from '../print.ts'

export const grants: Command = {
  name: 'grants',
  summary: 'Let one session read a secret or go on changing a file, and take that back',
  usage: 'handrail grants list|allow KIND PATH|revoke ID [--session ID] [--for TIME] --project DIR',
  about: `Files that hold credentials (.env, .npmrc, keys, …) are out of reach of every tool and program. \`grants allow secret PATH\` lets
the tools of one session read that one file; programs still do not see it, and nobody writes it. \`grants allow runs PATH\` lets a
session change a file that makes a program run something on an everyday command (vite.config.ts, Makefile, …) without asking;
your first yes to such a change gives the same. A grant is for one session and one file, lapses by itself, and is in the log with every use.`,
  options: [
    { name: 'session', value: 'ID', says: 'Whose it is. It must be said where there are several.' },
    { name: 'for', value: 'TIME', says: 'How long it counts: 30m, 2h, 1d. Default 12h, at most 7d.' },
  ],
  examples: [
    'handrail grants list --project .',
    'handrail grants allow secret config/.env.test --for 1h --project .',
    'handrail grants revoke grant_1f2e3d4c5b6a7988 --project .',
  ],
  async run(invocation) {
    const { words, json, open } = invocation
    const [what = 'list', ...rest] = words
    const runtime = open()
    try {
      if (what === 'list') {
        const found = runtime.grants.list()
        if (json) for (const grant of found) say(JSON.stringify(grant))
        else
          say(found.length ? table(['id', 'kind', 'path', 'session', 'given', 'until'], found.map(row)) : 'Nothing is granted.')
        return 0
      }
      const by = `${userInfo().username}@cli`
      if (what === 'allow') {
        const grant = given(runtime, { ...wanted(invocation, rest), by }, json)
        if (json) say(JSON.stringify(grant))
        else
          say(
            `${green('Granted')}: ${printable(grant.session)} (${oneLine(grant.client, 40)} over ${grant.surface}) may ${grant.kind === 'secret' ? 'read' : 'change'} ${printable(grant.path)} until ${new Date(grant.expiresAt).toISOString()}  (to take it back: handrail grants revoke ${grant.id})`,
          )
        return 0
      }
      const [id] = rest
      if (what !== 'revoke' || id === undefined)
        throw new Fault('bad-input', what === 'revoke' ? 'Which grant?' : `Unknown: grants ${what}`, {
          hint: 'grants list, allow secret PATH, allow runs PATH or revoke ID.',
        })
      const revoked = runtime.grants.revoke(id, by)
      say(json ? JSON.stringify(revoked) : `Revoked: ${printable(revoked.path)}`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}

type Give = Operator['grants']['give']

/** Where it must be said whose it is, those who may be meant are shown. */
function given({ grants: { give } }: Operator, wish: Parameters<Give>[0], json: boolean): ReturnType<Give> {
  try {
    return give(wish)
  } catch (fault) {
    const offered = fault instanceof Fault ? fault.details?.['sessions'] : undefined
    if (json || !Array.isArray(offered)) throw fault
    const rows = (offered as (Session & { refused: boolean })[]).map((one) => [
      one.id,
      oneLine(one.client, 40),
      one.surface,
      ago(one.lastAt),
      one.refused ? 'was refused it' : '',
    ])
    warn(table(['session', 'client', 'over', 'last call', ''], rows))
    const { message, hint } = fault as Fault
    throw new Fault('bad-input', message, hint === undefined ? {} : { hint })
  }
}

function wanted(
  { options }: Invocation,
  [kind, path]: string[],
): { kind: Grant['kind']; path: string; session?: string; ttlMs?: number } {
  const known = grantKinds.find((one) => one === kind)
  if (known === undefined || path === undefined)
    throw new Fault('bad-input', 'Say what is granted and for which file', {
      hint: 'handrail grants allow secret PATH, or: handrail grants allow runs PATH.',
    })
  const { session, for: time } = options
  return {
    kind: known,
    path,
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

function row({ id, kind, path, session, givenAt, expiresAt }: Grant): string[] {
  return [id, kind, oneLine(path, 60), session, ago(givenAt), new Date(expiresAt).toISOString()]
}

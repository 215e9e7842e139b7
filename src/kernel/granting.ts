import { Fault } from '../contracts/faults/fault.ts'
import { scopesOf, type Grant } from '../contracts/grant.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Session } from '../contracts/session.ts'
import type { Tool } from '../contracts/tool.ts'
import { plainHost } from '../text/host-name.ts'
import { namesOn } from '../text/root-path.ts'
import { foldName } from '../text/fold-name.ts'
import { secretOn } from '../text/secret-files.ts'
import { askedOnce, type Mark } from './marks.ts'
import type { AskedFor, AuditPort, GrantPort } from './ports.ts'
import { scrub } from './redacted-input.ts'

/** How long a grant counts, where the person says nothing else. */
const grantTtlMs = 12 * 3_600_000

const scopeWords: Record<Grant['scope'], string> = { once: 'once', session: 'for a session', always: 'for good' }

type Offered = Session & { refused: boolean; program?: string }

/** What is kept of it, and what the machine does for it. */
export interface GrantingPorts {
  grants: {
    give(given: readonly Omit<Grant, 'id' | 'givenAt'>[], record: (grants: readonly Grant[]) => void): Grant[]
    list(): Grant[]
    revoke(id: string, record: (grant: Grant) => void): Grant | undefined
    mayChange(session: string, subject: string, reason: string): boolean
    mayVisit(session: string, host: string, by: string): boolean
    mayCall(session: string, tool: string, definition: string): boolean
    use(kind: Grant['kind'], session: string, subject: string): boolean
  }
  audit: Pick<AuditPort, 'write'>
  sessions: {
    get(id: string): Session | undefined
    since(time: number, most: number): Session[]
    refusedAt(path: string, most: number): Session[]
  }
  secrets: {
    /** Does it with these secrets at hand. */
    letThrough<T>(paths: ReadonlySet<string>, act: () => T): T
    isLetThrough(path: string): boolean
    /** The path in its written-down form; throws where it may not be used, which `asWritten` does not ask. */
    normal(path: string): string
    asWritten(path: string): string
    /** Whether the file there is kept from agents for what it holds. */
    isSecretByContent(path: string): boolean
  }
  /** The program behind a process, while it runs. */
  programOf(peer: string): string | undefined
  /** Why a change of this file would be asked about as it is now. */
  marksOn(path: string): Promise<Mark[]>
  /** The tool of this name, as it is offered now. */
  toolOf(name: string): Pick<Tool, 'definition' | 'grantable'> | undefined
}

/** What the person lets sessions do: given and taken back by them, used by the kernel. */
export function granting({ grants, audit, sessions, secrets, programOf, marksOn, toolOf }: GrantingPorts): {
  person: Operator['grants']
  kernel: GrantPort
} {
  const line =
    (event: 'grant.given' | 'grant.revoked', by: string) =>
    ({ id, kind, scope, subject, reasons, session, expiresAt }: Grant, durable = true) => {
      const until = expiresAt === null ? null : new Date(expiresAt).toISOString()
      const why = reasons.length > 0 && { reasons: reasons.map(scrub) }
      const about = { [kind === 'host' || kind === 'tool' ? kind : 'path']: scrub(subject) }
      const details = { grant: id, kind, scope, ...about, ...why, until }
      audit.write({ event, ...(session !== null && { session }), by, details }, durable)
    }
  /** With one flush for all of them. */
  const lines =
    (by: string) =>
    (given: readonly Grant[]): void =>
      given.forEach((grant, at) => line('grant.given', by)(grant, at === given.length - 1))
  const person: Operator['grants'] = {
    list: grants.list,
    async give({ kind, subject, scope = 'session', session, by, ttlMs = grantTtlMs }) {
      if (!scopesOf[kind].includes(scope))
        throw new Fault('bad-input', `"${kind}" is granted ${scopesOf[kind].map((one) => scopeWords[one]).join(' or ')}`, {
          hint: 'Secrets are never granted for good, and one change is what a yes is for.',
        })
      const plain = kind === 'host' ? siteOf(subject) : kind === 'tool' ? subject : grantable(kind, subject, secrets)
      const reasons =
        kind === 'runs' ? everyday(plain, await marksOn(plain)) : kind === 'tool' ? [definitionOf(plain, toolOf(plain))] : []
      const given = { kind, scope, subject: plain, reasons, by }
      const one = (grant: Omit<Grant, 'id' | 'givenAt'>): Grant => grants.give([grant], lines(by))[0] as Grant
      if (scope === 'always') return one({ ...given, session: null, expiresAt: null })
      const whose = session === undefined ? theOnly(whoMayMean(plain, sessions), kind, plain, programOf) : sessions.get(session)
      if (whose === undefined)
        throw new Fault('not-found', session === undefined ? 'No session to grant it to' : `No such session: ${session}`, {
          hint: '`handrail sessions` lists them.',
        })
      const grant = one({ ...given, session: whose.id, expiresAt: Date.now() + ttlMs })
      return { ...grant, client: whose.client, surface: whose.surface }
    },
    revoke(id, by) {
      const revoked = grants.revoke(id, line('grant.revoked', by))
      if (revoked) return revoked
      throw new Fault('not-found', `No such grant: ${id}`, { hint: '`handrail grants list` shows those in force.' })
    },
  }
  const kernel: GrantPort = {
    mayChange: (session, { path, says }) => grants.mayChange(session, path, says),
    letChange(session, marks, approval) {
      const given = { kind: 'runs', scope: 'session', session, by: approval, expiresAt: Date.now() + grantTtlMs } as const
      const all = [...byPath(marks)].map(([subject, reasons]) => ({ ...given, subject, reasons }))
      if (all.length > 0) grants.give(all, lines(approval))
    },
    mayVisit: grants.mayVisit,
    mayCall: (session, { name, definition, grantable: isGrantable }) =>
      isGrantable && definition !== undefined && grants.mayCall(session, name, definition),
    letVisit(session, hosts, approval) {
      const given = {
        kind: 'host',
        scope: 'session',
        session,
        by: approval,
        reasons: [],
        expiresAt: Date.now() + grantTtlMs,
      } as const
      if (hosts.length > 0)
        grants.give(
          hosts.map((subject) => ({ ...given, subject })),
          lines(approval),
        )
    },
    reading(path, { id, session }, act) {
      const plain = plainly(path)
      if (!grants.use('secret', session, plain)) return act()
      audit.write({ event: 'grant.used', call: id, session, details: { kind: 'secret', path: scrub(plain) } })
      return secrets.letThrough(new Set([plain]), act)
    },
    letsRead: secrets.isLetThrough,
  }
  return { person, kernel }
}

/** How many sessions a person is shown to choose from, and of how many: a process that opens many pushes nobody out. */
const mostOffered = 10
const mostLookedAt = 500

/** Whom a person may mean: who was refused the file comes first, then whoever was at work last. */
function whoMayMean(path: string, sessions: GrantingPorts['sessions']): Offered[] {
  const live = sessions.since(Date.now() - grantTtlMs, mostLookedAt)
  const refused = sessions.refusedAt(path, mostLookedAt)
  const others = (live.length ? live : sessions.since(0, mostLookedAt)).filter(({ id }) => !refused.some((one) => one.id === id))
  return [...refused.map((one) => ({ ...one, refused: true })), ...others.map((one) => ({ ...one, refused: false }))]
}

/** Nobody guesses whose a grant is: a client that opens a session at the right moment, or borrows a name, would get it. */
function theOnly(
  offered: Offered[],
  kind: Grant['kind'],
  path: string,
  programOf: GrantingPorts['programOf'],
): Offered | undefined {
  const [first, ...more] = offered
  if (!first || more.length === 0) return first
  const program = ({ peer }: Offered): string | undefined => (peer ? programOf(peer) : undefined)
  const rows = onePerProcess(offered).map((one) => ({ ...one, ...(program(one) !== undefined && { program: program(one) }) }))
  const sure = !more.some((one) => sameName(one, first) || (first.refused && one.refused))
  const why = first.refused ? 'was refused it last' : 'called last'
  const words = `handrail grants allow ${kind} ${path} --session`
  throw new Fault('bad-input', 'Several sessions are there; say whose the grant shall be', {
    details: { sessions: rows.slice(0, mostOffered) },
    hint: sure
      ? `${first.client} over ${first.surface} ${why}: ${words} ${first.id}`
      : `Names are what clients call themselves. An agent that was refused was told the id of its session: ask yours for it, then ${words} ID`,
  })
}

const nameOf = ({ client }: Session): string => foldName(client.replace(/\/[^/]*$/, ''))
const sameName = (one: Session, other: Session): boolean => nameOf(one) === nameOf(other)

/** However many sessions a process opens, it is one row; its last comes first. */
function onePerProcess(offered: Offered[]): Offered[] {
  const seen = new Set<string>()
  return offered.filter(({ peer }) => !peer || (!seen.has(peer) && seen.add(peer)))
}

/** The path of a grant in its written-down form; throws where there is nothing to let through, or nobody may. */
function grantable(kind: Grant['kind'], path: string, secrets: GrantingPorts['secrets']): string {
  const normal =
    kind === 'secret'
      ? secrets.letThrough(new Set([plainly(secrets.asWritten(path))]), () => secrets.normal(path))
      : secrets.normal(path)
  if (kind === 'secret' && secretOn(normal.split('/')) === undefined && !secrets.isSecretByContent(normal))
    throw new Fault('bad-input', `${normal} is not kept from anybody`, { hint: 'Agents can read it as it is.' })
  return normal
}

/** A site as pages are judged by it. */
function siteOf(given: string): string {
  const site = plainHost(given)
  if (site !== undefined) return site
  throw new Fault('bad-input', `Not a site: ${given.slice(0, 100)}`, {
    hint: 'Give its host alone, such as example.org, without https:// and without a port.',
  })
}

/** What of a tool is agreed to; throws where it is not one that a person can let through. */
function definitionOf(name: string, tool: Pick<Tool, 'definition' | 'grantable'> | undefined): string {
  if (tool?.definition !== undefined && tool.grantable) return tool.definition
  throw new Fault('bad-input', `${scrub(name.slice(0, 100))} is no tool whose question can be left out`, {
    hint: 'Those of mounted MCP servers can be, as they are defined now (`handrail mounts list`); what acts on your screen is asked about each time.',
  })
}

/** Why a person may let a file be changed without a question; throws where nobody asks about it, or about more than one yes can be for. */
function everyday(path: string, marks: readonly Mark[]): string[] {
  const asked = askedOnce(marks)
  if (asked.length > 0) return asked.map(({ says }) => says)
  const each = marks.find(({ asks }) => asks === 'always')
  throw new Fault('bad-input', each ? `${path} is asked about each time: it ${each.says}` : `Nobody is asked about ${path}`, {
    hint: 'What is granted is a change of a file that makes a program run something on an everyday command, for that reason.',
  })
}

function byPath(marks: readonly AskedFor[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { path, says } of marks) found.set(path, [...(found.get(path) ?? []), says])
  return found
}

/** A path without what means nothing in it. */
export function plainly(path: string): string {
  return namesOn(path)
    .filter((name) => name !== '' && name !== '.')
    .join('/')
}

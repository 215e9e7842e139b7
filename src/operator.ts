import type { Approval } from './contracts/approval.ts'
import { Fault } from './contracts/faults/fault.ts'
import { scopesOf, type Grant } from './contracts/grant.ts'
import type { Operator, Runtime } from './contracts/runtime.ts'
import type { Session } from './contracts/session.ts'
import { secretOn } from './text/secret-files.ts'
import type { Files } from './host/files.ts'
import { isSecretGranted, withSecretGrants } from './host/secret-grants.ts'
import type { Stages } from './host/stage/stages.ts'
import type { Ports } from './kernel/ports.ts'
import { scrub } from './kernel/redacted-input.ts'
import type { LoadedSettings } from './settings.ts'
import type { ApprovalStore } from './stores/approvals.ts'
import type { AuditStore } from './stores/audit.ts'
import type { GrantStore } from './stores/grants.ts'
import type { SessionStore } from './stores/sessions.ts'

/** How long a grant counts, where the person says nothing else. */
const grantTtlMs = 12 * 3_600_000

const scopeWords: Record<Grant['scope'], string> = { once: 'once', session: 'for a session', always: 'for good' }

type Offered = Session & { refused: boolean }

/** The person's answers: each is in the log before it counts. */
export function decisions(approvals: ApprovalStore, audit: AuditStore, stages: Stages): Operator['approvals'] {
  return {
    list: approvals.list,
    count: approvals.count,
    get: approvals.get,
    state: (id) => approvals.head(id)?.state,
    text: async (id, path, from = 0) => approvals.text(id, path, from) ?? stages.part(id, path, from),
    lift: (id, by) =>
      approvals.lift(id, ({ tool, session }) => audit.write({ event: 'approval.lifted', approval: id, by, tool, session }, true)),
    decide(id, decision) {
      const asked = approvals.head(id)
      if (!asked) throw new Fault('not-found', `No such approval: ${id}`, { hint: '`handrail approvals list` shows what waits.' })
      const unread = decision.approve && !asked.whole
      const decided = approvals.decide(id, decision, () =>
        audit.write(
          {
            event: 'approval.decided',
            approval: id,
            approved: decision.approve,
            by: scrub(decision.by),
            tool: asked.tool,
            session: asked.session,
            inputDigest: asked.inputDigest,
            ...(unread && { details: { unread: true } }),
            ...(decision.note !== undefined && { message: scrub(decision.note) }),
          },
          true,
        ),
      )
      const now = approvals.get(id) as Approval
      if (now.state === 'denied') stages.forget(id)
      if (!decided)
        throw new Fault('conflict', `This approval is already ${now.state}`, {
          details: { approvalId: id },
          hint: 'A decision is final; the agent can ask again.',
        })
      return now
    },
  }
}

/** What the person lets sessions do: given and taken back by them, used by the kernel. */
export function granting(
  grants: GrantStore,
  audit: AuditStore,
  sessions: Pick<SessionStore, 'get' | 'since' | 'refusedAt'>,
  files: Files,
): { person: Operator['grants']; kernel: Ports['grants'] } {
  const line =
    (event: 'grant.given' | 'grant.revoked', by: string) =>
    ({ id, kind, scope, subject, session, expiresAt }: Grant) => {
      const until = expiresAt === null ? null : new Date(expiresAt).toISOString()
      const details = { grant: id, kind, scope, path: scrub(subject), until }
      audit.write({ event, ...(session !== null && { session }), by, details }, true)
    }
  const person: Operator['grants'] = {
    list: grants.list,
    give({ kind, subject, scope = 'session', session, by, ttlMs = grantTtlMs }) {
      if (!scopesOf[kind].includes(scope))
        throw new Fault('bad-input', `"${kind}" is granted ${scopesOf[kind].map((one) => scopeWords[one]).join(' or ')}`, {
          hint: 'Secrets are never granted for good, and one change is what a yes is for.',
        })
      const plain = grantable(kind, subject, files)
      const given = { kind, scope, subject: plain, by }
      if (scope === 'always') return grants.give({ ...given, session: null, expiresAt: null }, line('grant.given', by))
      const whose = session === undefined ? theOnly(whoMayMean(plain, sessions), kind, plain) : sessions.get(session)
      if (whose === undefined)
        throw new Fault('not-found', session === undefined ? 'No session to grant it to' : `No such session: ${session}`, {
          hint: '`handrail sessions` lists them.',
        })
      const grant = grants.give({ ...given, session: whose.id, expiresAt: Date.now() + ttlMs }, line('grant.given', by))
      return { ...grant, client: whose.client, surface: whose.surface }
    },
    revoke(id, by) {
      const revoked = grants.revoke(id, line('grant.revoked', by))
      if (revoked) return revoked
      throw new Fault('not-found', `No such grant: ${id}`, { hint: '`handrail grants list` shows those in force.' })
    },
  }
  const kernel: Ports['grants'] = {
    mayChange: (session, path) => grants.holds('runs', session, path),
    letChange(session, paths, approval) {
      const given = { kind: 'runs', scope: 'session', session, by: approval, expiresAt: Date.now() + grantTtlMs } as const
      for (const subject of paths) grants.give({ ...given, subject }, line('grant.given', approval))
    },
    reading(path, { id, session }, act) {
      const plain = plainly(path)
      if (!grants.use('secret', session, plain)) return act()
      audit.write({ event: 'grant.used', call: id, session, details: { kind: 'secret', path: scrub(plain) } })
      return withSecretGrants(new Set([plain]), act)
    },
    letsRead: isSecretGranted,
  }
  return { person, kernel }
}

/** How many sessions a person is shown to choose from. */
const mostOffered = 10

/** Whom a person may mean: who was refused the file comes first, then whoever was at work last. */
function whoMayMean(path: string, sessions: Pick<SessionStore, 'since' | 'refusedAt'>): Offered[] {
  const live = sessions.since(Date.now() - grantTtlMs, mostOffered)
  const refused = sessions.refusedAt(path, mostOffered)
  const others = (live.length ? live : sessions.since(0, mostOffered)).filter(({ id }) => !refused.some((one) => one.id === id))
  return [...refused.map((one) => ({ ...one, refused: true })), ...others.map((one) => ({ ...one, refused: false }))]
}

/** Nobody guesses whose a grant is: a client that opens a session at the right moment would get it. */
function theOnly(offered: Offered[], kind: Grant['kind'], path: string): Offered | undefined {
  const [first, ...more] = offered
  if (!first || more.length === 0) return first
  const why = first.refused ? 'was refused it last' : 'called last'
  throw new Fault('bad-input', 'Several sessions are there; say whose the grant shall be', {
    details: { sessions: offered.slice(0, mostOffered) },
    hint: `${first.client} over ${first.surface} ${why}: handrail grants allow ${kind} ${path} --session ${first.id}`,
  })
}

/** The path of a grant in its written-down form; throws where there is nothing to let through, or nobody may. */
function grantable(kind: Grant['kind'], path: string, files: Files): string {
  const normal = kind === 'secret' ? withSecretGrants(new Set([plainly(path)]), () => files.normal(path)) : files.normal(path)
  if (kind === 'secret' && secretOn(normal.split('/')) === undefined && !isSecretByContent(normal, files))
    throw new Fault('bad-input', `${normal} is not kept from anybody`, { hint: 'Agents can read it as it is.' })
  return normal
}

function isSecretByContent(path: string, files: Files): boolean {
  try {
    files.readPart(path, () => ({ start: 0, end: 0 }))
    return false
  } catch (fault) {
    return fault instanceof Fault && fault.reason === 'path-denied'
  }
}

function plainly(path: string): string {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/')
}

const longestPath = 1_000

/** Calls, with a note of who is at work and who was refused which path: for the person who is asked whose a grant shall be. */
export function attended(call: Runtime['call'], sessions: Pick<SessionStore, 'called' | 'refused'>): Runtime['call'] {
  return async (name, input, caller, options) => {
    ifPossible(() => sessions.called(caller.session))
    try {
      return await call(name, input, caller, options)
    } catch (fault) {
      const path = fault instanceof Fault && fault.reason === 'path-denied' ? fault.details?.['path'] : undefined
      if (typeof path === 'string' && path.length <= longestPath && caller.role !== 'person')
        ifPossible(() => sessions.refused(caller.session, plainly(path)))
      throw fault
    }
  }
}

/** Where the disk is full, what only reads goes on. */
function ifPossible(act: () => void): void {
  try {
    act()
  } catch {
    // It is a convenience; the log has the call.
  }
}

/** A person's trust in the project's own settings, as they were read. */
export function trusting({ project, trust }: LoadedSettings, audit: AuditStore): Operator['trust'] {
  return {
    grant(digest, by) {
      const { digest: read, loosenings = [] } = project ?? {}
      if (read === undefined || digest !== read)
        throw new Fault('conflict', 'The project’s settings are not the ones that were to be trusted', {
          details: { expected: digest, found: read ?? null },
          hint: 'Look at the file again: `handrail trust --status`.',
        })
      audit.write({ event: 'trust.granted', by, details: { digest, settings: loosenings.map(({ key }) => key) } }, true)
      trust.grant(digest, loosenings)
    },
    revoke(by) {
      const revoked = trust.revoke()
      if (revoked) audit.write({ event: 'trust.revoked', by }, true)
      return revoked
    },
  }
}

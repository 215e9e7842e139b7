import type { Config } from '../contracts/config.ts'
import { openDatabase, type Database } from '../host/database.ts'
import { openFiles } from '../host/files.ts'
import { headName, headsFolder } from '../host/heads.ts'
import { openLock } from '../host/lock.ts'
import { pathRules } from '../host/paths.ts'
import { openRootLocks } from '../host/root-locks.ts'
import type { Root } from '../host/walk.ts'
import { endSuspended } from '../kernel/suspended-calls.ts'
import { openAgentSessions } from '../stores/agent-sessions.ts'
import { openApprovals } from '../stores/approvals.ts'
import { openArtifacts } from '../stores/artifacts.ts'
import { openAudit } from '../stores/audit.ts'
import { openChats } from '../stores/chats.ts'
import { openCredentials } from '../stores/credentials.ts'
import { openLogins } from '../stores/logins.ts'
import { openSealing } from '../stores/sealing.ts'
import { openEvidence } from '../stores/evidence.ts'
import { openGrants } from '../stores/grants.ts'
import { openIdempotency } from '../stores/idempotency.ts'
import { openJournal } from '../stores/journal.ts'
import { openKnownAnchors } from '../stores/known-anchors.ts'
import { openMemory } from '../stores/memory/memory.ts'
import { openMountedTools } from '../stores/mounted-tools.ts'
import { openModelKeys } from '../stores/model-keys.ts'
import { openPlanStore } from '../stores/plans.ts'
import { openPins } from '../stores/pins.ts'
import { tellHalfAnswer } from '../stores/recovery.ts'
import { openRuns } from '../stores/runs.ts'
import { schema, schemaVersion } from '../stores/schema.ts'
import { openRootNames } from '../stores/roots.ts'
import { openServerRuns } from '../stores/server-runs.ts'
import { openServedPages } from '../stores/served-pages.ts'
import { openQuestions } from '../stores/questions.ts'
import { openSessions } from '../stores/sessions.ts'
import { openSnapshots } from '../stores/snapshots.ts'
import { openSuspended } from '../stores/suspended.ts'
import { openUnasked } from '../stores/unasked.ts'
import { rootMark } from '../text/root-path.ts'
import type { Keep } from './closing.ts'
import type { Place } from './place.ts'
import type { Roots } from './roots.ts'
import type { Traces } from './traces.ts'

export type Stores = ReturnType<typeof openStores>

/** Everything that is kept of the project. It is opened once: settings that change leave it open. */
export function openStores(
  { root: opened, kept, environment }: Place,
  config: () => Config,
  roots: Pick<Roots, 'opened' | 'folders'>,
  /** A question that nobody can answer any more takes its stage with it. */
  forgetStage: (approval: string) => void,
  traces: Pick<Traces, 'audit'>,
  keep: Keep,
  patienceMs?: number,
) {
  const state = kept.folder
  const limits = (): Config['limits'] => config().limits
  const now = (one: Root): Root => ({ ...one, mounts: config().policies.crossMounts ? undefined : one.mounts })
  const root: Root = {
    ...opened,
    get mounts() {
      return now(opened).mounts
    },
    get others() {
      return new Map([...roots.opened].map(([mark, one]) => [mark, now(one)]))
    },
  }
  const locks = state.sub('locks')
  const projectLock = keep(openLock(locks.file('project.db'), patienceMs))
  const auditLock = keep(openLock(locks.file('audit.db'), patienceMs))
  const openingLock = openLock(locks.file('opening.db'), patienceMs)
  // The very first open changes the file's mode, which two processes must not do at once.
  let db: Database
  try {
    db = keep(openingLock.holdNow(() => openDatabase(state.file('handrail.db'), schema, schemaVersion, patienceMs)))
  } finally {
    openingLock.close()
  }
  const apart = { folder: kept.base.sub(headsFolder), name: headName(root.path) }
  const written = keep(
    openAudit(state, auditLock, apart, {
      get fileBytes() {
        return limits().auditFileBytes
      },
      get keptDays() {
        return limits().auditKeptDays
      },
    }),
  )
  const audit = traces.audit(written)
  if (kept.remounted)
    audit.note({ event: 'state.remounted', message: 'the project lies on another device than before', details: kept.remounted })
  const contents = state.sub('snapshots')
  const snapshots = openSnapshots(contents, db, projectLock.holdNow)
  const idempotency = openIdempotency(db, () => limits().idempotencyTtlMs)
  const suspended = openSuspended(db)
  const sealing = openSealing(state)
  const named = (name: string, path: string): void =>
    audit.note({ event: 'root.named', message: `${rootMark(name)} is ${path}`, details: { name, path } })
  const artifacts = openArtifacts(state)
  const chats = keep(openChats(db))
  const agentSessions = openAgentSessions(db, () => config().agent.agentSessions)
  return {
    state,
    projectLock,
    rootLocks: keep(openRootLocks(kept.base, root.path, patienceMs)),
    rootNames: openRootNames(db, named),
    db,
    audit,
    contents,
    snapshots,
    approvals: openApprovals(db, {
      lapsed(lapsed, by) {
        const { id, call, tool, session } = lapsed
        forgetStage(id)
        const asked = { ...(call !== undefined && { call }), approval: id }
        audit.write({ event: 'approval.decided', ...asked, approved: false, by, tool, session })
        endSuspended({ audit, suspended }, lapsed, id)
      },
      halfAnswered: (asked) => tellHalfAnswer(asked, audit),
    }),
    suspended,
    sessions: openSessions(db),
    questions: openQuestions(db),
    grants: openGrants(db),
    unasked: openUnasked(db),
    idempotency,
    journal: openJournal({
      root,
      // What it touches has been judged; what a killed process left must be put right whatever the rules are today.
      files: openFiles(root, pathRules([], [], false, { further: roots.folders }), Number.MAX_SAFE_INTEGER),
      snapshots,
      db,
      get retention() {
        return limits().snapshotRetention
      },
      onDropped: (call) => idempotency.forget(call),
    }),
    evidence: keep(openEvidence(state)),
    mountedTools: openMountedTools(db),
    runs: openRuns(db),
    plans: openPlanStore(db),
    servers: openServerRuns(db, () => limits().runTtlMs),
    artifacts,
    knownAnchors: openKnownAnchors(state),
    chats,
    agentSessions,
    memory: keep(openMemory(state, { audit, db, artifacts, chats, agentSessions })),
    modelKeys: openModelKeys(kept.base, async () => (await import('../host/keyring.ts')).openKeyring(environment)),
    pins: openPins(db, projectLock),
    credentials: openCredentials(state),
    sealing,
    logins: openLogins(db, sealing),
    servedPages: openServedPages(state),
  }
}

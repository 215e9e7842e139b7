import type { ClientForms } from '../contracts/client-forms.ts'
import type { Caller } from '../contracts/call.ts'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Plans } from '../contracts/plan.ts'
import type { Profile } from '../contracts/profile.ts'
import type { ProjectText } from '../contracts/skill.ts'
import type { NamedRoot } from '../contracts/roots.ts'
import { anchorsIn, keepAnchor } from '../host/anchors.ts'
import { bringsOldState } from '../host/state-project.ts'
import { idsLike } from '../stores/ids-like.ts'
import { openAsking } from './questions.ts'
import { openPruning } from '../stores/prune.ts'
import { trusting } from '../stores/trust.ts'
import { scrub } from '../text/redact/scrub.ts'
import type { Traces } from './traces.ts'
import { version } from '../version.ts'
import type { ActiveSettings } from './active-settings.ts'
import type { Live } from './live.ts'
import type { OwnTemplates } from './project-templates.ts'
import type { Machine } from './machine.ts'
import type { Mounts } from './mounts.ts'
import type { Identity } from './identity.ts'
import type { OwnPrompts } from './prompts.ts'
import type { OwnSkills } from './skills.ts'
import type { Place } from './place.ts'
import type { Stores } from './stores.ts'

export interface RuntimeParts {
  place: Place
  stores: Stores
  machine: Machine
  activeSettings: ActiveSettings
  live: Live
  roots: () => readonly NamedRoot[]
  call: Operator['call']
  approvals: Operator['approvals']
  grants: Operator['grants']
  forms: ClientForms
  recover: () => Promise<void>
  runs: Operator['runs']
  cluster: Operator['cluster']
  moveRuns: Operator['moveRuns']
  /** Runs to which something happened on another machine. */
  runsElsewhere: (listener: (runs: readonly string[]) => void) => () => void
  traces: Pick<Traces, 'about'>
  templates: OwnTemplates
  mounts: Mounts
  skills: OwnSkills
  prompts: OwnPrompts
  identity: Identity
  plans: Plans
  servers: Operator['servers']
  agent: (gate: AgentGate) => ReturnType<Operator['agent']>
  /** What the callers of a profile go by, and how they call. */
  under: (profile: Profile) => Pick<RuntimeParts, 'activeSettings' | 'call'>
}

/** So many states are offered to whoever fills in an address. */
const mostIds = 1_000

/** What agents' surfaces are handed. It is an object of its own: there is nothing of the person's behind it, whatever anybody casts it to. */
export function gateTo({
  stores: { audit, sessions, snapshots },
  activeSettings: { now },
  live,
  templates,
  mounts,
  skills,
  call,
  runsElsewhere,
}: RuntimeParts): AgentGate {
  return {
    version,
    get notice() {
      const { project, config } = now().settings
      const parts = [project?.says, templates.ignored()?.says, mounts.notice(config)].filter((part) => part !== undefined)
      return parts.length > 0 ? parts.join(' ') : undefined
    },
    get waits() {
      const { answerWithinMs, approvalWaitMs } = now().settings.config.limits
      return { answerWithinMs, approvalWaitMs }
    },
    get tools() {
      return now().kernel.tools
    },
    listed: () => now().listed(),
    offers: (tool) => now().kernel.offers(tool),
    accepts: (tool, input) => now().kernel.accepts(tool, input),
    assess: (tool, input, caller) => now().kernel.assess(tool, input, asAgent(caller)),
    offeredSkills: skills.list,
    onToolsChanged: live.onToolsChanged,
    get wraps() {
      return now().settings.config.wrap
    },
    mountsKnown: mounts.known,
    openSession(session) {
      const client = scrub(session.client)
      if (sessions.open({ ...session, client }))
        audit.note({ event: 'session.opened', session: session.id, surface: session.surface, client })
    },
    call: (name, input, caller, options) => call(name, input, asAgent(caller), options),
    events: (session, wanted, listener) => audit.subscribe({ ...wanted, session }, listener),
    onNews(listener) {
      const deaf = runsElsewhere((runs) => listener({ log: false, snapshots: false, runs }))
      const stop = audit.subscribe(
        { events: (event) => event !== 'call.read', onLost: () => listener({ log: true, snapshots: true, runs: [] }) },
        (lines) =>
          listener({
            log: lines.length > 0,
            snapshots: lines.some(({ snapshots: made, event }) => made?.length || event === 'state.imported'),
            runs: lines.flatMap(({ run }) => run ?? []),
          }),
      )
      return () => {
        deaf()
        stop()
      }
    },
    lastLine: () => audit.head().seq,
    snapshotIds: () => snapshots.list(mostIds, '', now().files.reaches).map(({ id }) => id),
  }
}

/** Whatever a surface says: nobody is a person here. */
function asAgent(caller: Caller): AgentCaller {
  return caller.role === 'agent' ? (caller as AgentCaller) : { ...caller, role: 'agent' }
}

/** What the person holds. */
export function operatorOf(parts: RuntimeParts, close: () => Promise<void>): Operator {
  const { place, stores, machine, activeSettings, call, approvals, grants, forms, recover } = parts
  const { state, projectLock, db, audit, contents, snapshots, sessions, credentials, chats, servedPages } = stores
  const { now } = activeSettings
  const gate = gateTo(parts)
  const gates = new Map<Profile, AgentGate>()
  const project = place.root.path
  let shown: ProjectText[] = []
  return {
    gate,
    gateFor(profile) {
      const known = gates.get(profile) ?? gateTo({ ...parts, ...parts.under(profile) })
      gates.set(profile, known)
      return known
    },
    forms,
    project,
    get roots() {
      return parts.roots()
    },
    version,
    get config() {
      return now().settings.config
    },
    get settings() {
      return now().settings.settings
    },
    get projectSettings() {
      return now().settings.project
    },
    projectTemplates: (offers) => parts.templates.projectTemplates(gate.tools, offers),
    async projectTexts() {
      shown = [...(await parts.skills.projectTexts()), ...parts.prompts.projectTexts(), ...parts.identity.projectTexts()]
      return shown
    },
    skills: parts.skills,
    prompts: parts.prompts,
    plans: parts.plans,
    trust: trusting(
      () => now().settings,
      parts.templates.digests,
      // What was read and shown is what is granted.
      () => shown.flatMap(({ file, digest, wrong }) => (digest !== undefined && wrong.length === 0 ? [{ file, digest }] : [])),
      audit,
    ),
    state: { base: place.kept.base.path, folder: state.path, ignored: bringsOldState(project) },
    capabilities: {
      get search() {
        return now().search.engine
      },
      paths: place.root.method,
      sqlite: process.getBuiltinModule?.('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite',
      browser: machine.web.about,
      traces: parts.traces.about,
      confinement: () => now().reach.stages.confinement(),
    },
    get tools() {
      return gate.tools
    },
    listed: gate.listed,
    offers: gate.offers,
    whyOff: (tool) => now().kernel.whyOff(tool),
    call,
    openSession: gate.openSession,
    sessions: sessions.list,
    notes: sessions.notes,
    questions: openAsking(stores.questions, audit).person,
    approvals,
    grants,
    logins: {
      list: stores.logins.list,
      remove(id, by) {
        const removed = stores.logins.remove(id)
        if (removed) audit.note({ event: 'login.removed', by, message: removed.site, details: { session: id } })
        return removed
      },
    },
    mounts: parts.mounts.person,
    runs: parts.runs,
    cluster: parts.cluster,
    moveRuns: parts.moveRuns,
    servers: parts.servers,
    modelKeys: { set: stores.modelKeys.set, list: stores.modelKeys.list, clear: stores.modelKeys.clear },
    agent: (one = gate) => parts.agent(one),
    async scriptEditor() {
      const { openScriptEditor } = await import('../toolsets/webgal/editor/script-editor.ts')
      return openScriptEditor(() => now().scripts)
    },
    pruning: openPruning({
      state,
      contents,
      db,
      audit,
      snapshots,
      memory: stores.memory,
      exclusive: (act) =>
        projectLock.hold(async () => {
          await recover()
          return act()
        }),
    }),
    audit: {
      ...audit,
      keepAnchor(file) {
        const anchor = { project, ...audit.head() }
        keepAnchor(file, anchor)
        return anchor
      },
      anchorsIn: (file) => anchorsIn(file, project),
    },
    memory: {
      search: stores.memory.for({ sees: () => true, reaches: () => true, artifacts: true, conversations: true }).search,
      rebuild: stores.memory.rebuild,
      status: stores.memory.status,
    },
    snapshots: (limit, prefix) => snapshots.list(limit, prefix),
    idsLike: (kind, prefix) => idsLike(db, kind, prefix),
    ...credentials,
    chats,
    servedPages,
    close,
  }
}

import type { Caller } from '../contracts/call.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Profile } from '../contracts/profile.ts'
import type { RuntimeOptions } from '../contracts/runtime.ts'
import type { Tool } from '../contracts/tool.ts'
import { isSecretByContent } from '../host/files.ts'
import { asWritten } from '../host/paths.ts'
import { isSecretGranted, withSecretGrants } from '../host/secret-grants.ts'
import { claimPorts } from '../host/own-ports.ts'
import { programOf } from '../host/peer.ts'
import type { Stages } from '../host/stage/stages.ts'
import { withSessionActivity } from '../kernel/session-activity.ts'
import { openClientForms } from '../kernel/client-forms.ts'
import { decisions } from '../kernel/decisions.ts'
import { recoverSuspended, settleSuspended } from '../kernel/suspended-calls.ts'
import { printable } from '../text/printable.ts'
import { runToEnd } from '../text/steps.ts'
import { granting } from '../kernel/granting.ts'
import { openRecovery } from '../stores/recovery.ts'
import type { AgentUse } from '../toolsets/agent/index.ts'
import { allTools, type Uses } from '../toolsets/index.ts'
import { openClosing, type Closing } from './closing.ts'
import { operatorOf } from './faces.ts'
import { openActiveSettings, type ActiveSettings } from './active-settings.ts'
import { notLive, openLive } from './live.ts'
import { openAgents } from './agents.ts'
import { openMachine } from './machine.ts'
import { openMounts } from './mounts.ts'
import { openPlace, type Place } from './place.ts'
import { underProfile } from './profile.ts'
import { openOwnTemplates } from './project-templates.ts'
import { openPlans } from './plans.ts'
import { openIdentity } from './identity.ts'
import { openPrompts } from './prompts.ts'
import { openReach } from './reach.ts'
import { openRoots } from './roots.ts'
import { openRuns } from './runs.ts'
import { openServerRuns } from './server-runs.ts'
import { loadSettings, type LoadedSettings } from './settings.ts'
import { openSettingsScope } from './settings-scope.ts'
import { openSkills } from './skills.ts'
import { openStores } from './stores.ts'
import { openAsking } from './questions.ts'
import { openTraces } from './traces.ts'
import { packaged } from '../version.ts'

const probeAfterMs = 500
const lapseEveryMs = 30_000
const servedMs = 500
/** The tool that starts programs that keep running, and ends them. */
const startsServers = 'execute_command'

/** What the person goes by where they named further roots. */
const ofPerson: Profile = { roots: 'all', paths: 'absolute' }

/** Opens the rooms on a project and wires them. `toolsets` is for whoever composes a runtime with tools of their own. */
export function openRuntime(options: RuntimeOptions, toolsets: (use: Uses) => Tool[] = allTools): Operator {
  const closing = openClosing()
  try {
    return wire(openPlace(options, closing.keep), options, toolsets, closing)
  } catch (fault) {
    closing.closeNow()
    throw fault
  }
}

function wire(place: Place, options: RuntimeOptions, toolsets: (use: Uses) => Tool[], { keep, close }: Closing): Operator {
  const read = (standIn?: { fault: unknown; text: string }): LoadedSettings =>
    loadSettings(place.root, place.kept.folder, options, standIn)
  /** With settings that can be used, else with the stand-in; whatever else is wrong is thrown again. */
  const orStandIn = <T>(text: string | undefined, use: (standIn?: { fault: unknown; text: string }) => T): T => {
    try {
      return use()
    } catch (fault) {
      if (text === undefined) throw fault
      return use({ fault, text })
    }
  }
  let settings = orStandIn(options.standIn, read)
  const config = () => settings.config

  const stages = (): Stages => activeSettings.now().reach.stages
  const roots = keep(openRoots(place, options, () => stores.rootNames))
  const traces = keep(openTraces(place.environment))
  const stores = openStores(place, config, roots, (approval) => stages().forget(approval), traces, keep, options.patienceMs)
  const { audit, sessions } = stores
  const serverRuns = openServerRuns(stores)
  const machine = openMachine(
    place,
    config,
    () => {
      const { preview, policies, limits } = config()
      const { files, reach } = activeSettings.now()
      return {
        files,
        hideLinkedSecrets: reach.links.hideLinkedSecrets,
        preview,
        allowedHosts: policies.browserAllowedHosts,
        forbiddenHosts: policies.browserForbiddenHosts,
        timeoutMs: limits.browserTimeoutMs,
      }
    },
    serverRuns.records,
    stores.logins,
    keep,
  )
  // Other processes of the project serve pages as well; they do not come and go by the millisecond.
  const served = { ports: [] as number[], until: 0 }
  keep({
    close: claimPorts(() => {
      if (performance.now() < served.until) return served.ports
      served.until = performance.now() + servedMs
      try {
        served.ports = stores.servedPages
          .list()
          .flatMap(({ url, page }) => [url, page ?? url].map((one) => Number(new URL(one).port)))
      } catch {
        // The state was taken away under this process. What was known stays so, and `claimPort` has every port of a Handrail besides.
      }
      return served.ports
    }),
  })
  const recovery = openRecovery({
    ...stores,
    lock: stores.projectLock,
    pendingIn: () => stores.rootNames.pending().flatMap((name) => roots.folders.get(name) ?? []),
  })
  const grants = granting({
    grants: stores.grants,
    audit,
    sessions,
    programOf,
    secrets: {
      letThrough: withSecretGrants,
      isLetThrough: isSecretGranted,
      normal: (path) => personally().now().files.normal(path),
      asWritten: (path) => asWritten(path, personally().now().reach.rules),
      isSecretByContent: (path) => isSecretByContent(personally().now().files, path),
    },
    marksOn: (path) => personally().now().kernel.marksOn(path),
    toolOf: (name) => operator.gate.tools.find((tool) => tool.name === name),
  })
  /** When somebody called last, steps of runs excepted. */
  let calledAt = Number.NEGATIVE_INFINITY
  const templates = openOwnTemplates(place.root, place.environment, () => settings.trust)
  const skills = openSkills(place.root, place.environment, packaged('skills'), () => settings.trust)
  const prompts = openPrompts(place.root, packaged('prompts'), () => settings.trust)
  const identity = openIdentity(place.root, place.environment, () => settings.trust)
  const agents = openAgents({
    stores,
    settings: () => activeSettings.now().settings,
    environment: place.environment,
    traces,
    prompts,
    identity,
    skills,
    gateFor: (profile) => operator.gateFor(profile),
  })
  const runs = openRuns({
    taskAgent: agents.taskAgent,
    stores,
    gate: () => operator.gate,
    settings: () => activeSettings.now().settings,
    untightened: options.untightened === true,
    templates,
    sessions: machine.web.sessions,
    calledAt: () => calledAt,
  })
  const mounts = openMounts({
    project: place.root.path,
    environment: place.environment,
    programs: machine.programs,
    store: stores.mountedTools,
    audit,
    config,
    stdioServers: () => stages().stdioServers,
    // The same settings, made anew: the tools are others.
    changed() {
      change(settings)
      live.toolsChanged()
    },
  })
  const runGoal: AgentUse['runGoal'] = async (goal, { caller, signal }) =>
    (await agents.at(operator.gate)).runGoal(goal, { ...(caller as Caller), role: 'agent' }, signal)
  const shared = {
    mounts,
    stores,
    machine,
    grants: grants.kernel,
    recover: recovery.again,
    runs,
    templates,
    skills,
    toolsets,
    agent: { runGoal },
  }
  const openIt = (): ActiveSettings =>
    openActiveSettings({
      openReach: (given) => openReach(place, given, machine, roots),
      openSettingsScope: (reach, given) => openSettingsScope(shared, reach, given),
    })
  const activeSettings = openIt()
  /** What callers of other contracts go by: made of the same settings, and changed with them. */
  const profiles = new Map<Profile, ActiveSettings>()
  const under = (profile: Profile): ActiveSettings => {
    const known = profiles.get(profile)
    if (known) return known
    const one = openIt()
    one.change(underProfile(settings, profile))
    profiles.set(profile, one)
    return one
  }
  /** The person reaches every root they named; what serves agents only those of its profile. */
  const personally = (): ActiveSettings => (roots.named().length > 0 ? under(ofPerson) : activeSettings)
  keep({
    async close() {
      await mounts.close()
      await machine.servers.close()
      await Promise.all([activeSettings, ...profiles.values()].map((one) => one.close()))
    },
  })
  const change = (next: LoadedSettings): void => {
    roots.take(next)
    try {
      activeSettings.change(next)
    } catch (fault) {
      roots.take(settings)
      throw fault
    }
    settings = next
    for (const [profile, one] of profiles) one.change(underProfile(next, profile))
    mounts.applySettings(next.config)
    // A server goes on under the settings it was started with, as long as those of now would let it see what it sees, and let it be ended.
    if (activeSettings.now().kernel.offers(startsServers)) void stages().applySettings()
    else void machine.servers.stop('the settings no longer offer what it was started with')
  }
  const first = settings
  orStandIn(options.standIn, (standIn) => change(standIn ? read(standIn) : first))
  roots.openPending(settings)
  recovery.atStart(stages())
  const left = { ...stores, statesOf: (call: string) => runToEnd(stores.snapshots.ofCall(call)).map((one) => one.id) }
  recoverSuspended(left)
  settleSuspended(left)

  const live = options.live
    ? keep(openLive({ activeSettings, reload: (text) => orStandIn(text, (standIn) => change(read(standIn))), audit }))
    : notLive
  // Where a client may well run programs: found out before the first one asks, but after the first answers, which a client waits for.
  const runsPrograms = (): boolean =>
    activeSettings
      .now()
      .listed()
      .some((tool) => tool.program)
  const probe = byItself(() => {
    if (runsPrograms()) void stages().confinement()
    if (options.live) runs.watch()
  })
  const probing = setTimeout(probe, probeAfterMs).unref()
  keep({ close: () => clearTimeout(probing) })
  // A lapse is found by looking, and its stage takes room until then.
  const lapse = byItself(() => {
    stores.approvals.lapse()
    settleSuspended(left)
  })
  const lapsing = setInterval(lapse, lapseEveryMs).unref()
  keep({ close: () => clearInterval(lapsing) })
  keep(machine.traffic)
  keep(runs)

  const approvals = decisions({
    approvals: stores.approvals,
    audit,
    suspended: stores.suspended,
    stages: {
      forget: (id) => stages().forget(id),
      part: (...given) => stages().part(...given),
      picture: (...given) => stages().picture(...given),
    },
  })
  const callUnder = (one: (caller: Caller) => ActiveSettings): Operator['call'] =>
    withSessionActivity((name, input, caller, how) => {
      live.lookAgain()
      if (how?.run === undefined) calledAt = performance.now()
      return one(caller).during(({ kernel }) => kernel.call(name, input, caller, how))
    }, sessions)
  const operator: Operator = operatorOf(
    {
      place,
      stores,
      machine,
      traces,
      activeSettings,
      live,
      roots: roots.named,
      call: callUnder(({ role }) => (role === 'person' ? personally() : activeSettings)),
      approvals,
      grants: grants.person,
      forms: openClientForms({
        policies: () => config().policies,
        approvals,
        audit,
        words: openAsking(stores.questions, audit).words,
      }),
      recover: recovery.again,
      runs: runs.runsApi,
      cluster: runs.cluster,
      moveRuns: runs.move,
      runsElsewhere: runs.onElsewhere,
      templates,
      mounts,
      skills,
      prompts,
      identity,
      plans: openPlans({ stores, skills, prompts, model: agents.planner, gate: () => operator.gate, runs: runs.runsApi }),
      servers: serverRuns.person,
      agent: agents.at,
      under(profile) {
        const one = under(profile)
        return { activeSettings: one, call: callUnder(() => one) }
      },
    },
    close,
  )
  return operator
}

/** Nobody asked for it, so nobody hears of a fault: a disk that is full or a store that was broken must not end the process for it. */
function byItself(act: () => void): () => void {
  return () => {
    try {
      act()
    } catch (thrown) {
      console.error('handrail:', thrown instanceof Fault ? printable(thrown.message) : thrown)
    }
  }
}

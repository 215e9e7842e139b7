import type { AuditLine } from '../contracts/audit.ts'
import type { Caller } from '../contracts/call.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { levelOf } from '../contracts/run.ts'
import type { SkillLibrary } from '../contracts/skill.ts'
import type { Tool } from '../contracts/tool.ts'
import { openFiles, type Files } from '../host/files.ts'
import { pathStatesBelow } from '../host/path-state.ts'
import { findRipgrep } from '../host/ripgrep.ts'
import { openSearch, type Search } from '../host/search.ts'
import { openKernel, type Kernel } from '../kernel/kernel.ts'
import type { GrantPort, Ports } from '../kernel/ports.ts'
import { allowsHost } from '../text/host-name.ts'
import { redact } from '../text/redact/redact.ts'
import { rootMark } from '../text/root-path.ts'
import type { AgentUse } from '../toolsets/agent/index.ts'
import type { Uses } from '../toolsets/index.ts'
import { usefulIn } from '../toolsets/useful.ts'
import type { Machine } from './machine.ts'
import type { Mounts } from './mounts.ts'
import type { OwnTemplates } from './project-templates.ts'
import { openAsking } from './questions.ts'
import type { Runs } from './runs.ts'
import type { Reach } from './reach.ts'
import type { LoadedSettings } from './settings.ts'
import type { Stores } from './stores.ts'
import { version } from '../version.ts'
import { openWorld } from './world.ts'

/** What outlasts settings, and is used by whatever is made from them. */
export interface SharedDependencies {
  stores: Stores
  machine: Machine
  grants: GrantPort
  recover: () => Promise<void>
  runs: Pick<Runs, 'runsApi'>
  templates: Pick<OwnTemplates, 'ignored'>
  mounts: Pick<Mounts, 'tools'>
  agent: AgentUse
  skills: SkillLibrary
  toolsets: (use: Uses) => Tool[]
}

/** The runtime as one reading of the settings makes it: cheap to make, and a call ends under the one it began with. */
export interface SettingsScope {
  readonly settings: LoadedSettings
  readonly reach: Reach
  readonly files: Files
  readonly search: Search
  readonly kernel: Kernel
  listed(): readonly Tool[]
  /** What reading the scripts of a WebGAL game takes. */
  readonly scripts: Uses['webgal']
}

export function openSettingsScope(
  { stores, machine, grants, recover, runs, templates, mounts, skills, toolsets, agent }: SharedDependencies,
  reach: Reach,
  settings: LoadedSettings,
): SettingsScope {
  const { config } = settings
  const { limits } = config
  const { root, rules, stages } = reach
  const { audit, approvals, questions, sessions, snapshots } = stores
  const { diffs, regex } = machine
  const files = openFiles(root, rules, limits.maxReadBytes)
  const search = openSearch({
    root,
    rules,
    files,
    forbidden: ['.handrail', ...reach.forbidden],
    regex,
    timeoutMs: limits.searchTimeoutMs,
    ripgrep: findRipgrep,
  })
  const useful = usefulIn(files, config)
  const listed = (): Tool[] => useful(kernel.tools)
  const scripts: Uses['webgal'] = {
    files,
    diffs,
    lang: config.lang,
    declared: { commands: config.webgalCommands, arguments: config.webgalArguments },
    engineVersion: config.webgalVersion,
    preview: machine.web.preview,
  }
  const tools = toolsets({
    files: { files, diffs, search, regex, regexTimeoutMs: limits.regexTimeoutMs, states: pathStatesBelow(root), kept: snapshots },
    session: {
      facts: factsFrom(settings, root.path),
      confinement: stages.confinement,
      ignoredTemplates: templates.ignored,
      unlisted: () => {
        const shown = new Set(listed())
        return kernel.tools.filter((tool) => !shown.has(tool)).map((tool) => tool.name)
      },
      note: (note) => sessions.note({ ...note, text: redact(note.text) }),
      ask: openAsking(questions, audit).ask,
    },
    records: recordsWithin(stores, files, settings.profiled === true),
    webgal: scripts,
    browser: {
      files,
      pages: machine.web.pages,
      sessions: machine.web.sessions,
      tabs: machine.web.tabs,
      mayVisit: (host, { session, id }) =>
        allowsHost(config.policies.browserAllowedHosts)(host) || grants.mayVisit(session, host, id),
      unseal: stores.sealing.open,
      logins: stores.logins,
      trustOf: (client) => levelOf({ peer: client }, config.policies.trustLevel),
      screenshotDir: config.browser.screenshotDir,
      timeoutMs: limits.browserTimeoutMs,
    },
    shell: { files, commandTimeoutMs: limits.commandTimeoutMs },
    skills: {
      files,
      diffs,
      programs: machine.programs,
      python: machine.python,
      environment: machine.environment,
      library: skills,
    },
    // A run's steps go through the project's own gate, which may let more through than a profile does.
    runs: settings.profiled ? notUnderProfile : runs,
    agent,
    workspace: {
      files,
      diffs,
      sources: machine.sources,
      known: stores.knownAnchors,
      call: async (tool, input, by, options) => (await kernel.call(tool, input, by.caller as Caller, options)).output,
    },
  })
  const ports: Ports = {
    audit,
    approvals: {
      ...approvals,
      move(id, from, to) {
        const moved = approvals.move(id, from, to)
        if (moved && to === 'void') stages.forget(id)
        return moved
      },
    },
    suspended: stores.suspended,
    sessions,
    grants,
    idempotency: stores.idempotency,
    world: openWorld(reach, files, stores, recover),
    stages,
    unasked: stores.unasked,
    evidence: stores.evidence,
    diffs: {
      count: async (before, after, call) => (await diffs.measure(before, after, { lines: 0, characters: 0 }, call)).lines,
    },
  }
  // A surface whose contract names its tools has no others.
  const all = settings.profiled ? tools : [...tools, ...mounts.tools(config)]
  const kernel = openKernel(all, config, ports, machine.traffic)
  return { settings, reach, files, search, kernel, listed, scripts }
}

/** The log as its readers may see it: of a root that is not theirs they do not learn that it is there. */
function recordsWithin(
  { audit, rootNames: roots, memory, agentSessions }: Stores,
  files: Files,
  profiled: boolean,
): Uses['records'] {
  const visible = (): ((line: AuditLine) => boolean) => {
    const hidden = roots.all().filter(({ name }) => !files.reaches(rootMark(name)))
    // An address may hold two slashes and a host of that name.
    const marks = hidden.map(({ name }) => new RegExp(`(?<!:)${rootMark(name)}(?![a-z0-9_-])`))
    return (line) => {
      if (hidden.length === 0) return true
      const text = JSON.stringify(line)
      return (
        !marks.some((mark) => mark.test(text)) && !hidden.some(({ path }) => text.includes(JSON.stringify(path).slice(1, -1)))
      )
    }
  }
  return {
    audit: {
      last: (count) => audit.last(count, visible()),
      line(seq) {
        const line = audit.line(seq)
        return line && visible()(line) ? line : undefined
      },
    },
    // What the person said to Handrail's own agent is for that one, and for no other client.
    memory: (session) =>
      memory.for({
        sees: visible(),
        reaches: files.reaches,
        artifacts: !profiled,
        conversations: !profiled && agentSessions.has(session),
      }),
  }
}

const notUnderProfile: Pick<Runs, 'runsApi'> = {
  async runsApi() {
    throw new Fault('unsupported', 'Runs cannot be handed in over this surface', { hint: 'Make the calls one by one.' })
  },
}

function factsFrom({ config, project }: LoadedSettings, root: string): Uses['session']['facts'] {
  const { policies, limits, mode, browser } = config
  return {
    projectRoot: root,
    snapshotRetention: limits.snapshotRetention,
    forbiddenDirs: policies.forbiddenDirs,
    maxReadBytes: limits.maxReadBytes,
    projectSettings: project?.says === undefined ? undefined : { ignored: project.ignored.length, says: project.says },
    version,
    mode,
    browser: {
      allowedHosts: policies.browserAllowedHosts,
      timeoutMs: limits.browserTimeoutMs,
      screenshotDir: browser.screenshotDir,
    },
    execution: { allowedCommands: policies.allowedCommands, timeoutMs: limits.commandTimeoutMs, workingDir: root },
  }
}

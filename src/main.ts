import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Operator, RuntimeOptions } from './contracts/runtime.ts'
import { redact } from './text/redact/redact.ts'
import { runPromptly } from './text/steps.ts'
import type { Written } from './contracts/tool.ts'
import { anchorsIn, keepAnchor } from './host/anchors.ts'
import { openDatabase } from './host/database.ts'
import { openDiffs } from './host/diffs.ts'
import { openFiles } from './host/files.ts'
import { fingerprint } from './host/fingerprint.ts'
import { headName, headsFolder } from './host/heads.ts'
import { openPrograms } from './host/installed.ts'
import { openLinkNames } from './host/links/link-names.ts'
import { openLock } from './host/lock.ts'
import { followingRules, pathRules, splitPath, withKinOfGit } from './host/paths.ts'
import { checkProject } from './host/project-place.ts'
import { openPython } from './host/python.ts'
import { openRegexEngine } from './host/regex.ts'
import { findRipgrep } from './host/ripgrep.ts'
import { openSearch } from './host/search.ts'
import { openStages } from './host/stage/stages.ts'
import { mayExecuteAt, existsAt, fingerprintsAt } from './host/path-state.ts'
import { bringsOldState, openProjectState } from './host/state-project.ts'
import { closeRoot, openRoot, type Root } from './host/walk.ts'
import { openWeb } from './host/web.ts'
import { openKernel } from './kernel/kernel.ts'
import { endSuspended } from './kernel/suspended-calls.ts'
import { scrub } from './kernel/redacted-input.ts'
import { openApprovals } from './stores/approvals.ts'
import { openAudit } from './stores/audit.ts'
import { openCredentials } from './stores/credentials.ts'
import { openEvidence } from './stores/evidence.ts'
import { openGrants } from './stores/grants.ts'
import { openIdempotency } from './stores/idempotency.ts'
import { openJournal, type Kept } from './stores/journal.ts'
import { openPins } from './stores/pins.ts'
import { openPruning } from './stores/prune.ts'
import { schema, schemaVersion } from './stores/schema.ts'
import { others } from './stores/retention.ts'
import { openSessions } from './stores/sessions.ts'
import { openSnapshots } from './stores/snapshots.ts'
import { openSuspended } from './stores/suspended.ts'
import { attended, decisions, granting, trusting } from './operator.ts'
import { recoverFrom, settleSuspended, tellHalfAnswer } from './recovery.ts'
import { loadSettings } from './settings.ts'
import { allTools } from './toolsets/index.ts'
import { usefulIn } from './toolsets/useful.ts'

const probeAfterMs = 500
const lapseEveryMs = 30_000
const { version } = createRequire(import.meta.url)('../package.json') as { version: string }

/** Wires the rooms. The only file that sees them all. */
export function openRuntime(options: RuntimeOptions): Operator {
  try {
    return open(options)
  } catch (fault) {
    if (options.standIn === undefined) throw fault
    // Whatever else is wrong is thrown again.
    return open(options, fault)
  }
}

function open(options: RuntimeOptions, unusable?: unknown): Operator {
  const opened: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    const faults: unknown[] = []
    for (const one of opened.splice(0).toReversed())
      try {
        await one()
      } catch (fault) {
        faults.push(fault)
      }
    if (faults.length) throw faults[0]
  }
  const keep: Keep = (one) => {
    opened.push(() => one.close())
    return one
  }
  const projectRoot = openRoot(options.project)
  opened.push(() => closeRoot(projectRoot))
  try {
    return { ...wire(projectRoot, options, keep, unusable), close }
  } catch (fault) {
    for (const one of opened.toReversed()) void one()
    throw fault
  }
}

/** Remembers to close what was opened, the last first. */
type Keep = <T extends { close(): unknown }>(one: T) => T

function wire(opened: Root, options: RuntimeOptions, keep: Keep, unusable: unknown): Omit<Operator, 'close'> {
  const environment = options.environment ?? process.env
  checkProject(opened, environment, options.allows ?? [])
  const kept = keep(openProjectState(opened, { state: options.state, environment }))
  const state = kept.folder
  const settled = loadSettings(opened, state, options, unusable)
  const { config } = settled
  const { policies, limits } = config
  const projectRoot: Root = { ...opened, mounts: policies.crossMounts ? undefined : opened.mounts }
  const forbidden = withKinOfGit([...settled.personal, ...policies.forbiddenDirs])
  const rules = pathRules(forbidden, settled.within)
  const anywhere = pathRules([], [], false)
  const files = openFiles(projectRoot, rules, limits.maxReadBytes)

  const links = keep(openLinkNames(projectRoot, followingRules(forbidden), rules))

  const locks = state.sub('locks')
  const projectLock = keep(openLock(locks.file('project.db')))
  const auditLock = keep(openLock(locks.file('audit.db')))
  const openingLock = openLock(locks.file('opening.db'))
  // The very first open changes the file's mode, which two processes must not do at once.
  const db = keep(openingLock.holdNow(() => openDatabase(state.file('handrail.db'), schema, schemaVersion)))
  openingLock.close()
  const apart = { folder: kept.base.sub(headsFolder), name: headName(projectRoot.path) }
  const audit = keep(openAudit(state, auditLock, apart, { fileBytes: limits.auditFileBytes, keptDays: limits.auditKeptDays }))
  if (kept.remounted)
    audit.note({ event: 'state.remounted', message: 'the project lies on another device than before', details: kept.remounted })
  const contents = state.sub('snapshots')
  const snapshots = openSnapshots(contents, db)
  const suspended = openSuspended(db)
  const approvals = openApprovals(db, {
    lapsed(lapsed, by) {
      stages.forget(lapsed.id)
      const { id, call, tool, session } = lapsed
      audit.write({
        event: 'approval.decided',
        ...(call !== undefined && { call }),
        approval: id,
        approved: false,
        by,
        tool,
        session,
      })
      endSuspended({ audit, suspended }, lapsed, id)
    },
    halfAnswered: (asked) => tellHalfAnswer(asked, audit),
  })
  const sessions = openSessions(db)
  const grants = granting(openGrants(db), audit, sessions, files)
  const idempotency = openIdempotency(db, limits.idempotencyTtlMs)
  const journal = openJournal({
    root: projectRoot,
    // What it touches has been judged; what a killed process left must be put right whatever the rules are today.
    files: openFiles(projectRoot, anywhere, Number.MAX_SAFE_INTEGER),
    snapshots,
    db,
    retention: limits.snapshotRetention,
    onDropped: (call) => idempotency.forget(call),
  })
  const evidence = keep(openEvidence(state))
  const pins = openPins(db, projectLock)
  const regex = keep(openRegexEngine())
  const diffs = keep(openDiffs(limits.callTimeoutMs))
  const search = openSearch({
    root: projectRoot,
    rules,
    files,
    forbidden: ['.handrail', ...forbidden],
    regex,
    timeoutMs: limits.searchTimeoutMs,
    ripgrep: findRipgrep(),
  })
  const web = keep(
    openWeb({
      project: projectRoot.path,
      files,
      preview: config.preview,
      allowedHosts: policies.browserAllowedHosts,
      timeoutMs: limits.browserTimeoutMs,
      environment,
    }),
  )

  const stages = keep(
    openStages({
      project: projectRoot,
      rules,
      environment,
      state: kept.base.path,
      settings: { ...config.stage, stageVisible: withKinOfGit(config.stage.stageVisible) },
      limits: {
        processes: limits.stageProcesses,
        memoryBytes: limits.stageMemoryBytes,
        diskBytes: limits.stageDiskBytes,
        entries: limits.stageEntries,
      },
      diffs,
    }),
  )
  const recover = recoverFrom({ audit, snapshots, journal, approvals, suspended, stages, lock: projectLock })

  const keptBoth = ({ written, pruned }: Kept, call: string): Written[] => {
    const tell = (snapshots: string[], message: string): void =>
      void (snapshots.length && audit.note({ event: 'snapshot.pruned', snapshots, call, message }))
    tell(pruned.written, 'older than limits.snapshotRetention')
    tell(
      pruned.others,
      `states Handrail did not write: beyond the newest ${others.stay} of their file and older than ${others.days} days, or beyond the newest ${others.ever}`,
    )
    return written
  }
  let changing: Promise<unknown> | undefined
  const machine = { path: environment['PATH'] ?? '', home: environment['HOME'] || homedir(), project: projectRoot.path }
  const isUseful = usefulIn(files, config)
  const tools = allTools({
    files: { files, diffs, search, regex, regexTimeoutMs: limits.regexTimeoutMs, kept: snapshots },
    session: {
      facts: {
        projectRoot: projectRoot.path,
        snapshotRetention: limits.snapshotRetention,
        forbiddenDirs: policies.forbiddenDirs,
        maxReadBytes: limits.maxReadBytes,
        projectSettings:
          settled.project?.says === undefined
            ? undefined
            : { ignored: settled.project.ignored.length, says: settled.project.says },
        version,
        mode: config.mode,
        browser: {
          allowedHosts: policies.browserAllowedHosts,
          timeoutMs: limits.browserTimeoutMs,
          screenshotDir: config.browser.screenshotDir,
        },
        execution: {
          allowedCommands: policies.allowedCommands,
          timeoutMs: limits.commandTimeoutMs,
          workingDir: projectRoot.path,
        },
      },
      confinement: stages.confinement,
      unlisted: () => kernel.tools.filter((tool) => !isUseful(tool)).map((tool) => tool.name),
      note: (note) => sessions.note({ ...note, text: redact(note.text) }),
    },
    records: { audit },
    webgal: { files, diffs, lang: config.lang, extraCommands: config.webgalCommands, preview: web.preview },
    browser: {
      files,
      pages: web.pages,
      screenshotDir: config.browser.screenshotDir,
      timeoutMs: limits.browserTimeoutMs,
    },
    shell: { files, commandTimeoutMs: limits.commandTimeoutMs },
    skills: { files, diffs, programs: openPrograms(machine), python: openPython(machine), environment },
  })
  const kernel = openKernel(tools, config, {
    audit,
    approvals: {
      ...approvals,
      move(id, from, to) {
        const moved = approvals.move(id, from, to)
        if (moved && to === 'void') stages.forget(id)
        return moved
      },
    },
    suspended,
    sessions,
    grants: grants.kernel,
    idempotency,
    world: {
      normal: (path) => files.normal(path),
      read: (path) => files.peek(path),
      judgeLinks: links.judgeSecrets,
      links: links.scan,
      mayExecute: (path) => mayExecuteAt(projectRoot, splitPath(path, rules)),
      exists: (path) => existsAt(projectRoot, splitPath(path, anywhere)),
      states: (paths) => runPromptly(fingerprintsAt(projectRoot, paths, (path) => splitPath(path, rules))),
      newest: () => snapshots.newest(),
      changedSince: (paths, newest) => snapshots.newest() !== newest && paths.some((path) => snapshots.newest(path) > newest),
      exclusive: (act, signal) =>
        projectLock.hold(async () => {
          await recover()
          try {
            return await act()
          } finally {
            // A call may give up on its deadline; the lock is held until what it began is done.
            await changing
          }
        }, signal),
      // What an agent did and took back again is no longer what the person saw either.
      fingerprint: async (scope, signal) =>
        `${await fingerprint(join(projectRoot.path, scope), ['.handrail'], signal)} ${scope === '' ? snapshots.lastChange()?.id : ''}`,
      pin: pins.put,
      pinConflict: pins.conflict,
      async commit(changes, origin, ...told) {
        const paths = changes.map((change) => change.path)
        const held = origin.person ? undefined : pins.conflict(paths, origin.call)
        if (held) throw held
        const linksChange = changes.some(({ form, after }) => form !== undefined || after === null)
        if (linksChange) links.changed()
        const doing = journal.commit(changes, origin, ...told).finally(() => linksChange && links.changed())
        changing = doing.catch(() => undefined)
        return keptBoth(await doing, origin.call)
      },
      record: async (changes, origin) => keptBoth(await journal.record(changes, origin), origin.call),
    },
    stages,
    evidence,
    diffs: {
      count: async (before, after, call) => (await diffs.measure(before, after, { lines: 0, characters: 0 }, call)).lines,
    },
  })

  // Found out before the first program asks, but after the first answers: a client waits for those.
  const probing = setTimeout(() => void stages.confinement(), probeAfterMs).unref()
  keep({ close: () => clearTimeout(probing) })
  // A lapse is found by looking, and its stage takes room until then.
  const lapsing = setInterval(() => {
    approvals.lapse()
    settleSuspended({ audit, snapshots, approvals, suspended })
  }, lapseEveryMs).unref()
  keep({ close: () => clearInterval(lapsing) })
  keep(kernel)

  return {
    project: projectRoot.path,
    version,
    config,
    settings: settled.settings,
    settingsFiles: settled.files,
    settingsStamp: settled.stamp,
    projectSettings: settled.project,
    trust: trusting(settled, audit),
    state: { base: kept.base.path, folder: state.path, ignored: bringsOldState(projectRoot.path) },
    capabilities: {
      search: search.engine,
      paths: projectRoot.method,
      sqlite: process.getBuiltinModule?.('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite',
      browser: web.about,
      confinement: stages.confinement,
    },
    tools: kernel.tools,
    listed: () => kernel.tools.filter(isUseful),
    offers: kernel.offers,
    accepts: kernel.accepts,
    onToolsChanged: () => undefined,
    call: attended(kernel.call, sessions),
    openSession(session) {
      const client = scrub(session.client)
      if (sessions.open({ ...session, client }))
        audit.note({ event: 'session.opened', session: session.id, surface: session.surface, client })
    },
    sessions: sessions.list,
    notes: sessions.notes,
    approvals: decisions(approvals, audit, stages, suspended),
    grants: grants.person,
    pruning: openPruning({
      state,
      contents,
      db,
      audit,
      snapshots,
      exclusive: (act) =>
        projectLock.hold(async () => {
          await recover()
          return act()
        }),
    }),
    audit: {
      ...audit,
      keepAnchor(file) {
        const anchor = { project: projectRoot.path, ...audit.head() }
        keepAnchor(file, anchor)
        return anchor
      },
      anchorsIn: (file) => anchorsIn(file, projectRoot.path),
    },
    snapshots: snapshots.list,
    ...openCredentials(state),
  }
}

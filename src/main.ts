import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Approval } from './contracts/approval.ts'
import type { Grant } from './contracts/grant.ts'
import { ToolError } from './contracts/errors.ts'
import type { Operator, RuntimeOptions } from './contracts/runtime.ts'
import { mayBeLetThrough } from './contracts/secret-files.ts'
import { redact } from './contracts/redact/redact.ts'
import type { Written } from './contracts/tool.ts'
import { anchorsIn, keepAnchor } from './host/anchors.ts'
import { openDatabase } from './host/database.ts'
import { openDiffs } from './host/diffs.ts'
import { judgedFiles, type Files } from './host/files.ts'
import { fingerprint } from './host/fingerprint.ts'
import { headName, headsFolder } from './host/heads.ts'
import { openPrograms } from './host/installed.ts'
import { openLock } from './host/lock.ts'
import { lettingThrough } from './host/let-through.ts'
import { pathRules, splitPath } from './host/paths.ts'
import { judgeProject } from './host/project-place.ts'
import { openPython } from './host/python.ts'
import { openRegexEngine } from './host/regex.ts'
import { findRipgrep, openSearch } from './host/search.ts'
import { openStages } from './host/stage/stages.ts'
import { standingAt, standsAt, stateWord } from './host/standing.ts'
import type { StateFolder } from './host/state-folder.ts'
import { bringsOldState, openProjectState } from './host/state-project.ts'
import { closeRoot, openRoot, type Root } from './host/walk.ts'
import { openWeb } from './host/web.ts'
import { openKernel } from './kernel/kernel.ts'
import { scrub } from './kernel/record.ts'
import { openApprovals } from './stores/approvals.ts'
import { openAudit } from './stores/audit.ts'
import { openEvidence } from './stores/evidence.ts'
import { openGrants } from './stores/grants.ts'
import { openIdempotency } from './stores/idempotency.ts'
import { openJournal } from './stores/journal.ts'
import { openPins } from './stores/pins.ts'
import { schema, schemaVersion } from './stores/schema.ts'
import { openSessions } from './stores/sessions.ts'
import { openSnapshots } from './stores/snapshots.ts'
import { settle } from './settings.ts'
import { allTools } from './toolsets/index.ts'
import { usefulIn } from './toolsets/useful.ts'

const probeAfterMs = 500
const lapseEveryMs = 30_000
/** How long a grant counts, where the person says nothing else. */
const grantTtlMs = 12 * 3_600_000
/** Paths that one line of the log names. */
const mostTold = 200
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
  judgeProject(opened, environment, options.allows ?? [])
  const kept = keep(openProjectState(opened, { state: options.state, environment }))
  const state = kept.folder
  const settled = settle(opened, state, options, unusable)
  const { config } = settled
  const { policies, limits } = config
  const projectRoot: Root = { ...opened, mounts: policies.crossMounts ? undefined : opened.mounts }
  const forbidden = [...settled.personal, ...policies.forbiddenDirs]
  const rules = pathRules(forbidden, settled.within)
  const files = judgedFiles(projectRoot, rules, limits.maxReadBytes)

  const locks = state.sub('locks')
  const projectLock = keep(openLock(locks.file('project.db')))
  const auditLock = keep(openLock(locks.file('audit.db')))
  const openingLock = openLock(locks.file('opening.db'))
  // The very first open changes the file's mode, which two processes must not do at once.
  const db = keep(openingLock.holdNow(() => openDatabase(state.file('handrail.db'), schema, schemaVersion)))
  openingLock.close()
  const apart = { folder: kept.base.sub(headsFolder), name: headName(projectRoot.path) }
  const audit = keep(openAudit(state, auditLock, apart))
  if (kept.remounted)
    audit.note({ event: 'state.remounted', message: 'the project lies on another device than before', details: kept.remounted })
  const snapshots = openSnapshots(state.sub('snapshots'), db)
  const approvals = openApprovals(db, (lapsed) => {
    stages.forget(lapsed.id)
    audit.note({
      event: 'approval.decided',
      approval: lapsed.id,
      approved: false,
      by: 'time',
      tool: lapsed.tool,
      session: lapsed.session,
    })
  })
  const sessions = openSessions(db)
  const grants = openGrants(db)
  const grantLine =
    (event: 'grant.given' | 'grant.revoked', by: string) =>
    ({ id, kind, path, session, expiresAt }: Grant) =>
      audit.write(
        { event, session, by, details: { grant: id, kind, path: scrub(path), until: new Date(expiresAt).toISOString() } },
        true,
      )
  const idempotency = openIdempotency(db, limits.idempotencyTtlMs)
  const journal = openJournal({
    root: projectRoot,
    // What it touches has been judged; what a killed process left must be put right whatever the rules are today.
    files: judgedFiles(projectRoot, pathRules([], [], false), Number.MAX_SAFE_INTEGER),
    snapshots,
    db,
    retention: limits.snapshotRetention,
    onDropped: (call) => idempotency.forget(call),
  })
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
      settings: config.stage,
      limits: {
        processes: limits.stageProcesses,
        memoryBytes: limits.stageMemoryBytes,
        diskBytes: limits.stageDiskBytes,
        entries: limits.stageEntries,
      },
      diffs,
    }),
  )
  const questionStands = (id: string): boolean => ['pending', 'approved'].includes(approvals.head(id)?.state ?? '')
  const recover = (): void => {
    for (const { call, landed, changes } of journal.recover())
      audit.write(
        {
          event: 'recovered',
          ...(call !== null && { call }),
          message: landed
            ? 'a change of a killed process had landed; all of it is kept'
            : 'a change of a killed process had not landed; it is dropped, and the project is as it was before',
          snapshots: changes.map(({ id }) => id),
          touches: changes.slice(0, mostTold).map(({ path }) => ({ path: scrub(path), access: 'write' })),
        },
        true,
      )
  }
  if (snapshots.pending().length) projectLock.holdNow(recover)
  stages.sweep(questionStands, ({ call, session, tool, confined }, made) => {
    // Killed between its commit, or the record of what it did, and the end of the call: that counts, and is kept already.
    const known = snapshots.ofCall(call)
    const states =
      made.length && !known.length
        ? projectLock.holdNow(() =>
            journal.record(made, { call, session, idempotencyKey: null }).written.map((one) => one.snapshotId),
          )
        : known.map((one) => one.id)
    const message = !confined
      ? `the process died while a program ran unconfined; ${states.length} changes it had made are kept for undo`
      : known.length
        ? 'the process died after the changes of its program had landed; all of them are kept'
        : 'the process died before anything its program did had landed; the project is as it was before'
    audit.write({ event: 'recovered', call, session, tool, message, ...(states.length && { snapshots: states }) })
  })

  let spentFolder: StateFolder | undefined
  const keptBoth = ({ written, pruned }: { written: Written[]; pruned: string[] }, call: string): Written[] => {
    if (pruned.length)
      audit.note({ event: 'snapshot.pruned', snapshots: pruned, call, message: 'older than limits.snapshotRetention' })
    return written
  }
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
    sessions,
    grants: {
      mayChange: (session, path) => grants.holds('runs', session, path),
      letChange(session, paths, approval) {
        for (const path of paths)
          grants.give({ kind: 'runs', session, path, by: approval }, grantTtlMs, grantLine('grant.given', approval))
      },
      reading(path, { id, session }, act) {
        const plain = path
          .split('/')
          .filter((name) => name !== '' && name !== '.')
          .join('/')
        if (!grants.holds('secret', session, plain)) return act()
        audit.write({ event: 'grant.used', call: id, session, details: { kind: 'secret', path: scrub(plain) } })
        return lettingThrough(new Set([plain]), act)
      },
    },
    idempotency,
    world: {
      normal: (path) => files.normal(path),
      read: (path) => files.peek(path),
      stands: (path) => standsAt(projectRoot, splitPath(path, rules)),
      state: (path) => stateWord(standingAt(projectRoot, splitPath(path, rules))),
      exclusive: (act, signal) =>
        projectLock.hold(() => {
          recover()
          return act()
        }, signal),
      // What an agent did and took back again is no longer what the person saw either.
      fingerprint: async (scope, signal) =>
        `${await fingerprint(join(projectRoot.path, scope), ['.handrail'], signal)} ${scope === '' ? snapshots.lastChange()?.id : ''}`,
      pin: pins.put,
      held: pins.held,
      commit(changes, origin, ...told) {
        const paths = changes.map((change) => change.path)
        const held = origin.person ? undefined : pins.held(paths, origin.call)
        if (held) throw held
        return keptBoth(journal.commit(changes, origin, ...told), origin.call)
      },
      record: (changes, origin) => keptBoth(journal.record(changes, origin), origin.call),
    },
    stages,
    evidence: openEvidence(state),
    diffs: {
      count: async (before, after, signal) => (await diffs.measure(before, after, { lines: 0, characters: 0 }, signal)).lines,
    },
  })

  // Found out before the first program asks, but after the first answers: a client waits for those.
  const probing = setTimeout(() => void stages.confinement(), probeAfterMs).unref()
  keep({ close: () => clearTimeout(probing) })
  // A lapse is found by looking, and its stage takes room until then.
  const lapsing = setInterval(() => void approvals.get(''), lapseEveryMs).unref()
  keep({ close: () => clearInterval(lapsing) })

  return {
    project: projectRoot.path,
    version,
    config,
    settings: settled.settings,
    settingsFiles: settled.files,
    settingsStamp: settled.stamp,
    projectSettings: settled.project,
    trust: {
      grant(digest, by) {
        const { digest: read, loosenings = [] } = settled.project ?? {}
        if (read === undefined || digest !== read)
          throw new ToolError('E_CONFLICT', 'The project’s settings are not the ones that were to be trusted', {
            details: { expected: digest, found: read ?? null },
            hint: 'Look at the file again: `handrail trust --status`.',
          })
        audit.write({ event: 'trust.granted', by, details: { digest, settings: loosenings.map(({ key }) => key) } }, true)
        settled.trust.grant(digest, loosenings)
      },
      revoke(by) {
        const revoked = settled.trust.revoke()
        if (revoked) audit.write({ event: 'trust.revoked', by }, true)
        return revoked
      },
    },
    state: { base: kept.base.path, folder: state.path, ignored: bringsOldState(projectRoot.path) },
    means: {
      search: search.engine,
      paths: projectRoot.means,
      sqlite: process.getBuiltinModule?.('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite',
      browser: web.about,
      confinement: stages.confinement,
    },
    tools: kernel.tools,
    listed: () => kernel.tools.filter(isUseful),
    offers: kernel.offers,
    accepts: kernel.accepts,
    onToolsChanged: () => undefined,
    call: kernel.call,
    openSession(session) {
      const client = scrub(session.client)
      if (sessions.open({ ...session, client }))
        audit.note({ event: 'session.opened', session: session.id, surface: session.surface, client })
    },
    sessions: sessions.list,
    notes: sessions.notes,
    approvals: {
      list: approvals.list,
      count: approvals.count,
      get: approvals.get,
      state: (id) => approvals.head(id)?.state,
      text: (id, path, from = 0) => approvals.text(id, path, from) ?? stages.part(id, path, from),
      lift: (id, by) =>
        approvals.lift(id, ({ tool, session }) =>
          audit.write({ event: 'approval.lifted', approval: id, by, tool, session }, true),
        ),
      decide(id, decision) {
        const asked = approvals.head(id)
        if (!asked)
          throw new ToolError('E_NOT_FOUND', `No such approval: ${id}`, { hint: '`handrail approvals list` shows what waits.' })
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
          throw new ToolError('E_CONFLICT', `This approval is already ${now.state}`, {
            details: { approvalId: id },
            hint: 'A decision is final; the agent can ask again.',
          })
        return now
      },
    },
    grants: {
      list: grants.list,
      give({ kind, path, session, by, ttlMs = grantTtlMs }) {
        const plain = grantable(kind, path, files)
        const known = sessions.list()
        const whose = session === undefined ? known[0]?.id : known.find(({ id }) => id === session)?.id
        if (whose === undefined)
          throw new ToolError(
            'E_NOT_FOUND',
            session === undefined ? 'No session to grant it to' : `No such session: ${session}`,
            {
              hint: '`handrail sessions` lists them.',
            },
          )
        return grants.give({ kind, path: plain, session: whose, by }, ttlMs, grantLine('grant.given', by))
      },
      revoke(id, by) {
        const revoked = grants.revoke(id, grantLine('grant.revoked', by))
        if (revoked) return revoked
        throw new ToolError('E_NOT_FOUND', `No such grant: ${id}`, { hint: '`handrail grants list` shows those in force.' })
      },
    },
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
    spend(word, until) {
      const spent = (spentFolder ??= state.sub('spent'))
      for (const name of spent.names()) if (Number(name.split('-', 1)[0]) < Date.now()) spent.remove(name)
      if (spent.names().some((name) => name.slice(name.indexOf('-') + 1) === word)) return false
      return spent.create(`${until}-${word}`, Buffer.alloc(0))
    },
    token(whose = 'agent') {
      const name = whose === 'agent' ? 'token' : 'person-token'
      const file = join(state.path, name)
      const read = (): string | undefined => state.read(name)?.toString('utf8').trim() || undefined
      const found = read()
      if (found !== undefined) return { token: found, file }
      const token = randomBytes(32).toString('base64url')
      return state.create(name, Buffer.from(`${token}\n`)) ? { token, file } : { token: read() ?? token, file }
    },
  }
}

/** The path of a grant in its written-down form; throws where there is nothing to let through, or nobody may. */
function grantable(kind: Grant['kind'], path: string, files: Files): string {
  const plain = path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/')
  const normal = kind === 'secret' ? lettingThrough(new Set([plain]), () => files.normal(path)) : files.normal(path)
  if (kind === 'secret' && !mayBeLetThrough(normal))
    throw new ToolError('E_BAD_ARGS', `${normal} is not kept from anybody`, { hint: 'Agents can read it as it is.' })
  return normal
}

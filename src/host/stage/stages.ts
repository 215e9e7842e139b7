import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { TextPart } from '../../contracts/approval.ts'
import type { Config } from '../../contracts/config.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Confinement, Program, ProgramResult } from '../../contracts/stage.ts'
import type { Staged } from '../../contracts/staged.ts'
import { lazy } from '../../text/lazy.ts'
import { oneInATurn, runToEnd, runInSlices } from '../../text/steps.ts'
import type { Diffs } from '../diffs.ts'
import { captureBothEnds } from '../output.ts'
import type { PathRules } from '../paths.ts'
import { nodeParts } from '../toolchain.ts'
import { closeRoot, openRoot, type Root } from '../walk.ts'
import { reopenPreRunCopy } from './pre-run-copy.ts'
import { fileAt } from './link-targets.ts'
import { overlaid, programEnv, readsAsShown, type View } from './confine.ts'
import { writeMasks } from './masks.ts'
import { differences, effectsOf, type Differences } from './effects.ts'
import { cgroupsGone } from './cgroup.ts'
import { guardHidden, exposureOf, type Exposure } from './hidden-guard.ts'
import { howItEnded, listOnStage, prepareSandbox, mustHaveStarted, type Layers } from './launch.ts'
import {
  isBare,
  openUp,
  placeFor,
  removeIfEmpty,
  removeStage,
  roomForStage,
  stageHomes,
  stagesGone,
  usablePlace,
} from './places.ts'
import { probe, type Confined, type Probe } from './probe.ts'
import {
  forgetStage,
  makeRoom,
  nameStage,
  readStory,
  stagesBelow,
  sweepStages,
  writeRecord,
  type QuestionEnd,
  type StageOrigin,
  type StageRecord,
} from './records.ts'
import { pendingStages } from './pending-stage.ts'
import { changeList, stagedPart, stagedPicture } from './review-content.ts'
import { openViewPredictor } from './view-predictor.ts'
import { openStdioServers, type StdioServerHost } from './stdio-servers.ts'
import { openStagePool, type IdleStage, type StagePool } from './stage-pool.ts'
import { openHiddenWatches } from './hidden-watches.ts'
import type { ServerParts } from './server.ts'
import type { Servers } from './servers.ts'
import { contentsOf, madeAlready, onStage, withoutEffect } from './staged.ts'
import { runUnconfined } from './unconfined.ts'
import { makeFolder, restoreTop } from './upper-layer.ts'
import { holds, bindRulesOf, whyNotShown, whySecret } from './bind-rules.ts'
import type { Limits } from './limit-watch.ts'
import { whyOverLimit, measureDiskUsage, type DiskUsage } from './disk-usage.ts'

export interface Stages {
  /** Found by trying, once. */
  confinement(): Promise<Confinement>
  /** Programs that stay and are talked to. */
  stdioServers: Pick<StdioServerHost, 'open'>
  run(program: Program, origin: StageOrigin, signal?: AbortSignal, onPrinted?: (chunk: Buffer) => void): Promise<Staged>
  /** The stage that waits for an answer to exactly this call. */
  waiting(inputDigest: string, session: string): Promise<Staged | undefined>
  /** A part of what a file would become, of the stage that waits for the answer to a question; of one that goes away, what it is. */
  part(approval: string, path: string, from: number): Promise<TextPart | undefined>
  /** A side of a picture that it would change. */
  picture(approval: string, path: string, side: 'before' | 'after'): Promise<{ type: string; bytes: Uint8Array } | undefined>
  /** The question about a stage was answered with no, lapsed or was withdrawn: it is taken away at once. */
  forget(approval: string): void
  /**
   * Takes away stages that nobody owns any more, unless their question still stands. `lost` is told of each call that ended with
   * its process, and of what an unconfined program had changed by then.
   */
  sweep(endOf: (approval: string) => QuestionEnd, lost: (record: StageRecord, made: ReturnType<Staged['made']>) => void): void
  /** The settings that these were opened with are in force from now on: a server that may not go on under them is ended. */
  applySettings(): Promise<void>
  /** Waits for a server that was started here; what waits for an answer stays. */
  close(): Promise<void>
}

export interface StageParts {
  project: Root
  rules: PathRules
  environment: Record<string, string | undefined>
  /** The folder of all state of this user: stages lie below it, and programs never see it. */
  state: string
  settings: Config['stage']
  limits: Limits
  diffs: Diffs
  /** Those of the whole runtime: they outlast settings. */
  servers: Servers
}

const againMs = 10_000
/** To set a stage up and start a program on it is several milliseconds in one piece. */
const startTurn = oneInATurn()
const nothing: Differences = { changed: [], leftover: [], left: 0 }
const none: DiskUsage = { bytes: 0, entries: 0 }
/** What lies in /tmp lies in memory. */
const mostTmpBytes = 536_870_912

export function openStages(parts: StageParts): Stages {
  const { project, settings, environment, limits } = parts
  const homes = stageHomes(parts.state, environment, settings.stagePlace)
  const places = homes.map((home) => placeFor(home, project.path))
  const hiddenWatches = openHiddenWatches(project.path, parts.rules, settings.stageVisible)
  /** Found when the first program is to run: each takes a look at the disk, and most commands run none. */
  const bindRules = lazy(() => bindRulesOf(environment, project.path, [...homes, parts.state]))
  let node: readonly string[] | undefined
  let probing: Promise<Probe> | undefined
  let pool: StagePool | undefined
  const pendingStageOf = pendingStages(() => stagesBelow(places))
  let tried = Number.NEGATIVE_INFINITY
  const tryIt = (): Promise<Probe> => {
    tried = performance.now()
    return probe({ project: project.path, homes, bubblewrap: settings.bubblewrap, path: environment['PATH'] ?? '' })
  }
  /** A yes holds; after a no it is tried again now and then, since a busy machine can fail once. */
  const probed = async (): Promise<Probe> => {
    probing ??= tryIt()
    const known = await probing
    if (known.confined || performance.now() - tried < againMs) return known
    return (probing = tryIt())
  }

  const refusedReads = (): string[] =>
    settings.stageReads.flatMap((path) => {
      const why = whyNotShown(path, bindRules()) ?? whySecret(path)
      return why === undefined ? [] : [`${path} (${why})`]
    })
  /** What of the machine a program sees besides the system. */
  const readsOf = (program: Program): string[] => {
    const refused = refusedReads()
    if (refused.length)
      throw new Fault('unsupported', `stage.stageReads names what no program may see: ${refused.join(', ')}`, {
        hint: 'Nothing was run. Name the toolchain’s own folder there, not one that holds more than it.',
      })
    const asked = [...settings.stageReads, ...(program.reads ?? [])].filter((path) => !holds(project.path, path))
    return [...asked.filter((path) => whyNotShown(path, bindRules()) === undefined), ...(node ??= nodeParts(bindRules()))]
  }
  const viewOf: ServerParts['viewOf'] = (found, program, { folder, shows, hides }) => {
    const reads = readsOf(program)
    const moved = readsAsShown(reads, project.path).filter(({ from, at, link }) => !link && from !== at)
    return {
      project: project.path,
      shows,
      hidden: writeMasks(folder, hides, moved),
      reads,
      mark: folder,
      etc: found.etc,
      cwd: join(project.path, program.cwd),
      env: { ...programEnv(), ...program.env },
      network: program.network ?? false,
      tmpBytes: Math.min(limits.diskBytes, mostTmpBytes),
    }
  }
  const { servers } = parts
  const serverParts: ServerParts = {
    project,
    sorting: { rules: parts.rules, visible: settings.stageVisible },
    limits,
    readsOf,
    hiddenViewOf: (program) => hiddenWatches.of(readsOf(program)),
    viewOf,
  }

  const place = (): string => usablePlace(homes, project.path)
  const stdioServers = openStdioServers({ parts: serverParts, bindRules, probed, env: programEnv, place })
  const viewPredictor = openViewPredictor(project.path)
  /** Hides what was known last, and looks again while that is set up: a large project is no slower for it. */
  const confined = async (
    found: Confined,
    program: Program,
    origin: StageOrigin,
    signal?: AbortSignal,
    onPrinted?: (chunk: Buffer) => void,
    sure = false,
  ): Promise<Staged> => {
    const record = { ...origin, confined: true }
    await roomForStage()
    const reads = readsOf(program)
    const hiddenView = hiddenWatches.of(reads)
    const hides = (sure ? undefined : hiddenView.known()) ?? (await hiddenView.scan())
    const within = program.alone ? (program.changes ?? '') : ''
    let seen: Exposure | undefined
    let stop: (why: string) => void = () => undefined
    let unguard: () => void = () => undefined
    const guard = (): void => {
      unguard = guardHidden(hiddenView, hides, within, (one) => {
        seen ??= one
        stop(one.says)
      })
    }
    const viewAt = (at: Pick<IdleStage, 'folder' | 'layers'>, of = program, hiding = hides): View => {
      const shows = overlaid(project.path, at.layers.merged, of.changes ?? '', of.alone ?? false)
      return viewOf(found, of, { folder: at.folder, hides: hiding, shows })
    }
    pool ??= openStagePool(
      found.place,
      project.path,
      (stage, on) => prepareSandbox(found.means, { folder: stage, layers: on, limits }),
      (stage) => viewPredictor.tell(stage.folder, (likely) => stage.ready.tell(viewAt(stage, likely.program, likely.hides))),
    )
    await startTurn()
    const { folder, layers, ready, since } = pool.take(record)
    try {
      const changes = program.changes ?? ''
      makeFolder(project, layers.upper, changes)
      const began = performance.now()
      const [stdout, stderr] = [
        captureBothEnds(program.outputBytes, program.secrets),
        captureBothEnds(program.outputBytes, program.secrets),
      ]
      const end = await ready.run({
        program,
        view: () => viewAt({ folder, layers }),
        async stillHolds() {
          if (!viewPredictor.holds(folder, { program, hides, reads })) return false
          if (!sure && !isDeepStrictEqual(await hiddenView.scan(), hides)) return false
          guard()
          return true
        },
        written: [layers.upper],
        signal,
        onStarted(end) {
          stop = end
          if (seen) stop(seen.says)
          viewPredictor.ran({ program, hides, reads })
          pool?.started()
        },
        onOutput(chunk) {
          stdout.add(chunk)
          onPrinted?.(chunk)
        },
        onErrors: (chunk) => stderr.add(chunk),
      })
      const ms = Math.round(performance.now() - began)
      signal?.throwIfAborted()
      if (end.outdated) {
        removeStage(folder)
        return await confined(found, program, origin, signal, onPrinted, true)
      }
      const errors = stderr.end()
      if (!seen) mustHaveStarted(end, errors)
      const now = await hiddenView.scan()
      unguard()
      mustHaveSeenNone(seen ?? exposureOf(now, hides, within))
      for (let at = changes; at !== ''; at = at.split('/').slice(0, -1).join('/')) removeIfEmpty(join(layers.upper, at))
      const top = restoreTop(project, layers.upper)
      const untouched = isBare(folder)
      // Looked at once more: what is written at the very end counts too. It is not read through only to be thrown away.
      const usage = untouched ? none : await measureDiskUsage([layers.upper], limits, found.means.unshare)
      const over = whyOverLimit(usage, limits)
      const { changed, leftover, left } =
        untouched || over !== undefined ? nothing : await readStage(found, layers, since, signal)
      const ran: ProgramResult = {
        ...howItEnded(end, program),
        ...(over !== undefined && { exitCode: null, ended: over, endedFor: 'over-limit' as const }),
        stdout: stdout.end(),
        stderr: errors,
        ms,
        effects: await runInSlices(effectsOf(changed, contentsOf(project, layers.upper))),
        leftover: [...top, ...leftover],
        ...(left > leftover.length && { leftoverMore: left - leftover.length }),
        confined: true,
        network: program.network ?? false,
      }
      const newcomer = { asker: origin.asker ?? '', bytes: usage.bytes }
      const room = (lapse: (approval: string) => boolean): void => makeRoom(places, newcomer, limits.diskBytes, lapse)
      return await runInSlices(onStage(project, folder, { ...record, bytes: usage.bytes }, { ran, changed }, parts, room))
    } catch (fault) {
      await ready.drop()
      removeStage(folder)
      throw fault
    } finally {
      unguard()
    }
  }

  const readStage = async (
    { means: tools }: Confined,
    layers: Layers,
    since: bigint,
    signal?: AbortSignal,
  ): Promise<Differences> => {
    const were = await runInSlices(openUp(layers.upper), signal)
    const upper = openRoot(layers.upper)
    try {
      const list = (folders: readonly string[]): Promise<Buffer> => listOnStage(tools, layers, folders)
      return await runInSlices(differences({ lower: project, upper, rules: parts.rules, list, since, were }), signal)
    } finally {
      closeRoot(upper)
    }
  }

  const unconfined = async (program: Program, origin: StageOrigin, signal?: AbortSignal): Promise<Staged> => {
    const folder = join(place(), nameStage())
    try {
      mkdirSync(folder, { mode: 0o700 })
      writeRecord(folder, { ...origin, confined: false })
      const asked = { project, rules: parts.rules, diskBytes: limits.diskBytes }
      const { ran, compared, contents } = await runUnconfined(asked, program, programEnv(), folder, signal)
      return await runInSlices(madeAlready(ran, compared, contents, () => removeStage(folder)))
    } catch (fault) {
      removeStage(folder)
      throw fault
    }
  }

  return {
    stdioServers,
    async confinement() {
      const { confined: is, says } = await probed()
      const refused = refusedReads()
      return { confined: is, says: refused.length ? `${says}; stage.stageReads is refused: ${refused.join(', ')}` : says }
    },
    async run(program, origin, signal, onPrinted) {
      const found = await probed()
      if (program.serves) return withoutEffect(await servers.run(found, serverParts, program, origin, signal))
      if (found.confined) return confined(found, program, origin, signal, onPrinted)
      if (settings.unconfined === 'ask') return unconfined(program, origin, signal)
      throw new Fault('unsupported', `Programs cannot be confined here, so none is run. ${found.says}`, {
        hint: '`handrail doctor` says what is missing. stage.unconfined "ask" would run it after a person agreed.',
      })
    },
    async waiting(inputDigest, session) {
      const found = stagesBelow(places).find(
        ({ record }) => record?.approval !== undefined && record.inputDigest === inputDigest && record.session === session,
      )
      const story = found && (await runInSlices(readStory(found.folder)))
      return found?.record && story && runInSlices(onStage(project, found.folder, found.record, story, parts))
    },
    async picture(approval, path, side) {
      const { folder, story } = await pendingStageOf(approval)
      const change = story?.changed.find((one) => one.path === path)
      return folder !== undefined && change ? stagedPicture(project, folder, change, side) : undefined
    },
    async part(approval, path, from) {
      const { folder, story } = await pendingStageOf(approval)
      if (folder === undefined || !story) return undefined
      if (path === '') return changeList(story.ran.effects, from)
      const change = story.changed.find((one) => one.path === path)
      if (change) return stagedPart(project, folder, change, from)
      // What a new link leads to is on the card and no change.
      if (!story.ran.effects.some(({ form }) => form === 'link')) return undefined
      const before = fileAt(project, parts.rules, path)
      return before && stagedPart(project, folder, { path, before, after: undefined }, from)
    },
    forget: (approval) => forgetStage(places, approval),
    sweep: (endOf, lost) =>
      sweepStages(places, endOf, (record, folder) =>
        lost(record, record.confined ? [] : runToEnd(reopenPreRunCopy(project, parts.rules, join(folder, 'before')).compare())),
      ),
    applySettings: () => servers.recheck(serverParts),
    async close() {
      await probing
      await stdioServers.close()
      await pool?.close()
      await servers.over(serverParts)
      hiddenWatches.close()
      await cgroupsGone()
      await stagesGone()
    },
  }
}

/** What it may have read it must not tell. */
function mustHaveSeenNone(seen: Exposure | undefined): void {
  if (!seen) return
  throw new Fault('conflict', `A program must not see this, so it was ended and its output is withheld: ${seen.says}`, {
    details: { path: seen.path },
    hint: 'None of its changes were applied. Make the call again: that file is hidden then.',
  })
}

import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Effect, ProgramResult } from '../../contracts/stage.ts'
import { byHolder, holderOf } from '../../text/eviction.ts'
import type { Steps } from '../../text/steps.ts'
import { readChunks, writeChunks } from '../chunks.ts'
import { killMarked, processName } from '../running.ts'
import type { Difference } from './effects.ts'
import { recordFile, removeStage } from './places.ts'

/** Which call a stage belongs to. */
export interface StageOrigin {
  call: string
  session: string
  tool: string
  inputDigest: string
  /** Who asks, whatever sessions they open: those that wait are counted by it. */
  asker?: string
}

/** What is written down beside the layers of a stage; small, since all are looked at to find one. With `approval` it waits for a person. */
export interface StageRecord extends StageOrigin {
  confined: boolean
  approval?: string
  /** What it takes on the disk while it waits, and since when. */
  bytes?: number
  at?: number
}

/** How a program ran that waits for a person, and all it changed: as much as it likes, in a file of its own. */
export interface StageStory {
  ran: ProgramResult
  changed: readonly Difference[]
}

const storyFile = 'story.jsonl'
const linesAtOnce = 200

/** Shared by all stages of a place, and no stage themselves. */
const shared = /^(etc.*|merged|lower)$/

/** A name that says whose it is, so that what a killed process left is known by it alone. */
export function nameStage(): string {
  return `${processName(process.pid) ?? process.pid}-${randomBytes(6).toString('hex')}`
}

/** A record that is half written when its process dies is as good as none: nothing has run yet. */
export function writeRecord(folder: string, record: StageRecord): void {
  writeFileSync(join(folder, recordFile), JSON.stringify(record), { mode: 0o600 })
}

/** In place of a record that counts, at once. */
export function replaceRecord(folder: string, record: StageRecord): void {
  writeFileSync(join(folder, `${recordFile}.new`), JSON.stringify(record), { mode: 0o600 })
  renameSync(join(folder, `${recordFile}.new`), join(folder, recordFile))
}

/** A line for the run, one for each change, one for each effect. */
export function* writeStory(folder: string, { ran, changed }: StageStory): Steps<void> {
  const { effects, ...rest } = ran
  const fd = openSync(join(folder, storyFile), constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600)
  let lines: string[] = [JSON.stringify({ ran: rest })]
  const put = function* (most: number): Steps<void> {
    if (lines.length < most) return
    yield* writeChunks(fd, Buffer.from(`${lines.join('\n')}\n`))
    lines = []
    yield
  }
  try {
    for (const one of changed) {
      lines.push(JSON.stringify({ changed: one }))
      yield* put(linesAtOnce)
    }
    for (const effect of effects) {
      lines.push(JSON.stringify({ effect }))
      yield* put(linesAtOnce)
    }
    yield* put(1)
  } finally {
    closeSync(fd)
  }
}

/** Nothing where there is none, or not a whole one. */
export function* readStory(folder: string): Steps<StageStory | undefined> {
  let ran: Omit<ProgramResult, 'effects'> | undefined
  const changed: Difference[] = []
  const effects: Effect[] = []
  const take = (line: Buffer): void => {
    const found = JSON.parse(line.toString('utf8')) as { ran?: ProgramResult; changed?: Difference; effect?: Effect }
    if (found.ran) ran = found.ran
    if (found.changed) changed.push(found.changed)
    if (found.effect) effects.push(found.effect)
  }
  try {
    const fd = openSync(join(folder, storyFile), constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      let rest = Buffer.alloc(0)
      yield* readChunks(fd, function* (piece) {
        const bytes = Buffer.concat([rest, piece])
        let from = 0
        for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
          take(bytes.subarray(from, at))
          from = at + 1
          yield
        }
        rest = bytes.subarray(from)
      })
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
  return ran && { ran: { ...ran, effects }, changed }
}

export function recordOf(folder: string): StageRecord | undefined {
  const file = join(folder, recordFile)
  // One that is set up or on its way out has none.
  if (!existsSync(file)) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as StageRecord
  } catch {
    return undefined
  }
}

/** Every stage below some places, with what is written down of it. */
export function stagesBelow(places: readonly string[]): { folder: string; owned: boolean; record: StageRecord | undefined }[] {
  return places
    .filter((place) => existsSync(place))
    .flatMap((place) =>
      readdirSync(place)
        .filter((name) => !shared.test(name))
        .map((name) => ({ folder: join(place, name), owned: isOwned(name), record: recordOf(join(place, name)) })),
    )
}

/** Most stages of one project that wait for an answer, and most that they take on the disk together, as a multiple of what one may. */
const mostWaiting = 32
const mostWaitingTimes = 4

/** A stage that is about to wait. */
export interface Newcomer {
  asker: string
  bytes: number
}

/**
 * Room for another stage that waits: an answer that nobody gives must not fill the disk, nor one asker's many keep everybody else out. Where all
 * is taken, the oldest question of whoever holds most lapses; refused where nobody holds more than the newcomer would.
 */
export function makeRoom(
  places: readonly string[],
  { asker, bytes }: Newcomer,
  diskBytes: number,
  /** Whether it could: a question that was answered does not give way. */
  lapse: (approval: string) => boolean,
): void {
  const most = { count: mostWaiting, bytes: mostWaitingTimes * diskBytes }
  for (;;) {
    const waiting = stagesBelow(places).flatMap(({ record }) => (record?.approval === undefined ? [] : [record]))
    const taken = (share: readonly StageRecord[]) => ({
      count: share.length,
      bytes: share.reduce((sum, one) => sum + (one.bytes ?? 0), 0),
    })
    const all = taken(waiting)
    const short = all.count >= most.count ? 'count' : all.bytes + bytes > most.bytes ? 'bytes' : undefined
    if (short === undefined) return
    const shares = byHolder(waiting.map((record) => ({ record, peer: record.asker ?? '', usedAt: record.at ?? 0 })))
    const held = (share: readonly { record: StageRecord }[] = []): number => taken(share.map(({ record }) => record))[short]
    const own = held(shares.get(holderOf(asker))) + (short === 'count' ? 1 : bytes)
    const [largest] = [...shares.values()].sort((one, other) => held(other) - held(one))
    const oldest = held(largest) > own ? largest?.sort((one, other) => one.usedAt - other.usedAt) : undefined
    if (!oldest?.some(({ record }) => lapse(record.approval as string)))
      throw new Fault(
        'busy',
        `The changes of ${all.count} programs wait for a person already; with these that would be ${all.bytes + bytes} bytes (most: ${most.count} programs, ${most.bytes} bytes)`,
        {
          details: { waiting: all.count },
          hint: 'Nothing of this run was applied. A person can answer what waits: handrail approvals list. Then make the call again.',
        },
      )
  }
}

/** Takes away the stage that a question was about. */
export function forgetStage(places: readonly string[], approval: string): void {
  for (const { folder, record } of stagesBelow(places)) if (record?.approval === approval) removeStage(folder)
}

/** What has become of the question a stage waits for: it can be answered or its yes used, a yes was used and its process died, or neither. */
export type QuestionEnd = 'stands' | 'used' | 'gone'

/** Takes away what nobody owns and no question is about. `lost` is told of each call that ended with its process, before its stage goes. */
export function sweepStages(
  places: readonly string[],
  endOf: (approval: string) => QuestionEnd,
  lost: (record: StageRecord, folder: string) => void,
): void {
  for (const { folder, owned, record } of stagesBelow(places)) {
    const end = record?.approval === undefined ? (owned ? 'stands' : 'used') : endOf(record.approval)
    if (end === 'stands') continue
    killMarked(folder)
    if (record && end === 'used') lost(record, folder)
    removeStage(folder)
  }
}

function isOwned(name: string): boolean {
  const [, owner = '', pid = ''] = /^(?:probe-|left-)?((\d+)-\d+)-/.exec(name) ?? []
  return owner !== '' && processName(Number(pid)) === owner
}

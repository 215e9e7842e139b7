import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { PreparedSandbox } from './launch.ts'
import { removeStage, stagesGone } from './places.ts'
import { idleMs, openStagePool, type IdleStage, type StagePool } from './stage-pool.ts'

const record = { call: 'c', session: 's', tool: 't', inputDigest: 'd', confined: true }
let base = ''
let project = ''
let place = ''
/** The folders of what was set up, and of those what waits no longer. */
let made: string[] = []
let dropped: string[] = []
let pool: StagePool

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  base = mkdtempSync(join(tmpdir(), 'handrail-pool-'))
  ;[project, place] = [join(base, 'project'), join(base, 'place')]
  for (const folder of [project, place]) mkdirSync(folder)
  ;[made, dropped] = [[], []]
  pool = openStagePool(place, project, (folder): PreparedSandbox => {
    made.push(folder)
    return {
      waits: () => !dropped.includes(folder),
      tell: () => undefined,
      run: () => Promise.reject(new Error('nothing runs here')),
      drop: () => Promise.resolve(void dropped.push(folder)),
    }
  })
})

afterEach(async () => {
  await pool.close()
  vi.useRealTimers()
  rmSync(base, { recursive: true })
})

const take = () => {
  const idle = pool.take(record)
  pool.started()
  return idle
}

const stagesIn = (): string[] => readdirSync(place).filter((name) => /^\d/.test(name))

test('the first that is taken prepares nothing, the second the next, and that is the one taken then', async () => {
  take()
  await turn()
  expect(made).toHaveLength(1)
  take()
  expect(made).toHaveLength(2)
  await turn()
  expect(made).toHaveLength(3)
  expect(take().folder).toBe(made[2])
  await pool.close()
  expect(made).toHaveLength(3)
})

test('one that nobody wants goes after a while, with its folder', async () => {
  take()
  take()
  await turn()
  const waiting = made[2] as string
  vi.advanceTimersByTime(idleMs - 1)
  expect(dropped).toEqual([])
  vi.advanceTimersByTime(1)
  expect(dropped).toEqual([waiting])
  await turn()
  expect(existsSync(waiting)).toBe(false)
})

test('closing takes all of it away, also what is being prepared', async () => {
  removeStage(take().folder)
  const { folder } = take()
  await turn()
  removeStage(folder)
  const last = take()
  await pool.close()
  await stagesGone()
  expect(stagesIn()).toEqual([last.folder.slice(place.length + 1)])
  expect(made.filter((one) => one !== last.folder).every((one) => !existsSync(one))).toBe(true)
})

test('what cannot be set up leaves no folder', () => {
  const broken = openStagePool(place, project, () => {
    throw new Error('no')
  })
  expect(() => broken.take(record)).toThrow('no')
  expect(stagesIn()).toEqual([])
})

test('where the project is gone, or nothing can be written down, what waits is not left waiting', async () => {
  take()
  take()
  await turn()
  const [, , waiting = ''] = made
  mkdirSync(join(waiting, 'stage.json'))
  expect(() => take()).toThrow('EISDIR')
  await turn()
  expect(dropped).toEqual([waiting])
  expect(existsSync(waiting)).toBe(false)
  pool.started()
  await turn()
  rmSync(project, { recursive: true })
  await pool.close()
  expect(dropped).toHaveLength(2)
})

/** Takes a stage, leaves traces on what a program sees and does not see of it, and takes it away. */
const leave = async (trace: (layers: IdleStage['layers']) => void): Promise<void> => {
  const { folder, layers } = take()
  utimesSync(layers.upper, 1_000, 1_000)
  chmodSync(layers.work, 0o711)
  trace(layers)
  removeStage(folder)
  await turn()
  await turn()
}
const isUsedAgain = ({ work }: IdleStage['layers']): boolean => (statSync(work).mode & 0o777) === 0o711

test('of a stage on which nothing was changed only what no program saw is used again, and all of it goes at the end', async () => {
  await leave(({ work }) => mkdirSync(join(work, 'work/incompat/volatile'), { recursive: true }))
  const { folder, layers } = take()
  expect(isUsedAgain(layers)).toBe(true)
  expect(readdirSync(layers.work)).toEqual([])
  expect(statSync(layers.upper).mtimeMs).toBeGreaterThan(1_000_000)
  removeStage(folder)
  await pool.close()
  await stagesGone()
  expect(readdirSync(place).sort()).toEqual(['lower', 'merged'])
})

test.each<[string, (layers: IdleStage['layers']) => void]>([
  ['a file on it', ({ upper }) => writeFileSync(join(upper, 'file'), '')],
  ['more than one knows beside it', ({ upper }) => writeFileSync(join(upper, '../cover-0'), '')],
  ['more than one knows of the overlay', ({ work }) => mkdirSync(join(work, 'index'))],
])('a stage with %s is not used again', async (_, trace) => {
  await leave(trace)
  const { layers } = take()
  expect(isUsedAgain(layers)).toBe(false)
  expect(readdirSync(join(layers.upper, '..')).sort()).toEqual(['stage.json', 'upper', 'work'])
  expect(readdirSync(layers.upper)).toEqual([])
})

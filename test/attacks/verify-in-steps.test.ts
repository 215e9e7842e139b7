import { createHash } from 'node:crypto'
import { openSync, readdirSync, readFileSync, writeFileSync, writeSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openRuntime } from '../../src/runtime/open.ts'
import { runInside } from '../support/inside.ts'
import { cleanEnv, openWorld, type World } from '../support/world.ts'

// The log is verified without stopping anybody, and from where it was last found whole; no changed byte gets past that.

const apart = (world: World): string => {
  const folder = join(world.base, 'state', 'handrail', 'heads')
  return join(folder, readdirSync(folder)[0] ?? '')
}
const fill = (world: World, count: number): void => {
  for (let index = 0; index < count; index++)
    world.runtime.audit.note({ event: 'call.read', tool: 'read_file', message: `${index} ${'x'.repeat(300)}` })
  world.runtime.audit.head()
}
const overwrite = (file: string, position: number, bytes: string): void => {
  const fd = openSync(file, 'r+')
  writeSync(fd, bytes, position)
  closeSync(fd)
}

test('a byte changed before the point it was verified up to is found, and the line is named', async () => {
  await using world = await openWorld()
  fill(world, 5_000)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: 5_000 })
  fill(world, 10)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: 5_010 })
  const file = world.state('audit.jsonl')
  const text = readFileSync(file, 'latin1')
  overwrite(file, text.indexOf('"1234 x') + 2, '9')
  const bad = { whole: false, line: 1_235, why: expect.stringContaining('does not match its hash') as string }
  expect(await world.runtime.audit.check()).toMatchObject(bad)
  expect(await world.runtime.audit.check({ full: true })).toMatchObject(bad)
  expect(world.runtime.audit.verify()).toMatchObject(bad)
  const doctor = await runInside(world.project, ['doctor'])
  expect([doctor.code, doctor.out.includes('broken at line 1235')]).toEqual([1, true])
})

test('what came since is verified line by line: a byte changed there, a line added, the tail cut', async () => {
  for (const harm of ['changed', 'added', 'cut'] as const) {
    await using world = await openWorld()
    fill(world, 100)
    expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: 100 })
    fill(world, 100)
    const file = world.state('audit.jsonl')
    const text = readFileSync(file, 'utf8')
    if (harm === 'changed') overwrite(file, text.lastIndexOf('"50 x') + 2, '9')
    if (harm === 'added') writeFileSync(file, `${text}${text.trimEnd().split('\n').at(-1)}\n`)
    if (harm === 'cut') writeFileSync(file, `${text.split('\n').slice(0, 150).join('\n')}\n`)
    const line = { changed: 151, added: 201, cut: 151 }[harm]
    expect([harm, await world.runtime.audit.check()]).toMatchObject([harm, { whole: false, line }])
    expect([harm, world.runtime.audit.verify()]).toMatchObject([harm, { whole: false, line }])
  }
})

/** Makes all hashes anew from a changed line on, as somebody does who knows the form: the log and its seal agree again. */
function forge(world: World): { seq: number; hash: string } {
  const file = world.state('audit.jsonl')
  let prev = '0'.repeat(64)
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => {
      const { hash: _, prev: __, ...line } = JSON.parse(text) as Record<string, unknown>
      if (line['seq'] === 7) line['message'] = 'nothing happened'
      const body = JSON.stringify({ ...line, prev })
      prev = createHash('sha256').update(body).digest('hex')
      return `${body.slice(0, -1)},"hash":"${prev}"}\n`
    })
  const end = { seq: lines.length, hash: prev, end: Buffer.byteLength(lines.join('')) }
  writeFileSync(file, lines.join(''))
  writeFileSync(world.state('audit.head'), `${JSON.stringify({ sealed: end, intended: end }).padEnd(511)}\n`)
  return end
}

test('a log made anew with its seal is another one than was verified, also where the last line of the head kept apart is put right', async () => {
  await using world = await openWorld()
  fill(world, 50)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
  const { seq, hash } = forge(world)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: false, line: 50 })
  const head = readFileSync(apart(world))
  const said = JSON.parse(head.toString('utf8', 0, 512)) as Record<string, unknown>
  overwrite(apart(world), 0, JSON.stringify({ ...said, last: { seq, hash }, durable: { seq, hash } }).padEnd(511))
  expect(await world.runtime.audit.check()).toMatchObject({
    whole: false,
    line: 50,
    why: expect.stringContaining('last verified') as string,
  })
  expect(world.runtime.audit.verify()).toMatchObject({ whole: false, line: 50 })
})

test('a point that was damaged, is of another log or lies past the end hides nothing and breaks nothing', async () => {
  await using world = await openWorld()
  fill(world, 50)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
  const point = JSON.parse(readFileSync(apart(world)).toString('utf8', 512)) as Record<string, unknown>
  expect(point).toMatchObject({ log: 1, seq: 50 })
  const put = (value: object | string): void =>
    overwrite(apart(world), 512, (typeof value === 'string' ? value : JSON.stringify(value)).padEnd(511))
  for (const value of ['{', 'null', '{}', { ...point, log: 2, hash: '1'.repeat(64) }, { ...point, digest: '2'.repeat(64) }]) {
    put(value)
    expect([value, await world.runtime.audit.check()]).toMatchObject([value, { whole: true, lines: 50 }])
  }
  overwrite(world.state('audit.jsonl'), 30, '#')
  for (const value of ['{', { ...point, log: 2 }, { ...point, end: 10_000_000 }, point]) {
    put(value)
    expect([value, await world.runtime.audit.check()]).toMatchObject([value, { whole: false, line: 1 }])
  }
})

test('after a renewal the old point says nothing of the new log', async () => {
  await using world = await openWorld()
  fill(world, 50)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
  overwrite(world.state('audit.jsonl'), 30, '#')
  world.runtime.audit.renew()
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: 1 })
  fill(world, 60)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: 61 })
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true, lines: 61 })
})

test('others write while the log is verified, and what they add is no damage', async () => {
  await using world = await openWorld()
  fill(world, 20_000)
  const environment = { ...cleanEnv(world.base), XDG_STATE_HOME: join(world.base, 'state') }
  const other = openRuntime({ project: world.project, environment })
  let written = 0
  const onProgress = (): void => {
    // Waits on the spot for the lock, and fails where it is not given.
    other.audit.note({ event: 'session.note', message: 'meanwhile' })
    written += other.audit.head().seq > 20_000 ? 1 : 0
  }
  expect(await world.runtime.audit.check({ onProgress })).toMatchObject({ whole: true, lines: 20_000 })
  expect(written).toBeGreaterThan(3)
  expect(world.runtime.audit.verify(onProgress)).toMatchObject({ whole: true })
  await other.close()
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
})

test('the event loop is given back while it goes on', async () => {
  await using world = await openWorld()
  fill(world, 20_000)
  let turns = 0
  let over = false
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  count()
  expect(await world.runtime.audit.check({ full: true })).toMatchObject({ whole: true })
  over = true
  expect(turns).toBeGreaterThan(6)
})

test('audit verify --full and --anchor take every line', async () => {
  await using world = await openWorld()
  fill(world, 20)
  const { hash } = world.runtime.audit.line(5) ?? { hash: '' }
  for (const more of [[], ['--full'], ['--anchor', hash], []])
    expect([more, await runInside(world.project, ['audit', 'verify', ...more])]).toMatchObject([more, { code: 0 }])
  expect(await runInside(world.project, ['audit', 'verify', '--anchor', 'f'.repeat(64)])).toMatchObject({ code: 1 })
})

import { expect, test } from 'vitest'
import { patienceMs } from '../support/patience.ts'
import { openWorld, type World } from '../support/world.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'

const many = (count: number, make: (index: number) => string): string => Array.from({ length: count }, (_, i) => make(i)).join('')
const start = 'game/scene/start.txt'
/** No answer may be larger than this, whatever the game holds. */
const largestAnswer = 3_000_000

const questions = [
  ['validate_script', { path: start }],
  ['project_report', { limit: 10_000 }],
  ['scene_graph', {}],
  ['scene_graph', { format: 'svg' }],
  ['scene_graph', { format: 'html' }],
  ['scene_graph', { format: 'mermaid' }],
  ['list_project_resources', {}],
] as const

/** Everything in a soak; else the two that read most of a game, and another two with every seed. */
function someQuestions(says: string): readonly (typeof questions)[number][] {
  if (isSoak) return questions
  const below = draws(`questions about a scene of ${says}`)
  const others = questions.slice(2)
  const first = below(others.length)
  const second = (first + 1 + below(others.length - 1)) % others.length
  return questions.filter((one, at) => at < 2 || [others[first], others[second]].includes(one))
}

interface Answer extends Record<string, unknown> {
  valid?: boolean
  diagnostics?: { line: number; code: string; severity: string }[]
  notShown?: number
  leftOut?: string[]
}

/** Asks about a game, and holds each answer to its size. */
async function askAll(world: World, asked: readonly (typeof questions)[number][]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const [tool, input] of asked) {
    const result = await world.call<Answer>(tool, input)
    expect([tool, JSON.stringify(result).length < largestAnswer]).toEqual([tool, true])
    answers.push(result)
  }
  return answers
}

const labels = (count: number): string => many(count, (i) => `label:l${i};\n`) + many(count / 2, (i) => `jumpLabel:x${i};\n`)

/** One scene each, made so that some loop or pattern would take the square of its length; in a soak, many times as long. */
const scenes: Record<string, () => string> = {
  'many labels and many jumps that miss them': () => labels(sweep(60_000, 600)),
  'one endless choice': () => `choose:${many(sweep(200_000, 6_000), (i) => `|c${i}:start${i}.txt`)};\n`,
  'commands that are nearly right': () =>
    many(sweep(90_000, 3_000), (i) => `changeB${'gxyz'[i % 4]}${'abcd'[(i >> 2) % 4]}:a.png;\n`),
  'files that are nearly there': () => many(sweep(50_000, 200), (i) => `changeBg:missing${i}.png;\n`),
  'an endless line': () => `:${'x'.repeat(4_900_000)};\n`,
  'endless arguments': () => `changeBg:a.png${' -a'.repeat(1_500_000)};\n`,
  'glued arguments': () => `changeBg:a.png -${'a-'.repeat(15_000)};\n`,
  'brackets that are never closed': () => many(30, () => `choose:${'('.repeat(30_000)}->a:b;\n`),
  'quotes that are never closed': () => many(30, () => `setTransform:{${'"\\'.repeat(10_000)} -a="x;\n`),
  'file names without end': () => many(30, () => `Foo:${'.png?'.repeat(6_000)}\u2028;\n`),
  'control flow without end': () => many(30, () => `else if ${'('.repeat(30_000)}\u2028;\n`),
  'a condition with very many variables': () =>
    many(sweep(30, 3), (n) => `changeScene:start.txt -when=${many(4_000, (i) => `v${n}a${i}+`)}1;\n`),
  'lines that go on and on': () => `choose:a\n${many(sweep(90_000, 3_000), () => ' |b:c\n')}`,
  'lines that end in a backslash': () => many(sweep(90_000, 3_000), () => 'a\\\n'),
  'nothing but lines': () => '\n'.repeat(sweep(5_000_000, 300_000)),
  'variables nobody sets': () => many(sweep(90_000, 3_000), (i) => `:{v${i}};\n`),
}

/** How long a call may take is not what these are about. */
const patient = { 'call-timeout-ms': String(patienceMs) }

for (const [says, make] of Object.entries(scenes))
  test(`B01 a scene of ${says} is looked at in steps, and the answers stay small`, async () => {
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`game/background/file${i}.jpg`, '']))
    await using world = await openWorld({ files: { ...files, [start]: make() }, flags: patient })
    const asked = someQuestions(says)
    const answers = await askAll(world, asked)
    expect(answers).toHaveLength(asked.length)
  })

test('B01 100,000 lines `a= -` over stdio size: the gravest are told, how many more is told, and nothing is called valid that was not read', async () => {
  const count = sweep(100_000, 20_000)
  await using world = await openWorld({ files: { [start]: many(count, () => 'a= -\n') } })
  const { turns, result } = await turnsDuring(() => world.call<Answer>('validate_script', { path: start }))
  expect(turns).toBeGreaterThan(3)
  expect(result.diagnostics).toHaveLength(2_000)
  expect(result.notShown).toBe(count - 2_000)
  expect(result.valid).toBe(true)
  world.write(start, `${many(sweep(150_000, 100_000), () => 'a= -\n')}changeBG:a.png;\n`)
  const longer = await world.call<Answer>('validate_script', { path: start })
  expect(longer.valid).toBe(false)
  expect(longer.diagnostics?.filter(({ severity }) => severity === 'error')).toMatchObject([
    { line: 100_000, code: 'too-many-lines' },
  ])
})

test('B02 errors are told before notes where not all can be', async () => {
  await using world = await openWorld({ files: { [start]: `${many(30_000, () => 'a\n')}${many(3, () => 'changeBG:a.png;\n')}` } })
  const { diagnostics = [] } = await world.call<Answer>('validate_script', { path: start })
  expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ line }) => line)).toEqual([30_001, 30_002, 30_003])
  expect(diagnostics.map(({ line }) => line)).toEqual(diagnostics.map(({ line }) => line).toSorted((a, b) => a - b))
})

test('B03 an endless statement is not checked, and that is an error of its own; the map says what it did not read', async () => {
  await using world = await openWorld({ files: { [start]: `choose:${many(10_000, (i) => `|c${i}:start.txt`)};\nend;\n` } })
  const { valid, diagnostics } = await world.call<Answer>('validate_script', { path: start })
  expect([valid, diagnostics?.map(({ line, code }) => [line, code])]).toEqual([false, [[1, 'statement-too-long']]])
  const map = await world.call<Answer>('scene_graph', {})
  expect(map.leftOut?.join('\n')).toContain('start.txt')
})

test('B04 a map of thousands of scenes with long ways across: drawn in bounds, told what is not', async () => {
  const count = sweep(3_000, 2_100)
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `game/scene/s${String(i).padStart(4, '0')}.txt`,
      `changeScene:s${String(Math.min(i + 1, count - 1)).padStart(4, '0')}.txt;\nchoose:a:s0000.txt|b:s${count - 1}.txt|c:start.txt;\n`,
    ]),
  )
  await using world = await openWorld({ files: { ...files, [start]: 'changeScene:s0000.txt;\n' }, config: { lang: 'EN' } })
  const { turns, result } = await turnsDuring(() =>
    world.call<Answer & { scenes: unknown[]; drawing: string }>('scene_graph', { format: 'svg' }),
  )
  expect(turns).toBeGreaterThan(3)
  expect(result.scenes).toHaveLength(count + 1)
  expect(result.leftOut).toContain(`drawing: only 2000 of ${count + 1} scenes are drawn.`)
  expect(result.drawing.match(/<svg class="scene[^>]* data-i=/g)?.length).toBe(2_000)
  expect(result['unreachable']).toEqual([])
})

test('B05 another client is answered while a hostile game is looked at', async () => {
  await using world = await openWorld({
    files: { [start]: labels(sweep(60_000, 1_000)) },
    flags: patient,
  })
  const order: string[] = []
  const report = world.call('project_report', {}).then(() => order.push('report'))
  await world.call('read_file', { path: 'game/scene/start.txt' }, { client: 'other/1', session: 'sess_other' })
  order.push('read')
  await report
  expect(order).toEqual(['read', 'report'])
})

test('B06 a call that is ended goes no further', async () => {
  await using world = await openWorld({
    files: { [start]: labels(sweep(60_000, 1_000)) },
  })
  const ending = new AbortController()
  const report = world.call('project_report', {}, { signal: ending.signal })
  setImmediate(() => ending.abort(new Error('gone')))
  await expect(report).rejects.toThrow()
})

test('B07 characters.json with a null, or lists within lists without end, is a clear error or no matter', async () => {
  await using world = await openWorld({
    files: {
      'game/figure/a.png': '',
      'game/characters.json': `[null, 7, {"name":"Bo","imageFile":${JSON.stringify('x'.repeat(100_000))}}]`,
    },
  })
  await world.call('generate_character_profile', { name: 'Ann', imageFile: 'a.png' })
  expect(JSON.parse(world.read('game/characters.json'))).toHaveLength(4)
  const known = await world.fault('generate_character_profile', { name: 'Bo', imageFile: 'a.png' })
  expect([known.code, JSON.stringify(known.details).length < 1_000]).toEqual(['E_CONFLICT', true])
  world.write('game/characters.json', `${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  expect((await world.fault('generate_character_profile', { name: 'Cy', imageFile: 'a.png' })).code).toBe('E_PARSE_FAIL')
})

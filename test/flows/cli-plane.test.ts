// @stage
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { CommandResult } from '../../src/contracts/command-result.ts'
import { commandsOf } from '../../src/runtime/commands.ts'
import { canonical } from '../../src/text/canonical.ts'
import { openInside, runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { eventually } from '../support/sockets.ts'
import { openWorld, runCli, type World } from '../support/world.ts'

const isResult = new Ajv2020().compile(CommandResult)

const slice = `import { createSlice } from '@reduxjs/toolkit'

export const todo = createSlice({
  name: 'todo',
  initialState: [] as string[] // nothing yet
})
`

let world: World
beforeAll(async () => {
  world = await openWorld({
    files: {
      'package.json': '{"name":"app","scripts":{"lint":"node lint.mjs","test":"node --test"}}',
      'lint.mjs': '',
      'a.test.mjs': `import { test } from 'node:test'\ntest('fine', () => {})\n`,
      'src/todo.ts': slice,
      'src/limits.ts': 'export const limits = {\r\n\tfiles: 3,\r\n\tnested: {}\r\n}\r\n',
      'src/raw.ts': `import { createSlice } from '@reduxjs/toolkit'\nexport const other = createSlice(options)\n`,
      'src/spread.ts': `import { createSlice } from '@reduxjs/toolkit'\nexport const third = createSlice({ name: 'third', ...options })\n`,
      'try.mjs': `export const main = async () => { console.log('hello'); return { answer: 42 } }\nexport const bad = () => { throw new TypeError('no') }\n`,
      'broken.mjs': 'export const = 1\n',
      'ops.json': JSON.stringify({
        target: { file: 'src/limits.ts', exportName: 'limits' },
        ops: [
          { op: 'addProperty', name: 'bytes', value: '10' },
          { op: 'addProperty', path: ['nested'], name: 'deep', value: "'x'" },
          { op: 'addProperty', name: 'files', value: '9' },
          { op: 'addProperty', path: ['nope'], name: 'x', value: '1' },
        ],
      }),
      'good/a.json': '{"schemaVersion":1,"kind":"A","x":1}',
      'other/a.json': '{"kind":"A","schemaVersion":1,"x":2}',
      'traced/a.json': '{"schemaVersion":1,"kind":"A","x":1}',
      'traced/trace.slim.json': '{"schemaVersion":1,"kind":"EvidencePackage"}',
      'bad/a.json': '{',
    },
    projectConfig: {
      cli: {
        schemaVersion: 1,
        defaults: { timeout: 20_000, checks: 'lint,test' },
        profiles: { kept: { outRoot: 'reports', includeTrace: true }, quick: { checks: ['lint'] } },
      },
    },
  })
})
afterAll(() => world[Symbol.asyncDispose]())

interface Ran {
  code: number | null
  result: CommandResult
  line: string
}

async function run(words: string, more: { env?: Record<string, string> } = {}): Promise<Ran> {
  const { code, out } = await runInside(world.project, [...words.split(' '), '--json'], more)
  expect(out.endsWith('\n') && !out.slice(0, -1).includes('\n'), out).toBe(true)
  const result = JSON.parse(out) as CommandResult
  expect(isResult(result), JSON.stringify(isResult.errors)).toBe(true)
  expect(out).toBe(`${canonical(result)}\n`)
  expect(result.error === undefined).toBe(result.ok)
  return { code, result, line: out }
}

const inline = ({ result }: Ran, key: string): Record<string, unknown> =>
  result.artifacts.find((one) => one.outputKey === key)?.inline as Record<string, unknown>

describe('one line of JSON', () => {
  proves('commands.result', 'through the real program: sorted keys, exit 0, and the catalogue', async () => {
    const { code, out } = await runCli(world.project, ['describe', '--json', '--runId', 'r1'])
    const result = JSON.parse(out) as CommandResult
    expect([code, result.ok, result.command, result.runId, out]).toEqual([0, true, 'describe', 'r1', `${canonical(result)}\n`])
    const { commands } = inline({ code, result, line: out }, 'describeReport') as { commands: { name: string }[] }
    expect(commands.map(({ name }) => name)).toEqual([
      'describe',
      'check',
      'anchor.index',
      'anchor.autofill',
      'transform',
      'artifact.validate',
      'artifact.diff',
      'trial',
    ])
  })

  test.each([
    ['describe', 'CLI_MISSING_RUNID', 'describe'],
    ['anchor', 'CLI_INVALID_COMMAND', 'unknown'],
    ['anchor index --runId a --nope', 'CLI_INVALID_ARGUMENT', 'unknown'],
    ['anchor index --runId a --MODE write', 'CLI_INVALID_ARGUMENT', 'unknown'],
    ['anchor index --runId a --mode write', 'CLI_INVALID_ARGUMENT', 'unknown'],
    ['anchor autofill --runId a --mode destroy', 'CLI_INVALID_ARGUMENT', 'unknown'],
    ['transform --runId a', 'CLI_INVALID_ARGUMENT', 'transform'],
    ['transform --runId a --ops missing.json --mode write', 'CLI_INVALID_INPUT', 'transform'],
    ['transform --runId a --ops src/todo.ts', 'CLI_INVALID_INPUT', 'transform'],
    ['describe --runId ../x', 'CLI_INVALID_ARGUMENT', 'describe'],
    ['describe --runId a --profile nope', 'CLI_INVALID_INPUT', 'unknown'],
    ['anchor index --runId a --presets nope', 'CLI_INVALID_ARGUMENT', 'anchor.index'],
    ['anchor index --runId a --repoRoot ../..', 'CLI_VIOLATION_POLICY', 'anchor.index'],
    ['trial --runId a --entry try.mjs#nope', 'CLI_ENTRY_NO_EXPORT', 'trial'],
    ['trial --runId a --entry broken.mjs', 'CLI_ENTRY_IMPORT_FAILED', 'trial'],
  ])('%s: exit 2, %s', async (words, error, command) => {
    const { code, result } = await run(words)
    expect([code, result.ok, result.error?.code, result.command]).toEqual([2, false, error, command])
  })

  test('what failed of itself is exit 1; a project that is none is still one line', async () => {
    const { code, result } = await run('trial --runId a --entry try.mjs#bad')
    expect([code, result.error?.code]).toEqual([1, 'CLI_COMMAND_FAILED'])
    const { code: missing, out } = await runInside(`${world.project}/nowhere`, ['describe', '--json', '--runId', 'a'])
    expect([missing, (JSON.parse(out) as CommandResult).error !== undefined]).toEqual([missing === 0 ? -1 : missing, true])
  })

  test('options before the words, both forms, last one wins; values are no words', async () => {
    const { result } = await run('--runId=a --runId b anchor.index --presets store')
    expect([result.runId, result.command]).toEqual(['b', 'anchor.index'])
    const { result: profiled } = await run('--profile quick describe --runId a')
    const { config } = inline({ code: 0, result: profiled, line: '' }, 'describeReport') as {
      config: { layers: string[]; argvWithConfig: string[]; argv: string[] }
    }
    expect(config.layers).toEqual(['defaults', 'profile:quick'])
  })

  test('the same twice is the same line; without --json it is for people', async () => {
    const [first, second] = [await run('anchor index --runId a'), await run('anchor index --runId a')]
    expect(first.line).toBe(second.line)
    const { out, code } = await runInside(world.project, ['anchor', 'index'])
    expect([code, out]).toEqual([0, expect.stringContaining('✓')])
    expect(out.startsWith('{')).toBe(false)
  })

  test('over the budget only the beginning is in the result, with the digest of the whole', async () => {
    const whole = (await run('anchor index --runId a')).result.artifacts[0]
    const { result } = await run('anchor index --runId a --budgetBytes 300')
    const [cut] = result.artifacts
    expect(cut).toMatchObject({
      truncated: true,
      budgetBytes: 300,
      digest: whole?.digest,
      inline: { _tag: 'oversized', bytes: cut?.actualBytes },
    })
    expect(Buffer.byteLength((cut?.inline as { preview: string } | undefined)?.preview ?? '')).toBeLessThanOrEqual(256)
  })
})

describe('settings', () => {
  test('a profile puts artifacts into files; --out beats it', async () => {
    const ran = await run('trial --entry try.mjs#main --runId t1 --profile kept')
    expect(ran.result.artifacts.map(({ file, inline: value }) => [file, value])).toEqual([
      ['trace.slim.json', undefined],
      ['trial.report.json', undefined],
    ])
    const trace = JSON.parse(readFileSync(world.path('reports/trial/t1/trace.slim.json'), 'utf8')) as {
      events: { text?: string }[]
    }
    expect(trace.events.some(({ text }) => text === 'hello\n')).toBe(true)
    await run('trial --entry try.mjs#main --runId t2 --profile kept --noIncludeTrace --out elsewhere')
    expect([existsSync(world.path('elsewhere/trial.report.json')), existsSync(world.path('elsewhere/trace.slim.json'))]).toEqual([
      true,
      false,
    ])
    const outside = await run('describe --runId a --out ../out')
    expect([outside.code, outside.result.error?.code]).toEqual([2, 'CLI_VIOLATION_POLICY'])
  })

  proves('plans.report-first', 'writing is never switched on by settings', async () => {
    const before = readFileSync(world.path('handrail.config.json'))
    world.write('handrail.config.json', JSON.stringify({ cli: { schemaVersion: 1, defaults: { mode: 'write' } } }))
    const { code, result } = await run('anchor autofill --runId a')
    world.write('handrail.config.json', before)
    expect([code, result.error?.code, world.read('src/todo.ts')]).toEqual([2, 'CLI_INVALID_INPUT', slice])
  })

  test('check: a verdict, and exit 2 where it is FAIL', async () => {
    const good = await run('check --runId a')
    expect([good.code, inline(good, 'verdict')['verdict']]).toEqual([0, 'PASS'])
    world.write('lint.mjs', `console.error('src/todo.ts:3:1 wrong'); process.exit(1)`)
    const bad = await run('check --runId a --profile quick')
    world.write('lint.mjs', '')
    expect([bad.code, bad.result.error?.code, inline(bad, 'verdict')['verdict']]).toEqual([2, 'CLI_VIOLATION_CHECK', 'FAIL'])
    const { diagnostics } = inline(bad, 'cliDiagnostics') as { diagnostics: { action: { command: string }; pointer: object }[] }
    expect(diagnostics[0]).toMatchObject({
      pointer: { file: 'src/todo.ts', line: 3, column: 1 },
      action: { command: 'npm run lint' },
    })
  })
})

describe('write-back', () => {
  proves(
    'plans.missing-only',
    'autofill: report changes nothing, write adds exactly the field, the next plan is empty, and undo takes it back',
    async () => {
      const report = await run('anchor autofill --runId a')
      expect(world.read('src/todo.ts')).toBe(slice)
      expect(report.result.artifacts.find((one) => one.outputKey === 'autofillReport')?.reasonCodes).toEqual([
        'AUTOFILL_REPORT_ONLY',
      ])
      const plan = inline(report, 'patchPlan') as unknown as { summary: object; operations: object[] }
      expect(plan.summary).toEqual({ operationsTotal: 1, writableTotal: 1, skippedTotal: 0, failedTotal: 0 })
      const { patches } = inline(report, 'patchPreview') as { patches: object[] }
      expect(patches).toMatchObject([
        { file: 'src/todo.ts', kind: 'update', edits: [{ newText: ',' }, { newText: '\n  reducers: {}' }] },
      ])

      const written = await run('anchor autofill --runId a --mode write')
      expect(world.read('src/todo.ts')).toBe(
        slice.replace('// nothing yet\n', '// nothing yet\n  reducers: {}\n').replace('string[] //', 'string[], //'),
      )
      expect((inline(written, 'patchPlan') as unknown as { operations: object[] }).operations).toEqual(plan.operations)
      expect(inline(written, 'writeBackResult')).toMatchObject({
        modifiedFiles: [{ file: 'src/todo.ts', changeKind: 'updated' }],
        failed: [],
      })

      const again = await run('anchor autofill --runId a --mode write')
      expect(inline(again, 'patchPlan')['summary']).toMatchObject({ writableTotal: 0 })
      expect(inline(again, 'autofillReport')['summary']).toMatchObject({
        reasons: expect.arrayContaining([{ code: 'already_declared', count: 1 }]) as unknown,
      })
      expect((await runInside(world.project, ['undo', '--last', '--yes'])).code).toBe(0)
      expect(world.read('src/todo.ts')).toBe(slice)
    },
  )

  proves('plans.reviewable', 'transform: what can be added is, line ends stay, and the third run plans nothing', async () => {
    const report = await run('transform --ops ops.json --runId a')
    const statuses = (ran: Ran) =>
      (inline(ran, 'transformReport') as { ops: { status: string }[] }).ops.map(({ status }) => status)
    expect(statuses(report)).toEqual(['planned', 'planned', 'noop', 'skipped'])
    const written = await run('transform module --ops ops.json --runId a --mode write')
    expect([written.code, statuses(written)]).toEqual([0, ['written', 'written', 'noop', 'skipped']])
    expect(world.read('src/limits.ts')).toBe(
      "export const limits = {\r\n\tfiles: 3,\r\n\tnested: { deep: 'x' },\r\n\tbytes: 10\r\n}\r\n",
    )
    expect(statuses(await run('transform --ops ops.json --runId a'))).toEqual(['noop', 'noop', 'noop', 'skipped'])
  })

  proves(
    'plans.digest',
    'a file that changed after the plan is not touched; nor one outside, nor one that would break',
    async () => {
      const { plan } = await world.call<{ plan: { operations: { file: string; property: object }[] } }>('plan_autofill', {})
      world.write('src/todo.ts', `// mine\n${slice}`)
      const apply = (given: object) =>
        world.call<{ modifiedFiles: object[]; failed: { reasonCodes: string[] }[] }>('apply_patch_plan', { plan: given })
      expect(await apply(plan)).toMatchObject({
        modifiedFiles: [],
        failed: [{ reasonCodes: ['rewriter.file.changed_since_plan'] }],
      })
      expect(world.read('src/todo.ts')).toBe(`// mine\n${slice}`)
      world.write('src/todo.ts', slice)
      const [op] = plan.operations as [{ file: string; property: object }]
      const forged = { ...plan, operations: [{ ...op, property: { name: 'x', valueCode: '1' } }] }
      expect(await apply(forged)).toMatchObject({
        modifiedFiles: [],
        failed: [{ reasonCodes: ['rewriter.plan.op_key_mismatch'] }],
      })
      expect(
        await world.fault('apply_patch_plan', { plan: { ...plan, operations: [{ ...op, file: '../todo.ts' }] } }),
      ).toMatchObject({ code: 'E_DENY_PATH' })
      expect(world.read('src/todo.ts')).toBe(slice)
    },
  )
})

describe('the defects of the rewriter this one replaces', () => {
  const transform = async (file: string, value: string): Promise<{ plan: { operations: object[] } }> =>
    world.call('plan_transform', {
      deltas: [{ target: { file, exportName: 'x' }, ops: [{ op: 'addProperty', name: 'added', value }] }],
    })
  const apply = (plan: object) =>
    world.call<{ modifiedFiles: object[]; failed: { reasonCodes: string[] }[] }>('apply_patch_plan', { plan })

  test('2: what would be no program any more is not written', async () => {
    // An expression of its own, but not inside a function that is not async.
    const text = `import { createSlice } from '@reduxjs/toolkit'\nexport function make() {\n  return createSlice({ name: 'x' })\n}\n`
    world.write('src/inside.ts', text)
    const { plan } = await world.call<{ plan: object }>('plan_transform', {
      deltas: [{ target: { file: 'src/inside.ts', id: 'x' }, ops: [{ op: 'addProperty', name: 'added', value: 'await y' }] }],
    })
    expect(plan).toMatchObject({ operations: [{ decision: 'write' }] })
    expect(await apply(plan)).toMatchObject({ modifiedFiles: [], failed: [{ reasonCodes: ['rewriter.apply.failed'] }] })
    expect(world.read('src/inside.ts')).toBe(text)
  })

  test('3: a link that leads out of the project is not followed', async () => {
    writeFileSync(join(world.base, 'outside.ts'), 'export const x = {}\n')
    symlinkSync(join(world.base, 'outside.ts'), world.path('src/link.ts'))
    symlinkSync(world.base, world.path('src/up'))
    for (const file of ['src/link.ts', 'src/up/outside.ts', '../outside.ts', join(world.base, 'outside.ts')]) {
      const target = { file, exportName: 'x' }
      const ops = [{ op: 'addProperty', name: 'added', value: '1' }]
      expect([file, await world.fault('plan_transform', { deltas: [{ target, ops }] })]).toMatchObject([
        file,
        { code: 'E_DENY_PATH' },
      ])
      const operations = [{ ...example, file, decision: 'write' }]
      const plan = { schemaVersion: 1, kind: 'PatchPlan', mode: 'write', summary: none, operations }
      expect([file, await world.fault('apply_patch_plan', { plan })]).toMatchObject([file, { code: 'E_DENY_PATH' }])
    }
    expect(readFileSync(join(world.base, 'outside.ts'), 'utf8')).toBe('export const x = {}\n')
  })

  test('4: looking at a file and writing it are one step: whoever writes meanwhile loses nothing', async () => {
    for (let round = 0; round < 20; round++) {
      world.write('src/raced.ts', 'export const x = { a: 1 }\n')
      const { plan } = await transform('src/raced.ts', '2')
      const applying = world.runtime
        .call('apply_patch_plan', { plan }, { surface: 'cli', client: 'test', session: 'sess_raced', role: 'agent' })
        .catch(() => undefined)
      for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve))
      const mine = `export const x = { mine: ${round} }\n`
      world.write('src/raced.ts', mine)
      await applying
      expect([round, world.read('src/raced.ts')]).toEqual([round, mine])
    }
  })
})

const none = { operationsTotal: 0, writableTotal: 0, skippedTotal: 0, failedTotal: 0 }
const at = { line: 1, column: 1, offset: 0 }
const example = {
  opKey: 'AddObjectProperty:0',
  kind: 'AddObjectProperty',
  targetSpan: { start: at, end: at },
  property: { name: 'added', valueCode: '1' },
  expectedFileDigest: `sha256:${'0'.repeat(64)}`,
  reasonCodes: ['x'],
}

describe('artifacts', () => {
  test.each([
    ['validate --in good', 0, 'pass', []],
    ['validate --in good --require a.json,b.json', 2, 'violation', ['MISSING_REQUIRED_FILE:b.json']],
    ['validate --in bad', 2, 'error', ['PARSE_ERROR:JSON']],
    ['diff --before good --after good', 0, 'pass', []],
    ['diff --before good --after other', 2, 'violation', ['DIFF_CHANGED_FILES']],
    ['diff --before good --after traced', 0, 'pass', ['DIFF_NON_GATING_CHANGES']],
    ['diff --before good --after bad', 2, 'error', ['DIFF_CHANGED_FILES', 'PARSE_ERROR:JSON']],
  ])('artifact %s', async (words, code, status, reasons) => {
    const ran = await run(`artifact ${words} --runId a`)
    const [artifact] = ran.result.artifacts
    expect([ran.code, (artifact?.inline as { status: string } | undefined)?.status, artifact?.reasonCodes]).toEqual([
      code,
      status,
      reasons,
    ])
  })
})

test('parity: over MCP the same calls give the same as the commands, and both are in the log', async () => {
  await using peer = await openInside(world.project)
  const over = async (tool: string, input: Record<string, unknown>): Promise<unknown> =>
    (await peer.client.callTool({ name: tool, arguments: input })).structuredContent
  expect(await over('anchor_index', {})).toEqual(inline(await run('anchor index --runId a'), 'anchorIndex'))
  const { plan } = (await over('plan_autofill', {})) as { plan: unknown }
  expect(plan).toEqual(inline(await run('anchor autofill --runId a'), 'patchPlan'))
  const { results } = (await over('run_checks', { checks: ['lint', 'test'] })) as { results: Record<string, unknown>[] }
  const plain = results.map(({ check, ok, exitCode, diagnostics, tool, command }) => ({
    check,
    ok,
    exitCode,
    diagnostics,
    tool,
    command,
  }))
  expect(plain).toEqual(inline(await run('check --runId a'), 'verdict')['results'])
  const calls = world.runtime.audit.last(400, ({ tool }) => tool === 'anchor_index')
  expect(new Set(calls.map(({ surface }) => surface))).toEqual(new Set(['cli', 'mcp-stdio']))
})

test.each(['approvals approve x --yes', 'undo --last --yes', 'trust', 'grants', 'call write_to_file {}', 'serve --port 1', ''])(
  'the plane knows no %s: nobody on it answers for a person',
  async (words) => {
    const plane = commandsOf(world.runtime)
    const argv = [...words.split(' ').filter(Boolean), '--runId', 'r']
    expect(plane.parse(argv)).toMatchObject({ command: 'unknown', writes: false, runId: 'r' })
    const outcome = await plane.run(argv, {
      allowWrite: true,
      caller: { surface: 'cli', client: 'x', session: 'sess_test', role: 'agent' },
    })
    expect(outcome).toMatchObject({
      kind: 'result',
      exitCode: 2,
      result: { command: 'unknown', error: { code: 'CLI_INVALID_COMMAND' } },
    })
  },
)

test('what writes is decided on what was understood, and refused where only reading is allowed', async () => {
  const plane = commandsOf(world.runtime)
  const caller = { surface: 'cli', client: 'x', session: 'sess_test', role: 'agent' } as const
  for (const argv of [
    ['anchor', 'autofill', '--mode', 'write'],
    ['--mode=write', 'anchor.autofill'],
    ['anchor', 'autofill', '--mode=report', '--mode', 'write'],
  ]) {
    expect(plane.parse(argv)).toMatchObject({ writes: true, effect: 'writes-source' })
    expect(await plane.run([...argv, '--runId', 'r'], { allowWrite: false, caller })).toMatchObject({
      exitCode: 2,
      result: { error: { code: 'CLI_VIOLATION_READ_ONLY' } },
    })
  }
  expect(plane.parse(['anchor', 'autofill', '--mode=write', '--mode=report'])).toMatchObject({ writes: false, effect: 'read' })
  expect(plane.parse(['trial', '--entry', 'x', '--outRoot', 'o', '--runId=r'])).toMatchObject({
    effect: 'executes-code',
    outFolder: 'o/trial/r',
  })
  expect(plane.parse(['transform', '--ops', '-'])).toMatchObject({ stdin: true })
  expect(await plane.run(['transform', '--ops', '-', '--runId', 'r'], { allowWrite: true, caller })).toMatchObject({
    exitCode: 2,
  })
  expect(await plane.run(['anchor', '--help'], { allowWrite: false, caller })).toMatchObject({ kind: 'help', exitCode: 0 })
  expect(plane.config()).toMatchObject({ found: true, ok: true, profiles: ['kept', 'quick'] })
})

test('what one process found the next one knows: it reads what was kept, until the file is another', async () => {
  await using own = await openWorld({ files: { 'src/todo.ts': slice } })
  const words = ['anchor', 'index', '--json', '--runId', 'warm']
  const idsIn = (out: string): unknown[] => {
    const { artifacts } = JSON.parse(out) as { artifacts: { inline: { entries: { idLiteral?: string }[] } }[] }
    return (artifacts[0]?.inline.entries ?? []).flatMap(({ idLiteral }) => idLiteral ?? [])
  }
  const keptFile = (): string | undefined =>
    readdirSync(own.base, { recursive: true, encoding: 'utf8' }).find((name) => /\/anchors\/\w{32}$/.test(name))
  // A file is known once it is older than the clock of the file system can blur.
  const kept = await eventually('what is kept', async () => {
    expect(idsIn((await runInside(own.project, words)).out)).toEqual(['todo'])
    const name = keptFile()
    return name !== undefined && readFileSync(join(own.base, name), 'utf8').includes('"todo"') ? join(own.base, name) : undefined
  })
  // Something only whoever reads what is kept can say.
  writeFileSync(kept, readFileSync(kept, 'utf8').replaceAll('"idLiteral":"todo"', '"idLiteral":"as kept"'))
  expect(idsIn((await runCli(own.project, words)).out)).toEqual(['as kept'])
  writeFileSync(join(own.project, 'src/todo.ts'), slice.replace("'todo'", "'other'"))
  expect(idsIn((await runInside(own.project, words)).out)).toEqual(['other'])
})

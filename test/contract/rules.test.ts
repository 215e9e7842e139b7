import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Config } from '../../src/contracts/config.ts'
import { errorTable, errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { openPolicy } from '../../src/kernel/policy.ts'
import { catalogue } from '../../src/toolsets/index.ts'
import { loadConfig } from '../../src/config/load.ts'
import { proves } from '../support/proof.ts'
import { openWorld, repository } from '../support/world.ts'

const codeOf = (act: () => void): string | undefined => {
  try {
    act()
    return undefined
  } catch (thrown) {
    return errorCodeOf(thrown as Fault)
  }
}

proves('version', 'the only version that is accepted', () => {
  expect(loadConfig({}).config.contractVersion).toBe('1.0.0')
  expect(codeOf(() => loadConfig({ project: { name: 'x', text: '{"contractVersion":"1.1.0"}' } }))).toBe('E_BAD_ARGS')
})

proves('errors.codes', 'the table is the list', () => {
  const listed =
    'E_DENY_PATH E_NOT_FOUND E_IO E_TOO_LARGE E_ENCODING E_PARSE_FAIL E_LINT_FAIL E_CONFLICT E_PREVIEW_FAIL E_TIMEOUT E_POLICY_VIOLATION E_TOOL_DISABLED E_UNSUPPORTED E_BAD_ARGS E_INTERNAL'
  expect(new Set(Object.keys(errorTable))).toEqual(new Set(listed.split(' ')))
})

proves('schemas.equal', 'every field of the seed is there as it stands; what is added is optional', () => {
  interface Shape {
    properties?: Record<string, unknown>
    required?: string[]
  }
  const seed = JSON.parse(readFileSync(join(repository, 'test/contract/seed-000.schemas.json'), 'utf8')) as Record<string, Shape>
  for (const tool of catalogue())
    for (const [side, schema] of [
      ['request', tool.input],
      ['response', tool.output],
    ] as const) {
      const given = seed[`${tool.name}.${side}`]
      const ours = JSON.parse(JSON.stringify(schema)) as Shape
      if (given)
        expect({ ...ours, properties: { ...ours.properties, ...given.properties } }).toEqual({
          ...given,
          properties: { ...ours.properties, ...given.properties },
        })
    }
})

proves('commands.allow-list', 'a command outside the list is refused before anything happens', () => {
  const policy = openPolicy(loadConfig({ flags: { mode: 'developer' } }).config)
  const tool = catalogue()[0] as typeof catalogue extends () => (infer T)[] ? T : never
  expect(codeOf(() => policy.authorize(tool, [{ command: 'build' }]))).toBeUndefined()
  for (const command of ['deploy', 'build; rm -rf /', ' build', 'BUILD', ''])
    expect(codeOf(() => policy.authorize(tool, [{ command }]))).toBe('E_POLICY_VIOLATION')
})

proves('browser.allow-list', 'only local hosts, whatever they are dressed as', () => {
  const policy = openPolicy(loadConfig({ flags: { mode: 'developer' } }).config)
  const tool = catalogue()[0] as typeof catalogue extends () => (infer T)[] ? T : never
  for (const url of ['http://localhost:3000/x', 'http://127.0.0.1/', 'https://localhost/'])
    expect(codeOf(() => policy.authorize(tool, [{ url }]))).toBeUndefined()
  for (const url of [
    'http://localhost.evil.com/',
    'http://localhost@evil.com/',
    'http://evil.com/?localhost',
    'file:///etc/passwd',
    'javascript:1',
    'http://127.0.0.1.nip.io/',
    'http://[::ffff:7f00:1]/',
    'http://user:x@localhost/',
    'nonsense',
  ])
    expect([url, codeOf(() => policy.authorize(tool, [{ url }]))]).toEqual([url, 'E_POLICY_VIOLATION'])
})

proves('policy.file', 'the seed’s own file is accepted as it stands', async () => {
  await using world = await openWorld({
    projectConfig: {
      contractVersion: '1.0.0',
      mode: 'cline',
      policies: {
        sandboxRoot: '${projectRoot}',
        forbiddenDirs: ['.git', 'node_modules', '.env'],
        writeRequiresDiff: true,
        maxAutoFix: 1,
        batchMaxLines: 2000,
        allowedCommands: ['dev', 'build', 'lint'],
        browserAllowedHosts: ['localhost', '127.0.0.1'],
      },
    },
  })
  expect(world.runtime.config.mode).toBe('cline')
  expect(world.runtime.settings.find((one) => one.key === 'policies.maxAutoFix')?.origin).toBe('project')
})

proves('policy.sandbox-root', 'tools see only the folder it names, and it cannot lie outside', async () => {
  await using world = await openWorld({
    files: { 'game/a.txt': 'in', 'b.txt': 'out' },
    config: { policies: { sandboxRoot: '${projectRoot}/game' } },
  })
  expect(await world.call('list_files', { path: 'game' })).toEqual({ entries: ['a.txt'] })
  for (const path of ['b.txt', '.', 'games/x', 'GAME/a.txt'])
    expect((await world.fault('read_file', { path })).code).toBe('E_DENY_PATH')
  world.settings({ policies: { sandboxRoot: '/' } })
  await expect(world.reopen()).rejects.toMatchObject({ reason: 'bad-input' })
  world.settings({})
  await world.reopen().catch(() => undefined)
})

proves('policy.forbidden-dirs', 'other names than the default ones', async () => {
  await using world = await openWorld({
    files: { 'secret/a.txt': 's', 'node_modules/b.txt': 'n' },
    config: { policies: { forbiddenDirs: ['secret'] } },
  })
  expect((await world.fault('read_file', { path: 'secret/a.txt' })).code).toBe('E_DENY_PATH')
  expect(await world.call('read_file', { path: 'node_modules/b.txt' })).toMatchObject({ content: 'n' })
})

proves('policy.write-requires-diff', 'switched off, a write needs no dry run', async () => {
  await using world = await openWorld({ config: { policies: { writeRequiresDiff: false } } })
  expect(await world.call('write_to_file', { path: 'a.txt', content: 'x', dryRun: false })).toMatchObject({ applied: true })
})

proves('policy.max-auto-fix', 'a file that keeps failing its check asks a person', () => {
  const policy = openPolicy(loadConfig({ flags: { 'max-auto-fix': '1' } }).config)
  const touches = [{ path: 'a.txt', access: 'write' as const }]
  expect(policy.risk('R1', touches, () => 1)).toBe('R1')
  expect(policy.risk('R1', touches, () => 2)).toBe('R2')
})

proves('policy.batch-max-lines', 'one call changes at most so many lines', async () => {
  await using world = await openWorld({ config: { policies: { batchMaxLines: 3 } } })
  await world.call('write_to_file', { path: 'a.txt', content: '1\n2\n3\n4\n', dryRun: true })
  const fault = await world.fault('write_to_file', { path: 'a.txt', content: '1\n2\n3\n4\n', dryRun: false })
  expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { lines: 4, batchMaxLines: 3 } })
  expect(await world.put('a.txt', '1\n2\n3\n')).toMatchObject({ applied: true })
})

proves('policy.allowed-commands', 'the list in the file is the list in force', () => {
  const policy = openPolicy(loadConfig({ user: { name: 'x', text: '{"policies":{"allowedCommands":["test"]}}' } }).config)
  const tool = catalogue()[0] as typeof catalogue extends () => (infer T)[] ? T : never
  expect(codeOf(() => policy.authorize(tool, [{ command: 'test' }]))).toBeUndefined()
  expect(codeOf(() => policy.authorize(tool, [{ command: 'build' }]))).toBe('E_POLICY_VIOLATION')
})

proves('policy.browser-hosts', 'the list in the file is the list in force', () => {
  const policy = openPolicy(
    loadConfig({ user: { name: 'x', text: '{"policies":{"browserAllowedHosts":["game.local"]}}' } }).config,
  )
  const tool = catalogue()[0] as typeof catalogue extends () => (infer T)[] ? T : never
  expect(codeOf(() => policy.authorize(tool, [{ url: 'http://game.local/' }]))).toBeUndefined()
  expect(codeOf(() => policy.authorize(tool, [{ url: 'http://localhost/' }]))).toBe('E_POLICY_VIOLATION')
})

proves('compat.additive', 'unknown settings and unknown fields are refused, so that nothing is silently ignored', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  expect((await world.fault('read_file', { path: 'a.txt', extra: 1 })).code).toBe('E_BAD_ARGS')
  expect(Object.keys(Config.properties)).toContain('policies')
})

proves('gate.no-bypass', 'no caller but a person passes R2 without an approval, and risk can only be raised', async () => {
  await using world = await openWorld({
    files: { 'package.json': '{}' },
    flags: { 'approval-wait-ms': '0', 'write-requires-diff': 'false' },
  })
  const write = { path: 'package.json', content: '{"scripts":{}}', dryRun: false }
  for (const surface of ['mcp-stdio', 'mcp-http', 'cli'] as const)
    expect((await world.fault('write_to_file', write, { surface })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('write_to_file', write, { raisedRisk: 'R0' })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('read_file', { path: 'package.json' }, { raisedRisk: 'R3' })).code).toBe('E_POLICY_VIOLATION')
  expect(world.read('package.json')).toBe('{}')
})

proves('gate.evidence', 'the end line of a change names the states it made', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const { snapshotId } = await world.put('a.txt', 'y')
  expect(world.runtime.audit.last(1)).toMatchObject([
    { event: 'call.end', tool: 'write_to_file', outcome: 'ok', snapshots: [snapshotId] },
  ])
})

proves('gate.audit', 'reads, changes, refusals and bad arguments are all in it, in order', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  await world.call('read_file', { path: 'a.txt' })
  await world.fault('read_file', { path: '../x' })
  await world.fault('read_file', {})
  await world.put('a.txt', 'y')
  const lines = world.runtime.audit.last(20).map((line) => `${line.event} ${line.error ?? line.outcome ?? ''}`.trim())
  expect(lines).toEqual([
    'call.read ok',
    'call.end E_DENY_PATH',
    'call.end E_BAD_ARGS',
    'call.read ok',
    'call.start',
    'call.end ok',
  ])
})

proves('privacy.local', 'nothing outside the root is read, even by name', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  writeFileSync(join(world.base, 'outside.txt'), 'canary')
  expect(JSON.stringify(await world.call('search_files', { path: '.', regex: 'canary' }))).toBe('{"matches":[]}')
  expect((await world.fault('read_file', { path: '../outside.txt' })).code).toBe('E_DENY_PATH')
})

proves('privacy.logs', 'the log lies on this machine, readable by its owner only, and nothing of it in the project', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  await world.call('read_file', { path: 'a.txt' })
  await world.reopen()
  const { statSync } = await import('node:fs')
  expect(statSync(world.state('')).mode & 0o777).toBe(0o700)
  expect(statSync(world.state('audit.jsonl')).mode & 0o777).toBe(0o600)
  expect(readdirSync(world.project)).toEqual(['a.txt'])
})

for (const tool of catalogue())
  for (const example of tool.examples)
    test(`${tool.name}: its example "${example.says}" is true`, async () => {
      await using world = await openWorld({ files: example.given ?? {} })
      expect(await world.call(tool.name, example.input)).toMatchObject(example.output)
    })

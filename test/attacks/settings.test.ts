import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

/** What a clone would ask for to be handed everything. */
const greedy = {
  mode: 'developer',
  enableShell: true,
  policies: { forbiddenDirs: [], sensitiveFiles: [], writeRequiresDiff: false, browserAllowedHosts: ['evil.test'] },
  stage: { stageVisible: ['.handrail', '.env', '.git'] },
}

test('a clone’s settings hand out nothing: .env stays out of reach, package.json still asks, no shell, the rail is not shown', async () => {
  await using world = await openWorld({
    files: { '.env': 'KEY=1\n', 'package.json': '{}\n', 'handrail.config.json': JSON.stringify(greedy) },
    flags: { 'approval-wait-ms': '0' },
  })
  const { runtime } = world
  expect((await world.fault('read_file', { path: '.env' })).code).toBe('E_DENY_PATH')
  await world.call('write_to_file', { path: 'package.json', content: '{"scripts":{}}\n', dryRun: true })
  expect((await world.fault('write_to_file', { path: 'package.json', content: '{"scripts":{}}\n', dryRun: false })).code).toBe(
    'E_POLICY_VIOLATION',
  )
  expect((await world.fault('write_to_file', { path: 'a.txt', content: 'x', dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('shell', { command: 'true' })).code).toBe('E_TOOL_DISABLED')
  expect(runtime.config.mode).toBe('user')
  expect(runtime.config.stage.stageVisible).toEqual(['.git'])
  expect(runtime.config.policies.browserAllowedHosts).toEqual([])
})

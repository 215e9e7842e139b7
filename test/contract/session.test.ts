import { expect } from 'vitest'
import { proves } from '../support/proof.ts'
import { openWorld } from '../support/world.ts'

proves('runtime.info', 'what is in force', async () => {
  await using world = await openWorld({
    config: { policies: { forbiddenDirs: ['secret'] }, limits: { maxReadBytes: 999, snapshotRetention: 7 } },
  })
  expect(await world.call('get_runtime_info', {})).toMatchObject({
    projectRoot: world.project,
    snapshotRetention: 7,
    sandbox: { forbiddenDirs: ['secret'], maxReadBytes: 999, textEncoding: 'utf-8' },
    server: { name: 'handrail' },
  })
})

proves('runtime.no-secrets', 'neither the token nor the environment is in it', async () => {
  await using world = await openWorld()
  const { token } = world.runtime.token()
  process.env['HANDRAIL_TEST_SECRET'] = 'sk-abcdefghijklmnopqrstuvwxyz'
  const text = JSON.stringify(await world.call('get_runtime_info', {}))
  delete process.env['HANDRAIL_TEST_SECRET']
  expect(text).not.toContain(token)
  expect(text).not.toContain('sk-abc')
})

proves('runtime.conditional', 'no execution and no browser where no such tool is on', async () => {
  await using world = await openWorld()
  const info = await world.call('get_runtime_info', {})
  expect(info).not.toHaveProperty('execution')
  expect(info).not.toHaveProperty('browser')
  await using developer = await openWorld({ flags: { mode: 'developer' } })
  expect(await developer.call('get_runtime_info', {})).toMatchObject({
    browser: { enabled: true, allowedHosts: ['localhost', '127.0.0.1'] },
  })
})

proves('runtime.tools', 'exactly the tools that are offered', async () => {
  await using world = await openWorld({ flags: { 'disabled-tools': 'search_files' } })
  const { tools } = await world.call<{ tools: string[] }>('get_runtime_info', {})
  expect(tools).toEqual(world.runtime.tools.map((tool) => tool.name))
  expect(tools).not.toContain('search_files')
  expect((await world.fault('search_files', { path: '.', regex: 'x' })).code).toBe('E_TOOL_DISABLED')
})

proves('runtime.version', 'a semantic version', async () => {
  await using world = await openWorld()
  const { server } = await world.call<{ server: { version: string } }>('get_runtime_info', {})
  expect(server.version).toMatch(/^\d+\.\d+\.\d+$/)
})

proves('ask.ack', 'the question is kept for the person', async () => {
  await using world = await openWorld()
  expect(await world.call('ask_followup_question', { question: 'Which route?' })).toEqual({ ack: true })
  expect(world.runtime.notes('sess_test')).toMatchObject([{ kind: 'question', text: 'Which route?' }])
  expect((await world.fault('ask_followup_question', { question: '' })).code).toBe('E_BAD_ARGS')
})

proves('completion.ack', 'the result is kept for the person', async () => {
  await using world = await openWorld()
  expect(await world.call('attempt_completion', { result: 'Done.' })).toEqual({ ack: true })
  expect(world.runtime.notes('sess_test')).toMatchObject([{ kind: 'completion', text: 'Done.' }])
})

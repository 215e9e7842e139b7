import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { noteRows } from '../../src/text/printable.ts'
import { runInside } from '../support/inside.ts'
import { shownFirst } from '../support/stage.ts'
import { openWorld } from '../support/world.ts'

test('read_file gives lines by their numbers, with their ends, and says how many there are', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\r\n二\nthree', 'empty.txt': '' } })
  const read = (more: object): Promise<Record<string, unknown>> => world.call('read_file', { path: 'a.txt', ...more })
  expect(await read({ startLine: 2 })).toMatchObject({ content: '二\nthree', lines: 3, bytes: 14 })
  expect(await read({ endLine: 1 })).toMatchObject({ content: 'one\r\n', lines: 3 })
  expect(await read({ startLine: 9, endLine: 12 })).toMatchObject({ content: '', lines: 3 })
  expect(await read({ path: 'empty.txt', startLine: 1 })).toMatchObject({ content: '', lines: 0 })
  expect(await read({})).not.toHaveProperty('lines')
  const wrong = (more: object): Promise<{ code: string }> => world.fault('read_file', { path: 'a.txt', ...more })
  expect(await wrong({ startLine: 3, endLine: 2 })).toMatchObject({ code: 'E_BAD_ARGS' })
  expect(await wrong({ startLine: 0 })).toMatchObject({ code: 'E_BAD_ARGS' })
  expect(await wrong({ startLine: 1, cut: true })).toMatchObject({ code: 'E_BAD_ARGS' })
  expect(await wrong({ startLine: 1, maxBytes: 3 })).toMatchObject({ code: 'E_TOO_LARGE' })
})

test('a link that stays inside the project is read, by the rules for what it leads to; every other is refused', async () => {
  await using world = await openWorld({
    files: { 'real.txt': 'inside\n', '.env': 'A=secret-of-mine\n' },
    beside: { 'out.txt': 'outside\n' },
  })
  mkdirSync(world.path('sub'))
  symlinkSync('real.txt', world.path('link.txt'))
  symlinkSync('../link.txt', world.path('sub/twice.txt'))
  symlinkSync('sub', world.path('folder'))
  symlinkSync(world.path('real.txt'), world.path('absolute.txt'))
  symlinkSync('../out.txt', world.path('door.txt'))
  symlinkSync('.env', world.path('plain.txt'))
  symlinkSync('nothing', world.path('dangling.txt'))
  symlinkSync('self.txt', world.path('self.txt'))
  for (const path of ['link.txt', 'sub/twice.txt', 'folder/twice.txt', 'absolute.txt'])
    expect(await world.call('read_file', { path })).toMatchObject({ path, content: 'inside\n' })
  for (const path of ['door.txt', 'plain.txt', 'dangling.txt', 'self.txt'])
    expect(await world.fault('read_file', { path })).toMatchObject({ code: 'E_DENY_PATH' })
  expect(await world.fault('write_to_file', { path: 'link.txt', content: 'x', dryRun: true })).toMatchObject({
    code: 'E_DENY_PATH',
  })
  // Where it leads is looked at each time.
  rmSync(world.path('link.txt'))
  symlinkSync('../out.txt', world.path('link.txt'))
  expect(await world.fault('read_file', { path: 'sub/twice.txt' })).toMatchObject({ code: 'E_DENY_PATH' })
})

test('the language is taken in any case, and from an English locale; one without a language says nothing', () => {
  const lang = (environment: Record<string, string>): string => loadConfig({ environment }).config.lang
  expect(lang({ HANDRAIL_LANG: 'en' })).toBe('EN')
  expect(lang({ HANDRAIL_LANG: 'zh', LANG: 'en_US.UTF-8' })).toBe('ZH')
  expect(lang({ LANG: 'en_GB.UTF-8' })).toBe('EN')
  expect(lang({ LANG: 'en' })).toBe('EN')
  for (const LANG of ['C', 'C.UTF-8', 'POSIX', '', 'zh_CN.UTF-8', 'de_DE', 'enm'])
    expect({ LANG, is: lang({ LANG }) }).toEqual({ LANG, is: 'ZH' })
  expect(lang({ LC_ALL: 'zh_CN', LANG: 'en_US' })).toBe('ZH')
  const user = { name: 'config.json', text: '{"lang":"en","mode":"Developer"}' }
  expect(loadConfig({ user }).config).toMatchObject({ lang: 'EN', mode: 'developer' })
})

test('a character whose picture leads out of its folder is refused as a path', async () => {
  await using world = await openWorld({ files: { 'game/figure/a.png': '', 'game/scene/start.txt': '' } })
  for (const imageFile of ['../../x.png', '../scene/start.txt', 'a/../../figure/a.png'])
    expect(await world.fault('generate_character_profile', { name: 'x', imageFile }), imageFile).toMatchObject({
      code: 'E_DENY_PATH',
    })
})

test('a conflict names the files that changed, and no others', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' }, flags: shownFirst })
  const command = { command: 'for f in a b c; do echo changed > $f.txt; done' }
  const asked = await world.fault('shell', command, { approvalWaitMs: 0 })
  const { approvalId } = asked.details as { approvalId: string }
  writeFileSync(world.path('b.txt'), 'by me\n')
  world.runtime.approvals.decide(approvalId, { approve: true, by: 'test' })
  const conflict = await world.fault('shell', command, { approvalWaitMs: 0 })
  expect(conflict).toMatchObject({ code: 'E_CONFLICT', details: { paths: ['b.txt'] } })
})

test('words of several lines stand on several lines, further in than ours', async () => {
  await using world = await openWorld()
  expect(noteRows('Command: for f in *; do\necho $f\ndone', 80)).toBe('Command: for f in *; do\n    echo $f\n    done')
  const { err } = await runInside(world.project, ['call', 'read_file', '{"path":\n\n"a.txt",}'])
  expect(err).not.toContain('␊')
})

import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { sweep } from '../support/soak.ts'

interface Listed {
  entries: string[]
  truncated?: true
}

test('B20 a folder of very many names is listed in steps, in order, in bounds, and that there are more is told', async () => {
  await using world = await openWorld({ files: { 'calm.txt': 'calm\n' } })
  mkdirSync(world.path('many'))
  // What an answer holds is counted in bytes: a fifth as many names that are longer are as much.
  const count = sweep(60_000, 11_500)
  const tail = 'x'.repeat(sweep(60, 180))
  for (let index = 0; index < count; index++)
    closeSync(openSync(world.path(`many/${String(index).padStart(6, '0')}${tail}`), 'w'))
  for (const input of [{ path: 'many' }, { path: 'many', globs: ['**/*'] }, { path: '.', globs: ['**/*x'] }]) {
    const { turns, result } = await turnsDuring(() => world.call<Listed>('list_files', input))
    expect(turns).toBeGreaterThan(3)
    expect(JSON.stringify(result).length).toBeLessThan(3_000_000)
    expect(result.truncated).toBe(true)
    expect(result.entries.length).toBeGreaterThan(10_000)
    expect(result.entries).toEqual(result.entries.toSorted())
  }
  const order: string[] = []
  const listing = world.call('list_files', { path: 'many' }).then(() => order.push('list'))
  await world.call('read_file', { path: 'calm.txt' }, { client: 'other/1', session: 'sess_other' })
  order.push('read')
  await listing
  expect(order).toEqual(['read', 'list'])
})

test('B21 files that are no files, or have no end: a clear error from every tool that reads, at once', async () => {
  await using world = await openWorld({ files: { 'game/scene/start.txt': 'end;\n' } })
  const huge = openSync(world.path('game/scene/huge.txt'), 'w')
  ftruncateSync(huge, 2 ** 40)
  closeSync(huge)
  execFileSync('mkfifo', [world.path('game/scene/pipe.txt')])
  const server = createServer().listen(world.path('game/scene/socket.txt'))
  try {
    for (const [name, code] of [
      ['huge', 'E_TOO_LARGE'],
      ['pipe', /^E_(IO|DENY_PATH|NOT_FOUND)$/],
      ['socket', /^E_(IO|DENY_PATH|NOT_FOUND)$/],
    ] as const) {
      const path = `game/scene/${name}.txt`
      for (const [tool, input] of [
        ['read_file', { path }],
        ['read_file', { path, maxBytes: Number.MAX_SAFE_INTEGER }],
        ['validate_script', { path }],
        ['replace_in_file', { path, find: 'a', replace: 'b', dryRun: true }],
        ['write_to_file', { path, content: 'x', dryRun: true }],
        ['search_files', { path, regex: 'x' }],
      ] as const) {
        const fault = await world.fault(tool, input)
        expect([tool, name, fault.code]).toEqual([tool, name, typeof code === 'string' ? code : expect.stringMatching(code)])
        expect(fault.hint).toBeTruthy()
      }
    }
    const report = await world.call<{ unreadable: string[]; valid: boolean }>('project_report', {})
    expect([report.valid, report.unreadable]).toEqual([false, expect.arrayContaining(['huge.txt', 'pipe.txt', 'socket.txt'])])
    expect(await world.call('search_files', { path: '.', regex: 'end' })).toMatchObject({ matches: [{ line: 1 }] })
  } finally {
    server.close()
  }
})

test('B22 folders within folders without end are listed as far as paths go, and no further', async () => {
  await using world = await openWorld()
  execFileSync('sh', ['-c', 'for i in $(seq 200); do mkdir dddddddddd && cd dddddddddd; done; : > deep.txt'], {
    cwd: world.project,
  })
  const { entries } = await world.call<Listed>('list_files', { path: '.', globs: ['**'] })
  expect(entries.length).toBeGreaterThan(100)
  expect(entries.length).toBeLessThan(200)
  expect(await world.call('search_files', { path: '.', regex: 'x' })).toMatchObject({ matches: [] })
})

test('B23 a file that is not text is told by its beginning', async () => {
  await using world = await openWorld()
  const gbk = Buffer.from('c4e3bac3cac0bde7', 'hex')
  writeFileSync(join(world.project, 'gbk.txt'), Buffer.concat(Array.from({ length: 40_000 }, () => gbk)))
  const fault = await world.fault('read_file', { path: 'gbk.txt' })
  expect([fault.code, fault.details?.['looksLike']]).toEqual(['E_ENCODING', 'GBK/GB18030'])
})

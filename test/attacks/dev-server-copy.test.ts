// @stage
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { askLocal } from '../support/local-get.ts'
import { openWorld, type World } from '../support/world.ts'

const canary = 'CANARY-copy-7'

/** Answers with what is at a path. */
const source = `const fs = require('node:fs')
  require('node:http').createServer((request, response) => {
    try { response.end(fs.readFileSync('.' + decodeURIComponent(request.url), 'utf8')) } catch (fault) { response.end(fault.code) }
  }).listen(0)`
const open = (files: Record<string, string> = {}): Promise<World> =>
  openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts: { dev: 'node dev.js' } }), 'dev.js': source, ...files },
    flags: { mode: 'developer' },
  })
const dev = (world: World): Promise<{ urls: string[] }> => world.call('execute_command', { scriptName: 'dev' })

/** Every file below a folder that is called so. */
function named(folder: string, name: string): string[] {
  if (!existsSync(folder)) return []
  try {
    return (readdirSync(folder, { recursive: true }) as string[])
      .filter((one) => one.endsWith(name))
      .map((one) => join(folder, one))
  } catch {
    return []
  }
}

/** Whether the copy that a server sees has it. */
function isCopied({ base }: World, path: string): boolean {
  const home = join(base, 'state/handrail/stages')
  const below = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [])
  return below(home)
    .flatMap(below)
    .some((stage) => existsSync(join(stage, 'mirror/project', path)))
}

test('of a project that is too large to be copied nothing is written', async () => {
  await using world = await open()
  mkdirSync(world.path('data'))
  for (let file = 0; file < 3; file++) {
    writeFileSync(world.path(`data/f${file}.big`), '')
    truncateSync(world.path(`data/f${file}.big`), 400 * 1_048_576)
  }
  let most = 0
  const watching = setInterval(() => {
    for (const one of named(world.base, '.big'))
      if (!one.startsWith(world.project)) most = Math.max(most, statSync(one, { throwIfNoEntry: false })?.size ?? 0)
  }, 5)
  try {
    const [url = ''] = (await dev(world)).urls
    expect((await askLocal(`${url}package.json`)).text).toContain('dev.js')
  } finally {
    clearInterval(watching)
  }
  expect(most).toBe(0)
})

test.each(['node_modules', 'pkgs/a/node_modules'])(
  '%s that becomes a link while the rest is copied shows nothing of where it leads',
  async (modules) => {
    const many = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`z/${index % 50}/${index}.txt`, 'x']))
    await using world = await open({ ...many, [`${modules}/x.js`]: '' })
    const outside = join(world.base, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'diary.txt'), canary)
    const answer = dev(world).catch((fault: Error) => fault)
    // At every turn of the event loop, which the copying shares with us: before it has come to its end.
    while (!isCopied(world, modules)) await turn()
    renameSync(world.path(modules), join(world.base, 'moved'))
    symlinkSync(outside, world.path(modules))
    expect(await answer).toMatchObject({ message: expect.stringContaining('became another folder, or a link') as string })
    const [url = ''] = (await dev(world)).urls
    expect((await askLocal(`${url}${modules}/diary.txt`)).text).toBe('ENOENT')
  },
)

test('a second name of a file in a hidden folder is not shown, before and while it runs', async () => {
  await using world = await open({ '.ssh/id_rsa': canary, 'one.txt': 'plain' })
  linkSync(world.path('.ssh/id_rsa'), world.path('early.txt'))
  linkSync(world.path('one.txt'), world.path('two.txt'))
  const [url = ''] = (await dev(world)).urls
  expect((await askLocal(`${url}early.txt`)).text).toBe('ENOENT')
  expect((await askLocal(`${url}two.txt`)).text).toBe('plain')
  linkSync(world.path('.ssh/id_rsa'), world.path('late.txt'))
  expect((await askLocal(`${url}late.txt`)).text).toBe('ENOENT')
})

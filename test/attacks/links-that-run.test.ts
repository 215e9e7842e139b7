import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { ask, withShell } from '../support/stage.ts'
import { sweep } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { ...withShell, 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let world: World
beforeAll(async () => {
  world = await openWorld({ flags })
})
afterAll(() => world[Symbol.asyncDispose]())

let count = 0
let notes = ''
/** What comes of a write: it is done, a person is asked (and says no), or it is refused. */
async function write(path: string, content = `x ${count++}\n`, on: World = world): Promise<string> {
  notes = ''
  try {
    await on.call('write_to_file', { path, content, dryRun: false })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') return errorCodeOf(fault as Fault)
    notes = on.runtime.approvals.get(id)?.card.notes?.join('\n') ?? ''
    on.runtime.approvals.decide(id, { approve: false, by: 'test' })
    // The next write is judged for itself, and not for this no.
    on.runtime.approvals.lift(id, 'test')
    return 'asked'
  }
}
const link = (target: string, path: string): void => {
  mkdirSync(dirname(world.path(path)), { recursive: true })
  symlinkSync(target, world.path(path))
}

describe('a project that arrives with links', () => {
  test('a folder under a listed name: what is written to the folder it leads to is asked about', async () => {
    mkdirSync(world.path('docs'))
    link('docs', '.vscode')
    expect(await write('docs/tasks.json')).toBe('asked')
    expect(notes).toContain('docs/tasks.json: is also .vscode/tasks.json, which runs when you open the folder in VS Code')
    expect(await write('docs2/tasks.json')).toBe('done')
  })

  test('each head of a row, in any letter case, at any depth, over parents and before the folder is there', async () => {
    const heads = [
      '.husky',
      '.claude',
      '.github',
      '.DevContainer',
      'a/b/.VSCODE',
      '.cursor',
      '.githooks',
      '.idea',
      '.codex',
      'bin',
    ]
    for (const [index, head] of heads.entries()) {
      const up = '../'.repeat(head.split('/').length - 1)
      link(`${up}./x/../to${index}`, head)
      expect([head, await write(`to${index}/a.md`)]).toEqual([head, 'asked'])
      expect([head, await write(`to${index}/deep/b.txt`)]).toEqual([head, 'asked'])
    }
  })

  test('a listed file, a part of a listed folder, links to links, links below links, absolute ones, and one through the outside', async () => {
    link('build/x.txt', 'Makefile')
    expect(await write('build/x.txt')).toBe('asked')
    expect(await write('build/y.txt')).toBe('done')
    link('../../ci', 'p/.github/workflows')
    expect(await write('p/ci/x.txt')).toBe('done')
    expect(await write('ci/x.txt')).toBe('asked')
    link('one', '.zed')
    link('two', 'one')
    link('three/four', 'two')
    expect(await write('three/four/tasks.json')).toBe('asked')
    expect(await write('three/five/tasks.json')).toBe('done')
    link('ed', '.helix')
    link('../other/conf', 'ed/config.toml')
    expect(await write('other/conf')).toBe('asked')
    expect(notes).toContain('.helix/config.toml')
    link(world.path('absolute'), '.gemini')
    expect(await write('absolute/settings.json')).toBe('asked')
    symlinkSync(world.path('around'), join(world.base, 'outside'))
    link('../outside', '.qwen')
    expect(await write('around/settings.json')).toBe('asked')
    link('node_modules/gone', '.kiro')
    link('../behind', 'node_modules/gone')
    expect(await write('behind/x')).toBe('asked')
  })

  test('the project itself under another name', async () => {
    await using own = await openWorld({ flags })
    symlinkSync('.', own.path('a'))
    symlinkSync('..', own.path('up'))
    for (const path of ['x.txt', 'docs/tasks.json', 'a.md']) expect([path, await write(path, 'x', own)]).toEqual([path, 'done'])
    symlinkSync('.', own.path('.devcontainer'))
    expect(await write('devcontainer.json', '{}', own)).toBe('asked')
  })

  test('as soon as it comes, and no longer than it stays', async () => {
    await using own = await openWorld({ flags, files: { 'docs/a.txt': '', 'far/b/c/d.txt': '' } })
    expect(await write('docs/tasks.json', '1', own)).toBe('done')
    symlinkSync('../../docs', own.path('far/b/.vscode'))
    expect(await write('docs/tasks.json', '2', own)).toBe('asked')
    rmSync(own.path('far/b/.vscode'))
    expect(await write('docs/tasks.json', '3', own)).toBe('done')
    mkdirSync(own.path('new/sub'), { recursive: true })
    symlinkSync('../../docs', own.path('new/sub/plain'))
    expect(await write('docs/tasks.json', '4', own)).toBe('done')
    renameSync(own.path('new/sub/plain'), own.path('new/sub/.vscode'))
    expect(await write('docs/tasks.json', '5', own)).toBe('asked')
    renameSync(own.path('new'), own.path('newer'))
    expect(await write('docs/tasks.json', '6', own)).toBe('asked')
    rmSync(own.path('newer'), { recursive: true })
    expect(await write('docs/tasks.json', '7', own)).toBe('done')
    symlinkSync('mid', own.path('.vscode'))
    symlinkSync('far', own.path('mid'))
    expect(await write('docs/tasks.json', '8', own)).toBe('done')
    rmSync(own.path('mid'))
    symlinkSync('docs', own.path('mid'))
    expect(await write('docs/tasks.json', '9', own)).toBe('asked')
  })

  test('what a starter names, read and named through links', async () => {
    await using own = await openWorld({ flags, files: { 'ed/tasks.json': '{"command":"./go.rb"}', 'lib/real.rb': '' } })
    expect(await write('lib/real.rb', '1', own)).toBe('done')
    symlinkSync('ed', own.path('.vscode'))
    expect(await write('go.rb', '2', own)).toBe('asked')
    symlinkSync('lib/real.rb', own.path('go.rb'))
    expect(await write('lib/real.rb', '3', own)).toBe('asked')
  })

  test('two thousand links (soak: 100,000): new ones count, and more names than can be looked at are asked about', async () => {
    await using own = await openWorld({ flags, files: { 'docs/a.txt': '', 'plain/a.txt': '' } })
    for (let index = 0; index < sweep(100_000, 2_000); index++) {
      const folder = own.path(`l/${index % 100}`)
      if (index < 100) mkdirSync(folder, { recursive: true })
      symlinkSync('../../docs', join(folder, `n${index}`))
    }
    expect(await write('plain/a.txt', '1', own)).toBe('done')
    expect(await write('docs/a.txt', '2', own)).toBe('asked')
    expect(notes).toContain('so many names')
    symlinkSync('plain', own.path('l/.vscode'))
    expect(await write('plain/a.txt', '3', own)).toBe('done')
    symlinkSync('../plain', own.path('l/.husky'))
    expect(await write('plain/a.txt', '4', own)).toBe('asked')
  })

  test('links in a circle end', async () => {
    await using own = await openWorld({ flags })
    symlinkSync('b', own.path('a'))
    symlinkSync('a', own.path('b'))
    symlinkSync('.vscode', own.path('.vscode'))
    for (let index = 0; index < 12; index++) symlinkSync('.', own.path(`self${index}`))
    expect(await write('x/y.txt', '1', own)).toMatch(/done|asked/)
  })
})

describe('links that a program makes', () => {
  const made = async (command: string): Promise<string> => {
    const { card, id } = await ask(world, { command })
    world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    // The next write is judged for itself, and not for this no.
    world.runtime.approvals.lift(id, 'test')
    return card.notes?.join('\n') ?? ''
  }

  test('under a listed name, new, renamed, moved with its folder, or at the end of another link', async () => {
    const says = (path: string): string => `${path}: is a link to`
    expect(await made('mkdir -p m1; ln -s ../stuff m1/.vscode')).toContain(`${says('m1/.vscode')} stuff`)
    expect(await made('mkdir -p m2; ln -s ../stuff m2/.HUSKY; echo a > stuff.txt')).toContain(says('m2/.HUSKY'))
    link('stuff', 'm3/plain')
    link('../stuff', 'm4/k/.claude')
    expect(await made('mv m3/plain m3/.idea')).toContain(says('m3/.idea'))
    expect(await made('mv m4 m5')).toContain(says('m5/k/.claude'))
    expect(await made('ln -s x GNUmakefile')).toContain('GNUmakefile: runs when')
    link('hop', 'm6/.vscode')
    link('somewhere', 'm6/hop')
    expect(await made('ln -sfn elsewhere m6/hop')).toContain('m6/hop: is also m6/.vscode')
  })

  test('and what it writes behind the link it made itself', async () => {
    const said = await made('mkdir -p n1/docs; ln -s docs n1/.vscode; echo 1 > n1/docs/tasks.json; echo 1 > n1/free.txt')
    expect(said).toContain('n1/docs/tasks.json: is also n1/.vscode/tasks.json')
    expect(said).not.toContain('free.txt:')
  })

  test('a plain link is no more than a link', async () => {
    writeFileSync(world.path('plain.txt'), 'x')
    expect(await made('ln -s plain.txt q1; mkdir -p q2; ln -s ../q2 q2/round')).not.toMatch(/q1:|q2\/round:/)
  })
})

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { errorCodeOf, errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { runToEnd } from '../../src/text/steps.ts'
import { openFiles } from '../../src/host/files.ts'
import { pathRules } from '../../src/host/paths.ts'
import { placeFile, removeFile } from '../../src/host/place.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'
import { openInside } from '../support/inside.ts'
import { isSoak, sweep } from '../support/soak.ts'

// Memory instead of a disk where there is some: the races are the same, and flushing ten thousand writes is not what is tested.
try {
  accessSync('/dev/shm', constants.W_OK)
  vi.stubEnv('TMPDIR', '/dev/shm')
} catch {
  // The disk will do.
}
afterAll(() => vi.unstubAllEnvs())

const noDiff = { 'write-requires-diff': 'false' }

/** Swaps, as fast as it can, what stands under one name: the real thing, then a link to outside. It ends with its parent. */
function flipper(): void {
  const { renameSync } = process.getBuiltinModule('node:fs')
  const [name = '', real = '', link = ''] = process.argv.slice(1)
  const until = Date.now() + 1_800_000
  process.stdin.once('end', () => process.exit(0)).resume()
  process.stdout.write('flipping\n')
  // A write may have made the folder anew while its name was free.
  let aside = 0
  const put = (from: string): void => {
    for (;;) {
      try {
        return renameSync(from, name)
      } catch {
        try {
          renameSync(name, `${real}.${aside++}`)
        } catch {
          // Whoever made it has taken it back by now.
        }
      }
    }
  }
  const round = (): void => {
    for (let turn = 0; turn < 500; turn++) {
      renameSync(name, real)
      put(link)
      renameSync(name, link)
      put(real)
    }
    if (Date.now() < until) setImmediate(round)
    else process.exit(0)
  }
  round()
}

async function startFlipper(name: string, real: string, link: string): Promise<{ [Symbol.asyncDispose](): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', `(${flipper.toString()})()`, name, real, link], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      if (child.signalCode !== 'SIGKILL') throw new Error('nothing was swapped any more')
    },
  }
}

interface Arena {
  readonly world: World
  readonly canary: string
  /** Notes an answer; the canary in it fails the test at once. */
  seen(answer: unknown): void
  /** Counts by code, 'ok' among them. */
  readonly counts: Record<string, number>
  ask(tool: string, input: Record<string, unknown>): Promise<unknown>
  held(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A project where `d` (or `f.txt`) is now a real thing, now a link to a secret one with the same names in it. */
async function openArena(kind: 'folder' | 'file'): Promise<Arena> {
  const canary = `CANARY${randomBytes(12).toString('hex')}`
  const shared = ['x.txt', 'sub/y.txt', ...Array.from({ length: 40 }, (_, index) => `more-${index}.txt`)]
  const hidden = [...shared, 'only-outside.txt']
  const inside = kind === 'folder' ? shared.map((name) => `d/${name}`) : ['f.txt']
  const world = await openWorld({
    files: Object.fromEntries(inside.map((name) => [name, 'public one\npublic two\n'])),
    flags: noDiff,
  })
  const outside = join(world.base, 'outside')
  mkdirSync(join(outside, 'sub'), { recursive: true })
  for (const name of hidden) writeFileSync(join(outside, name), `${canary}\n${canary}\n`)
  const spare = join(world.base, 'spare')
  symlinkSync(kind === 'folder' ? outside : join(outside, 'x.txt'), `${spare}.link`)
  const name = world.path(kind === 'folder' ? 'd' : 'f.txt')
  const flipping = await startFlipper(name, `${spare}.real`, `${spare}.link`)
  const counts: Record<string, number> = {}
  const arena: Arena = {
    world,
    canary,
    counts,
    seen(answer) {
      const text = JSON.stringify(answer)
      if (text.includes(canary) || text.includes('only-outside')) throw new Error(`LEAK: ${text.slice(0, 300)}`)
    },
    async ask(tool, input) {
      let code = 'ok'
      let answer: unknown
      try {
        answer = await world.call(tool, input)
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
        code = errorCodeOf(thrown)
        answer = errorBodyOf(thrown)
      }
      counts[code] = (counts[code] ?? 0) + 1
      arena.seen(answer)
      return answer
    },
    held() {
      const there = readdirSync(outside, { recursive: true }).filter((name) => name !== 'sub')
      expect(there.sort()).toEqual(hidden.toSorted())
      for (const name of hidden) expect(readFileSync(join(outside, name), 'utf8')).toBe(`${canary}\n${canary}\n`)
      expect(counts['E_INTERNAL']).toBeUndefined()
    },
    async [Symbol.asyncDispose]() {
      await flipping[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
  return arena
}

/** Both sides of the swap were met, or the race was none. */
const metBoth = (counts: Record<string, number>): boolean =>
  (counts['ok'] ?? 0) > 0 && (counts['E_DENY_PATH'] ?? 0) + (counts['E_NOT_FOUND'] ?? 0) > 0

test('T01 many reads while a folder turns into a link and back: 0 leaks (soak: 10,000)', async () => {
  await using arena = await openArena('folder')
  for (let round = 0; round < sweep(5_000, 25) || !metBoth(arena.counts); round++) {
    await arena.ask('read_file', { path: 'd/x.txt' })
    await arena.ask('read_file', { path: 'd/sub/y.txt' })
  }
  arena.held()
})

test('T01 many reads over stdio, many at once, while a folder turns into a link and back: 0 leaks (soak: 2,000)', async () => {
  await using arena = await openArena('folder')
  await using peer = await (isSoak ? openStdio : openInside)(arena.world.project)
  const counts: Record<string, number> = {}
  for (let round = 0; round < sweep(40, 1) || !metBoth(counts); round++) {
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) => peer.call('read_file', { path: index % 2 ? 'd/x.txt' : 'd/sub/y.txt' })),
    )
    for (const reply of replies) {
      const code = reply.error?.code ?? 'ok'
      counts[code] = (counts[code] ?? 0) + 1
      arena.seen(reply)
    }
  }
  arena.held()
})

test('T01 many reads while a file turns into a link and back: 0 leaks (soak: 3,000)', async () => {
  await using arena = await openArena('file')
  for (let round = 0; round < sweep(3_000, 30) || !metBoth(arena.counts); round++) await arena.ask('read_file', { path: 'f.txt' })
  arena.held()
})

test('T02 many writes while a folder turns into a link and back: 0 escapes (soak: 10,000)', { timeout: 600_000 }, async () => {
  await using arena = await openArena('folder')
  for (let round = 0; round < sweep(2_500, 3) || !metBoth(arena.counts); round++) {
    await arena.ask('write_to_file', { path: 'd/x.txt', content: `write ${round}\n`, dryRun: false })
    await arena.ask('write_to_file', { path: `d/new-${round % 50}.txt`, content: `new ${round}\n`, dryRun: false })
    await arena.ask('write_to_file', { path: `d/fold-${round % 20}/in/er.txt`, content: `${round}\n`, dryRun: false })
    await arena.ask('replace_in_file', { path: 'd/sub/y.txt', find: 'p', replace: 'P' })
  }
  arena.held()
})

test('T02 many writes while a file turns into a link and back: 0 escapes (soak: 1,000)', async () => {
  await using arena = await openArena('file')
  for (let round = 0; round < sweep(500, 5) || !metBoth(arena.counts); round++) {
    await arena.ask('write_to_file', { path: 'f.txt', content: `write ${round}\n`, dryRun: false })
    await arena.ask('write_to_file', {
      path: 'f.txt',
      content: 'more\n',
      mode: round % 100 ? 'append' : 'overwrite',
      dryRun: false,
    })
  }
  arena.held()
})

test('T01 many listings while a folder turns into a link and back: no name from outside (soak: 600)', async () => {
  await using arena = await openArena('folder')
  for (let round = 0; round < sweep(300, 5) || !metBoth(arena.counts); round++) {
    await arena.ask('list_files', { path: 'd' })
    await arena.ask('list_files', { path: '.', globs: ['**'] })
  }
  arena.held()
})

test('T01 many searches while a folder turns into a link and back: nothing from outside in any answer (soak: 180)', async () => {
  await using arena = await openArena('folder')
  for (let round = 0; round < sweep(60, 4); round++) {
    await arena.ask('search_files', { path: 'd', regex: 'CANARY|public' })
    await arena.ask('search_files', { path: '.', regex: 'CANARY|public' })
    await arena.ask('search_files', { path: '.', regex: '(?=C|p)(CANARY|public)' })
  }
  expect(arena.counts['ok'] ?? 0).toBeGreaterThan(0)
  arena.held()
})

test('T01 a search never tells whether a file outside holds a text: no line is answered that does not match', async () => {
  await using arena = await openArena('folder')
  let wrong: unknown[] = []
  // Only the files outside hold it; a hit would be an answer about them, whatever line it shows.
  for (let round = 0; round < sweep(120, 6); round++) {
    const answer = (await arena.ask('search_files', { path: '.', regex: `^CANARY[0-9a-f]+$` })) as { matches?: unknown[] }
    wrong = wrong.concat(answer.matches ?? [])
  }
  expect(arena.counts['ok'] ?? 0).toBeGreaterThan(0)
  expect(wrong).toEqual([])
  arena.held()
})

// The other way to walk, for systems without /proc: correct where nobody races it.

interface Compared {
  readonly project: string
  readonly outside: string
  readonly files: ReturnType<typeof openFiles>
  place(path: string, content: string): string[]
  remove(path: string): void
  [Symbol.dispose](): void
}

function openCompared(): Compared {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const [project, outside] = [join(base, 'project'), join(base, 'outside')]
  mkdirSync(join(project, 'sub'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(project, 'sub/a.txt'), 'inside\n')
  writeFileSync(join(outside, 'secret.txt'), 'CANARY\n')
  symlinkSync(outside, join(project, 'door'))
  symlinkSync('../../outside', join(project, 'sub/door'))
  symlinkSync(join(outside, 'secret.txt'), join(project, 'link.txt'))
  symlinkSync(join(outside, 'made.txt'), join(project, 'dangling.txt'))
  linkSync(join(outside, 'secret.txt'), join(project, 'hard.txt'))
  const root = openRoot(project, { means: 'compare' })
  const rules = pathRules(['.git'])
  return {
    project,
    outside,
    files: openFiles(root, rules, 1 << 20),
    place: (path, content) =>
      runToEnd(placeFile(root, path.split('/'), Buffer.from(content), `.handrail-${randomBytes(8).toString('hex')}.tmp`))
        .madeFolders,
    remove: (path) => runToEnd(removeFile(root, path.split('/'))),
    [Symbol.dispose]() {
      closeRoot(root)
      rmSync(base, { recursive: true, force: true })
    },
  }
}

function codeOf(act: () => unknown): string {
  try {
    act()
    return 'ok'
  } catch (thrown) {
    if (thrown instanceof Fault) return errorCodeOf(thrown)
    throw thrown
  }
}

test('compare: what is inside is read, listed, written and removed', async () => {
  using compared = openCompared()
  const { files } = compared
  expect(files.read('sub/a.txt').toString()).toBe('inside\n')
  expect((await files.list('sub')).entries).toEqual([
    { name: 'a.txt', kind: 'file' },
    { name: 'door', kind: 'other' },
  ])
  expect(compared.place('sub/a.txt', 'changed\n')).toEqual([])
  expect(compared.place('new/deep/b.txt', 'new\n')).toEqual(['new', 'new/deep'])
  expect(files.read('new/deep/b.txt').toString()).toBe('new\n')
  const found: string[] = []
  await files.scan('.', (path, kind) => void (kind === 'file' && found.push(path)))
  expect(found).toEqual(['hard.txt', 'new/deep/b.txt', 'sub/a.txt'])
  compared.remove('new/deep/b.txt')
  expect(codeOf(() => files.read('new/deep/b.txt'))).toBe('E_NOT_FOUND')
  expect(readdirSync(join(compared.project, 'sub'))).toEqual(['a.txt', 'door'])
})

test('compare: links, hard links, missing and wrong things are refused with the same codes', async () => {
  using compared = openCompared()
  const { files } = compared
  for (const path of [
    'link.txt',
    'door/secret.txt',
    'sub/door/secret.txt',
    'hard.txt',
    'dangling.txt',
    '../outside/secret.txt',
    '.git/config',
  ])
    expect([path, codeOf(() => files.read(path))]).toEqual([path, 'E_DENY_PATH'])
  for (const path of ['door', 'sub/door', 'link.txt'])
    await expect(files.list(path), path).rejects.toMatchObject({ reason: 'path-denied' })
  for (const path of ['nothing.txt', 'nothing/at/all.txt', 'sub/a.txt/x'])
    expect([path, codeOf(() => files.read(path))]).toEqual([path, 'E_NOT_FOUND'])
  expect(codeOf(() => files.read('sub'))).toBe('E_IO')
  await expect(files.list('sub/a.txt')).rejects.toMatchObject({ reason: 'io' })
})

test('compare: no write and no removal goes through a link', () => {
  using compared = openCompared()
  for (const path of ['link.txt', 'hard.txt', 'door/secret.txt', 'door/new.txt', 'sub/door/a/b.txt', 'dangling.txt'])
    expect([path, codeOf(() => compared.place(path, 'escaped\n'))]).toEqual([path, 'E_DENY_PATH'])
  for (const path of ['link.txt', 'hard.txt', 'door/secret.txt', 'sub/door/secret.txt'])
    expect([path, codeOf(() => compared.remove(path))]).toEqual([path, 'E_DENY_PATH'])
  expect(readdirSync(compared.outside)).toEqual(['secret.txt'])
  expect(readFileSync(join(compared.outside, 'secret.txt'), 'utf8')).toBe('CANARY\n')
  expect(existsSync(join(compared.project, 'link.txt'))).toBe(true)
})

test('compare: both ways to walk give the same answers on the same tree', async () => {
  using compared = openCompared()
  const root = openRoot(compared.project, { means: 'descriptors' })
  try {
    const other = openFiles(root, pathRules(['.git']), 1 << 20)
    const paths = [
      '.',
      'sub',
      'sub/a.txt',
      'sub/door',
      'sub/door/secret.txt',
      'door',
      'link.txt',
      'hard.txt',
      'dangling.txt',
      'no',
      'sub/a.txt/x',
      '..',
      'sub/',
    ]
    for (const path of paths)
      for (const act of ['read', 'isFolder', 'peek'] as const)
        expect([act, path, codeOf(() => compared.files[act](path))]).toEqual([act, path, codeOf(() => other[act](path))])
    for (const path of paths) {
      const [one, two] = await Promise.allSettled([compared.files.list(path), other.list(path)])
      const codeIn = (end: PromiseSettledResult<unknown>): string =>
        end.status === 'fulfilled' ? 'ok' : errorCodeOf(end.reason as Fault)
      expect(['list', path, codeIn(one)]).toEqual(['list', path, codeIn(two)])
    }
    const scans: string[][] = []
    for (const files of [compared.files, other]) {
      const found: string[] = []
      await files.scan('.', (path, kind) => void found.push(`${kind} ${path}`))
      scans.push(found)
    }
    expect(scans[0]).toEqual(scans[1])
    expect(scans[0]?.length).toBeGreaterThan(5)
  } finally {
    closeRoot(root)
  }
})

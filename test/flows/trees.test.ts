import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { coded, type Coded } from '../support/coded.ts'
import type { Form } from '../../src/contracts/snapshot.ts'
import type { ToolContext, FileChange } from '../../src/contracts/tool.ts'
import { runToEnd } from '../../src/text/steps.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openFiles, sha256 } from '../../src/host/files.ts'
import { pathRules } from '../../src/host/paths.ts'
import { pathStateAt, pathStatesBelow, stateFingerprint } from '../../src/host/path-state.ts'
import { openProjectState } from '../../src/host/state-project.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import type { Change } from '../../src/contracts/change.ts'
import { openJournal, type Journal } from '../../src/stores/journal.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { openSnapshots, type SnapshotStore } from '../../src/stores/snapshots.ts'
import { openDiffs } from '../../src/host/diffs.ts'
import { undo as undoForm } from '../../src/toolsets/files/undo.ts'
import type { FileUse } from '../../src/toolsets/files/use.ts'
import { runInside } from '../support/inside.ts'
import { dyingWhen } from '../support/killed-at.ts'
import { cleanEnv, program, stateOf, testFolder } from '../support/world.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'

const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite') as {
  DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void }
}

/** A tree as it is written down in these tests: text is a file, `->x` a link to x, a name that ends in `/` a folder; `!644` at the end of a name gives its bits. */
type Tree = Record<string, string | Buffer>

interface Ground extends Disposable {
  base: string
  project: string
  journal: Journal
  snapshots: SnapshotStore
  dropped: string[]
  at(path: string): string
  /** A change from what stands there now. */
  change(path: string, after: string | Buffer | null, more?: Partial<Change>): Change
  commit(changes: readonly Change[], call?: string): Promise<string[]>
  undo(target: Record<string, unknown>, call?: string): Promise<void>
  picture(): string[]
}

let calls = 0
const nextCall = (): string => `call_${String(++calls).padStart(24, '0')}`

/** The real stores on a project of its own, without a kernel. */
function openGround(tree: Tree = {}): Ground {
  const base = realpathSync(mkdtempSync(join(testFolder(), 'handrail-test-')))
  const project = join(base, 'project')
  mkdirSync(project)
  plant(project, tree)
  const ground = openOn(project)
  return {
    ...ground,
    base,
    [Symbol.dispose]() {
      ground[Symbol.dispose]()
      rmSync(base, { recursive: true, force: true })
    },
  }
}

function openOn(project: string): Omit<Ground, 'base'> {
  const root = openRoot(project)
  const state = openProjectState(root, { environment: cleanEnv(dirname(project)) }).folder
  const db = openDatabase(state.file('handrail.db'), schema, schemaVersion)
  const snapshots = openSnapshots(state.sub('snapshots'), db)
  const dropped: string[] = []
  const files = openFiles(root, pathRules([]), Number.MAX_SAFE_INTEGER)
  const journal = openJournal({ root, files, snapshots, db, retention: 20, onDropped: (call) => dropped.push(call) })
  const names = (path: string): string[] => path.split('/')
  const wordOf = (path: string): string | null => stateFingerprint(pathStateAt(root, names(path)))
  const commit = async (changes: readonly Change[], call = nextCall()): Promise<string[]> =>
    (await journal.commit(changes, { call, session: 'sess_trees', idempotencyKey: null })).written.map((one) => one.snapshotId)
  const tool = undoForm.bind({
    files,
    diffs: openDiffs(() => 60_000),
    kept: snapshots,
    states: pathStatesBelow(root),
  } as unknown as FileUse)
  return {
    project,
    journal,
    snapshots,
    dropped,
    at: (path) => join(project, path),
    change: (path, after, more = {}) => ({
      path,
      expect: wordOf(path),
      after: after === null ? null : Buffer.from(after),
      form: 'file' as Form,
      ...more,
    }),
    commit,
    async undo(target, call = nextCall()) {
      const change = async (changes: readonly FileChange[]) => {
        const planned = changes.map(({ path, content, form, mode, undoes }) => ({
          path,
          expect: wordOf(path),
          after: content === null ? null : Buffer.from(content as Uint8Array),
          ...(form && { form }),
          ...(mode !== undefined && { mode }),
          ...(undoes && { undoes }),
        }))
        return (await journal.commit(planned, { call, session: 'sess_undo', idempotencyKey: null })).written
      }
      await tool.execute({ ...target, dryRun: false }, { change } as unknown as ToolContext)
    },
    picture: () => pictureOf(project).sort(),
    [Symbol.dispose]() {
      db.close()
      state.close()
      closeRoot(root)
    },
  }
}

function plant(project: string, tree: Tree): void {
  for (const [written, content] of Object.entries(tree)) {
    const [name, bits] = written.split('!') as [string, string?]
    const path = join(project, name)
    mkdirSync(dirname(path), { recursive: true })
    if (name.endsWith('/')) mkdirSync(path, { recursive: true })
    else if (typeof content === 'string' && content.startsWith('->')) symlinkSync(content.slice(2), path)
    else writeFileSync(path, content)
    if (bits !== undefined) chmodSync(path, Number.parseInt(bits, 8))
  }
}

/** Everything in the project, to the byte and the bit. A list, since any name may be a file's. */
function pictureOf(project: string, below = ''): string[] {
  return readdirSync(join(project, below)).flatMap((name) => {
    const path = below ? `${below}/${name}` : name
    const stat = lstatSync(join(project, path))
    const bits = (stat.mode & 0o7777).toString(8)
    if (stat.isSymbolicLink()) return [`${path}: link ${readlinkSync(join(project, path))}`]
    if (stat.isDirectory()) return [`${path}: folder ${bits}`, ...pictureOf(project, path)]
    return [`${path}: file ${bits} ${readFileSync(join(project, path), 'latin1')}`]
  })
}

async function faultOf(act: () => Promise<unknown>): Promise<Coded> {
  try {
    await act()
  } catch (thrown) {
    if (thrown instanceof Fault) return coded(thrown)
    throw thrown
  }
  throw new Error('it did not fail')
}

const binary = Buffer.from([0, 255, 254, 10, 13, 0, 128])

const before: Tree = {
  'a.txt': 'a\n',
  'run.sh!644': '#!/bin/sh\n',
  'secret!600': 'secret\n',
  'bin.dat': binary,
  'to-a': '->a.txt',
  away: '->/nowhere/at/all',
  'deep/er/x.txt': 'x\n',
  'deep/er/y.txt!755': 'y\n',
  'deep/empty/': '',
  'deep/link': '->er/x.txt',
  'was-folder/one': '1\n',
  'was-folder/two/three': '3\n',
  'was-file': 'file\n',
  'was-link': '->deep',
  ['__proto__']: 'proto\n',
  'with space.txt': 'space\n',
  'new\nline': 'newline\n',
}

/** One commit with everything at once. */
function everything({ change }: Ground): Change[] {
  return [
    change('deep/link', null),
    change('deep', null),
    change('deep/er', null),
    change('was-link/in/side', 'inside\n', { mode: 0o640 }),
    change('was-link', '', { form: 'folder', mode: 0o750 }),
    change('was-link/in', '', { form: 'folder' }),
    change('deep/er/x.txt', null),
    change('deep/er/y.txt', null),
    change('deep/empty', null),
    change('was-folder', 'now a file\n'),
    change('was-folder/one', null),
    change('was-folder/two/three', null),
    change('was-folder/two', null),
    change('was-file/child', 'child\n'),
    change('was-file', '', { form: 'folder' }),
    change('a.txt', 'A\n'),
    change('run.sh', '#!/bin/sh\n', { mode: 0o755 }),
    change('secret', 'new secret\n'),
    change('bin.dat', Buffer.concat([binary, binary])),
    change('to-a', 'secret', { form: 'link' }),
    change('away', 'a file now\n'),
    change('fresh/empty', '', { form: 'folder', mode: 0o700 }),
    change('fresh/link', '../a.txt', { form: 'link' }),
    change('made/by/itself.txt', 'made\n'),
    change('__proto__', 'PROTO\n'),
    change('with space.txt', null),
    change('new\nline', 'NEWLINE\n'),
  ]
}

const umask = process.umask()
const ofNew = (bits: number): string => (bits & ~umask).toString(8)

const afterwards = [
  `a.txt: file ${ofNew(0o666)} A\n`,
  `away: file ${ofNew(0o666)} a file now\n`,
  `bin.dat: file ${ofNew(0o666)} ${Buffer.concat([binary, binary]).toString('latin1')}`,
  `fresh: folder ${ofNew(0o777)}`,
  `fresh/empty: folder 700`,
  `fresh/link: link ../a.txt`,
  `made: folder ${ofNew(0o777)}`,
  `made/by: folder ${ofNew(0o777)}`,
  `made/by/itself.txt: file ${ofNew(0o666)} made\n`,
  `new\nline: file ${ofNew(0o666)} NEWLINE\n`,
  `run.sh: file 755 #!/bin/sh\n`,
  `secret: file 600 new secret\n`,
  `to-a: link secret`,
  `was-file: folder ${ofNew(0o777)}`,
  `was-file/child: file ${ofNew(0o666)} child\n`,
  `was-folder: file ${ofNew(0o666)} now a file\n`,
  `was-link: folder 750`,
  `was-link/in: folder ${ofNew(0o777)}`,
  `was-link/in/side: file 640 inside\n`,
  `__proto__: file ${ofNew(0o666)} PROTO\n`,
].sort()

test('a commit of everything at once lands exactly, is undone to the byte and the bit, and undone again', async () => {
  using ground = openGround(before)
  const begin = ground.picture()
  const call = nextCall()
  await ground.commit(everything(ground), call)
  expect(ground.picture()).toEqual(afterwards)
  const back = nextCall()
  await ground.undo({ call }, back)
  expect(ground.picture()).toEqual(begin)
  const forth = nextCall()
  await ground.undo({ call: back }, forth)
  expect(ground.picture()).toEqual(afterwards)
  await ground.undo({ call: forth })
  expect(ground.picture()).toEqual(begin)
  expect(await ground.journal.recover()).toEqual([])
})

test('a commit that cannot be finished leaves the tree and the timeline as they were', async () => {
  using ground = openGround(before)
  const begin = ground.picture()
  const changes = everything(ground)
  const spoiled: Change[][] = [
    // A path below a link that the same commit makes, below a file, and a folder that something else is in.
    [...changes, ground.change('fresh/link/through.txt', 'no\n')],
    [...changes, ground.change('away/below', 'no\n')],
    changes.filter((one) => one.path !== 'deep/er/x.txt'),
    [
      ...changes,
      {
        ...ground.change('late', 'x'),
        after: () => {
          throw new Fault('io', 'gone')
        },
      },
    ],
  ]
  for (const one of spoiled) {
    expect((await faultOf(() => ground.commit(one, 'call_spoiled'))).code).toMatch(/E_DENY_PATH|E_NOT_FOUND|E_CONFLICT|E_IO/)
    expect(ground.picture()).toEqual(begin)
    expect(runToEnd(ground.snapshots.ofCall('call_spoiled'))).toEqual([])
    expect(await ground.journal.recover()).toEqual([])
    const ids = readdirSync(join(stateOf(ground.project), 'snapshots')).map((name) => name.split('.')[0] as string)
    expect(
      ids.filter((id) => ground.snapshots.get(id)?.kind !== 'baseline'),
      'states that never were',
    ).toEqual([])
  }
  expect(existsSync(join(ground.base, 'through.txt'))).toBe(false)
  await ground.commit(changes)
  expect(ground.picture()).toEqual(afterwards)
})

test('a few changes at a time do the same as many at once', async () => {
  using ground = openGround(before)
  const begin = ground.picture()
  const call = nextCall()
  await ground.commit(
    [
      ground.change('was-folder', '->', { form: 'link' }),
      ground.change('was-folder/one', null),
      ground.change('was-folder/two/three', null),
      ground.change('was-folder/two', null),
    ],
    call,
  )
  expect(lstatSync(ground.at('was-folder')).isSymbolicLink()).toBe(true)
  await ground.undo({ call })
  expect(ground.picture()).toEqual(begin)
  expect(
    (await faultOf(() => ground.commit([ground.change('x', 'a.txt', { form: 'link' }), ground.change('x/y', 'no\n')]))).code,
  ).toMatch(/E_DENY_PATH|E_NOT_FOUND/)
  expect(ground.picture()).toEqual(begin)
})

test('a state that has moved on is a conflict: content, form, bits, and somebody new in a folder', async () => {
  using ground = openGround({ 'a!644': 'a\n', 'd/x': 'x\n' })
  const changes = (): Change[] => [ground.change('new', 'new\n'), ground.change('a', 'A\n', { expectMode: 0o644 })]
  const planned = changes()
  chmodSync(ground.at('a'), 0o600)
  expect(await faultOf(() => ground.commit(planned))).toMatchObject({
    code: 'E_CONFLICT',
    details: { path: 'a', expected: 'mode 644', found: 'mode 600' },
  })
  unlinkSync(ground.at('a'))
  symlinkSync('a', ground.at('a'))
  expect((await faultOf(() => ground.commit(planned))).code).toBe('E_CONFLICT')
  const gone = [ground.change('d', null), ground.change('d/x', null)]
  writeFileSync(ground.at('d/somebody'), 'else\n')
  expect(await faultOf(() => ground.commit(gone))).toMatchObject({ code: 'E_CONFLICT', message: 'd is not empty' })
  expect(readFileSync(ground.at('d/x'), 'utf8')).toBe('x\n')
  expect(existsSync(ground.at('new'))).toBe(false)
})

test('undo refuses where bits, a link or a folder changed since, and touches nothing', async () => {
  using ground = openGround({ 'a!644': 'a\n', l: '->a' })
  const call = nextCall()
  await ground.commit(
    [ground.change('a', 'A\n'), ground.change('l', 'b', { form: 'link' }), ground.change('d', '', { form: 'folder' })],
    call,
  )
  const refused = async (): Promise<unknown> => {
    const picture = ground.picture()
    const fault: unknown = await ground.undo({ call }).catch((thrown: unknown) => thrown)
    expect(ground.picture()).toEqual(picture)
    return coded(fault as Fault)
  }
  chmodSync(ground.at('a'), 0o755)
  expect(await refused()).toMatchObject({
    code: 'E_CONFLICT',
    details: { path: 'a', changedSince: { hunks: [] }, mode: { wrote: '644', found: '755' } },
  })
  chmodSync(ground.at('a'), 0o644)
  unlinkSync(ground.at('l'))
  symlinkSync('c', ground.at('l'))
  expect(await refused()).toMatchObject({
    code: 'E_CONFLICT',
    details: { path: 'l', changedSince: { hunks: [{ linesOld: ['b'], linesNew: ['c'] }] } },
  })
  unlinkSync(ground.at('l'))
  symlinkSync('b', ground.at('l'))
  writeFileSync(ground.at('d/inside'), '')
  expect(await refused()).toMatchObject({ code: 'E_CONFLICT' })
  unlinkSync(ground.at('d/inside'))
  await ground.undo({ call })
  expect(ground.picture()).toEqual(['a: file 644 a\n', 'l: link a'])
})

test('binary content is undone without lines to show', async () => {
  using ground = openGround({ b: binary })
  const call = nextCall()
  await ground.commit([ground.change('b', Buffer.from([0, 1, 2, 3, 4]))], call)
  writeFileSync(ground.at('b'), Buffer.from([0, 2, 3, 4, 5]))
  await expect(ground.undo({ call })).rejects.toMatchObject({ reason: 'conflict', details: { changedSince: { hunks: [] } } })
  writeFileSync(ground.at('b'), Buffer.from([0, 1, 2, 3, 4]))
  await ground.undo({ call })
  expect(readFileSync(ground.at('b'))).toEqual(binary)
})

test('a plain write keeps to regular files of one name; a tree may replace and remove what has two', async () => {
  using ground = openGround({ here: 'shared\n', l: '->here', 'd/': '', 'u!4755': 'u\n' })
  linkSync(ground.at('here'), join(ground.base, 'outside'))
  const { form: _, ...plain } = ground.change('here', 'mine\n')
  expect((await faultOf(() => ground.commit([plain]))).code).toBe('E_DENY_PATH')
  const { form: __, ...overLink } = ground.change('l', 'mine\n')
  expect((await faultOf(() => ground.commit([overLink]))).code).toBe('E_DENY_PATH')
  const { form: ___, ...overFolder } = ground.change('d', 'mine\n')
  expect((await faultOf(() => ground.commit([overFolder]))).code).toBe('E_IO')
  const call = nextCall()
  await ground.commit([ground.change('here', 'mine\n', { mode: 0o7777 })], call)
  expect(statSync(ground.at('here')).mode & 0o7777, 'no setuid, setgid, sticky').toBe(0o777)
  expect(readFileSync(join(ground.base, 'outside'), 'utf8')).toBe('shared\n')
  await ground.undo({ call })
  linkSync(ground.at('here'), join(ground.base, 'again'))
  const bits = statSync(join(ground.base, 'again')).mode
  await ground.commit([ground.change('here', 'shared\n', { mode: 0o400 })])
  expect(statSync(join(ground.base, 'again')).mode, 'new bits reach this name only').toBe(bits)
  await ground.commit([ground.change('here', null)])
  expect(readFileSync(join(ground.base, 'again'), 'utf8')).toBe('shared\n')
})

test('one path twice in a commit, or a path that climbs, is a mistake of the caller', async () => {
  using ground = openGround({ a: 'a\n' })
  await expect(ground.commit([ground.change('a', 'b'), ground.change('a', null)])).rejects.toThrow(/two changes of one path/)
  await expect(ground.commit([{ path: '../a', expect: null, after: Buffer.from('x') }])).rejects.toThrow(
    /not a judged path|E_DENY_PATH/,
  )
  expect(readFileSync(ground.at('a'), 'utf8')).toBe('a\n')
})

test('rm -rf of many files and its undo (soak: 5,000)', async () => {
  const tree: Tree = {}
  for (let n = 0; n < sweep(5_000, 100); n++) tree[`tree/d${n % 50}/f${n}`] = `${n % 7}\n`
  using ground = openGround(tree)
  const begin = ground.picture()
  const call = nextCall()
  await ground.commit(
    begin.map((line) => ground.change(line.split(':', 1)[0] as string, null)),
    call,
  )
  expect(ground.picture()).toEqual([])
  await ground.undo({ call })
  expect(ground.picture()).toEqual(begin)
})

test('contents are asked for one at a time, and what is stored is what is placed', async () => {
  using ground = openGround()
  let asked = 0
  const late = (n: number): Change => ({
    path: `f${n}`,
    expect: null,
    form: 'file',
    after: () => Buffer.from(`${n}:${asked++}\n`),
  })
  await ground.commit(Array.from({ length: 20 }, (_, n) => late(n)))
  expect(asked).toBe(20)
  for (let n = 0; n < 20; n++) expect(readFileSync(ground.at(`f${n}`), 'utf8')).toBe(`${n}:${n}\n`)
})

test('only states of files are listed', async () => {
  using ground = openGround()
  await ground.commit([
    ground.change('f', 'f\n'),
    ground.change('l', 'f', { form: 'link' }),
    ground.change('d', '', { form: 'folder' }),
  ])
  expect(ground.snapshots.list(10, '').map((one) => [one.path, one.form])).toEqual([['f', 'file']])
})

test('what somebody changed already is kept on both sides and can be undone', async () => {
  using ground = openGround({ 'a!644': 'a\n', 'gone/x': 'x\n', same: 'same\n', l: '->a' })
  const begin = ground.picture()
  const content = (text: string) => ({
    sha256: sha256(Buffer.from(text)),
    bytes: text.length,
    content: () => Buffer.from(text),
  })
  const call = nextCall()
  writeFileSync(ground.at('a'), 'A\n')
  chmodSync(ground.at('a'), 0o755)
  rmSync(ground.at('gone'), { recursive: true })
  unlinkSync(ground.at('l'))
  symlinkSync('b', ground.at('l'))
  plant(ground.project, { 'new/folder/n': 'n\n' })
  const changed = ground.picture()
  const mode = 0o777 & ~umask
  const { written } = await ground.journal.record(
    [
      { path: 'a', before: { form: 'file', mode: 0o644, ...content('a\n') } },
      { path: 'gone', before: { form: 'folder', mode, ...content('') } },
      { path: 'gone/x', before: { form: 'file', mode: 0o666 & ~umask, ...content('x\n') } },
      { path: 'same', before: { form: 'file', mode: 0o666 & ~umask, ...content('same\n') } },
      { path: 'l', before: { form: 'link', mode: 0o777, ...content('a') } },
      { path: 'new', before: null },
      { path: 'new/folder', before: null },
      { path: 'new/folder/n', before: null },
    ],
    { call, session: 'sess_trees', idempotencyKey: null },
  )
  expect(written.map((one) => one.path)).toEqual(['a', 'gone', 'gone/x', 'l', 'new', 'new/folder', 'new/folder/n'])
  expect(ground.picture(), 'nothing of the project is touched').toEqual(changed)
  const back = nextCall()
  await ground.undo({ call }, back)
  expect(ground.picture()).toEqual(begin)
  await ground.undo({ call: back })
  expect(ground.picture()).toEqual(changed)
})

test('a store of the first version is brought up, and its states can be undone', async () => {
  using ground = openGround({ 'a!640': 'old\n' })
  const call = nextCall()
  const { form: _, ...plain } = ground.change('a', 'new\n')
  await ground.commit([plain], call)
  const db = new DatabaseSync(join(stateOf(ground.project), 'handrail.db'))
  db.exec('ALTER TABLE snapshots DROP COLUMN form; ALTER TABLE snapshots DROP COLUMN mode; PRAGMA user_version = 1')
  db.close()
  chmodSync(ground.at('a'), 0o600)
  using later = openOn(ground.project)
  const again = nextCall()
  await later.commit([later.change('a', 'newer\n')], again)
  await later.undo({ call: again })
  await later.undo({ call })
  expect(later.picture()).toEqual(['a: file 600 old\n'])
  rmSync(join(stateOf(ground.project), 'handrail.db'))
  using rebuilt = openOn(ground.project)
  expect(rebuilt.snapshots.list(10, 'a').map((one) => one.mode)).toEqual([0o600, 0o600, 0o600, 0o600, 0o640, 0o640])
})

/** Where a kill hits the undo of a tree: while contents are laid down, something goes, folders are made, files are moved into place, and near the end. */
const moments: Parameters<typeof dyingWhen>[1][] = [
  // The first that goes: nothing has happened yet.
  'before side',
  'made',
  'before was-folder',
  'after was-folder',
  'before deep',
  'after deep',
  'before f-0',
  'after f-0',
  'before f-20',
  'after f-20',
  'after f-59',
]

test('the undo of a tree that is killed anywhere is finished or taken back, to the byte and the bit', async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`many/f-${n}`, `${n}\n`]))
  const { ['new\nline']: _, ...judged } = before
  using ground = openGround({ ...judged, ...many })
  const begin = ground.picture()
  const ends = { finished: 0, 'taken back': 0 }
  // The first, and another one with every seed; in a soak all of them.
  const other = 1 + draws('the undo of a tree that is killed')(moments.length - 1)
  const some = moments.filter((_, at) => isSoak || at === 0 || at === other)
  for (const moment of some) {
    const call = nextCall()
    await ground.commit(
      [
        ...everything(ground).filter(({ path }) => path !== 'new\nline'),
        ...Object.keys(many).map((path) => ground.change(path, `changed ${path}\n`, { mode: 0o600 })),
      ],
      call,
    )
    const changed = ground.picture()
    const child = spawn(process.execPath, [program, 'undo', call, '--yes', '--project', ground.project], {
      env: cleanEnv(ground.base, dyingWhen(ground.base, moment)),
      stdio: 'ignore',
    })
    expect((await once(child, 'close'))[1], moment).toBe('SIGKILL')
    expect(await ground.journal.recover(), moment).toHaveLength(1)
    const undone = runToEnd(ground.snapshots.ofCall(call)).every((one) => one.undoneBy !== null)
    expect(ground.picture(), moment).toEqual(undone ? begin : changed)
    ends[undone ? 'finished' : 'taken back']++
    if (!undone) expect(await runInside(ground.project, ['undo', call, '--yes']), moment).toMatchObject({ code: 0 })
    expect(ground.picture()).toEqual(begin)
  }
  expect(ends).toEqual({ finished: some.length - 1, 'taken back': 1 })
})

test('what a person saves while a change is being made stays, and nothing of the change does', async () => {
  for (const count of [1, 20]) {
    using ground = openGround({ a: 'old\n', b: 'old\n', gone: 'old\n' })
    const many = Array.from({ length: count }, (_, n) => ground.change(`new/f${n}`, `${n}\n`))
    const saving = (path: string, content: string): Change => ({
      ...ground.change(path, content),
      after: () => {
        writeFileSync(ground.at('b'), 'saved by a person\n')
        writeFileSync(ground.at('gone'), 'saved by a person, too\n')
        return Buffer.from(content)
      },
    })
    await expect(ground.commit([ground.change('b', 'agent\n'), saving('a', 'agent\n'), ...many])).rejects.toMatchObject({
      reason: 'conflict',
    })
    await expect(
      ground.commit([ground.change('a', 'other\n'), saving('c', 'agent\n'), ground.change('gone', null)]),
    ).rejects.toThrow()
    expect(readFileSync(ground.at('b'), 'utf8')).toBe('saved by a person\n')
    expect(readFileSync(ground.at('gone'), 'utf8')).toBe('saved by a person, too\n')
    expect(readFileSync(ground.at('a'), 'utf8')).toBe('old\n')
    expect(existsSync(ground.at('new'))).toBe(false)
  }
})

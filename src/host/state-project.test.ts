import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { identify, isSameFolder, openProjectState, readManifest } from './state-project.ts'
import { openRoot } from './walk.ts'

const seen = (born: bigint, changed: bigint, tells = true): ReturnType<typeof identify> =>
  identify({ dev: 1n, ino: 2n, birthtimeNs: born, ctimeNs: changed } as BigIntStats, () => tells)

test('a folder that is new says when it was born, and one made again in its place is another', () => {
  const first = seen(5n, 5n)
  expect(first.bornAt).toBe('5')
  expect(isSameFolder(first, seen(5n, 9n))).toBe(true)
  expect(isSameFolder(first, seen(7n, 9n))).toBe(false)
  expect(isSameFolder(first, seen(7n, 7n))).toBe(false)
  expect(isSameFolder(first, seen(7n, 9n, false)), 'what differs from the last change is a birth').toBe(false)
})

test('where the system keeps no birth, the inode alone counts', () => {
  expect(seen(0n, 5n).bornAt).toBeUndefined()
  expect(isSameFolder(seen(0n, 5n), seen(0n, 9n))).toBe(true)
  // Older systems give the time of the last change in its place.
  expect(isSameFolder(seen(5n, 5n, false), seen(9n, 9n, false))).toBe(true)
})

/** A place whose file system keeps births; not every temporary folder does. */
const place = [tmpdir(), '/dev/shm'].find((path) => {
  try {
    const probe = mkdtempSync(join(path, 'handrail-birth-'))
    const { birthtimeNs } = statSync(probe, { bigint: true })
    rmSync(probe, { recursive: true })
    return birthtimeNs > 0n
  } catch {
    return false
  }
})

test.skipIf(place === undefined)('a state from before that knows no birth learns it at the next open, and keeps to it', () => {
  const base = realpathSync(mkdtempSync(join(place as string, 'handrail-born-')))
  const project = join(base, 'project')
  mkdirSync(project)
  const root = openRoot(project)
  try {
    const open = (): ReturnType<typeof openProjectState> =>
      openProjectState(root, { state: join(base, 'state'), environment: {} })
    const first = open()
    const born = String(statSync(project, { bigint: true }).birthtimeNs)
    expect(first.manifest.bornAt).toBe(born)
    const file = join(first.folder.path, 'manifest.json')
    first.close()
    const { bornAt: _, ...without } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify(without))
    open().close()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ bornAt: born })
    writeFileSync(file, JSON.stringify({ ...without, bornAt: '1' }))
    writeFileSync(join(project, 'later.txt'), '')
    expect(open).toThrow(expect.objectContaining({ reason: 'conflict' }))
  } finally {
    closeSync(root.fd)
    rmSync(base, { recursive: true, force: true })
  }
})

test('a state that another process makes while its manifest is looked for is that state', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  mkdirSync(join(base, 'project'))
  const root = openRoot(join(base, 'project'))
  try {
    const { folder, close } = openProjectState(root, { state: join(base, 'state'), environment: {} })
    const text = readFileSync(join(folder.path, 'manifest.json'))
    rmSync(join(folder.path, 'manifest.json'))
    const names = (): string[] => {
      writeFileSync(join(folder.path, 'manifest.json'), text)
      writeFileSync(join(folder.path, 'handrail.db'), '')
      return folder.names()
    }
    expect(readManifest({ ...folder, names })?.path).toBe(root.path)
    close()
  } finally {
    closeSync(root.fd)
    rmSync(base, { recursive: true })
  }
})

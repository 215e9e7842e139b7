import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Danger } from '../contracts/runtime.ts'
import { checkProject } from './project-place.ts'
import { closeRoot, openRoot } from './walk.ts'

let base: string
let home: string
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-place-')))
  home = join(base, 'people', 'ada')
  for (const name of [
    '.ssh/deep',
    '.config/nvim',
    '.config/gh',
    '.local/state',
    '.local/src/x',
    '.codex/worktrees/x',
    'code/x',
    '.aws',
  ])
    mkdirSync(join(home, name), { recursive: true })
})
afterAll(() => rmSync(base, { recursive: true }))

/** What stands against a folder: a hint names the flag that would let it through. */
function verdict(path: string, allowed: Danger[] = []): string {
  const root = openRoot(path)
  try {
    checkProject(root, { HOME: home }, allowed)
    return 'fine'
  } catch (fault) {
    const { hint = '' } = fault as { hint?: string }
    return /--allow-(home|system)/.exec(hint)?.[1] ?? 'never'
  } finally {
    closeRoot(root)
  }
}

const there = (...paths: string[]): string[] => paths.filter((path) => existsSync(path))

test('the root is no project, under any name and with any flag', () => {
  const names = there('/', '/..', '/proc/self/root', '/proc/self/root/proc/self/root/')
  expect(names.map((path) => [path, verdict(path, ['home', 'system'])])).toEqual(names.map((path) => [path, 'never']))
})

test('folders of the system are none without the flag that names them', () => {
  const folders = there(
    ...`/etc /etc/ssl /usr /usr/bin /usr/lib /usr/share/doc /usr/local /usr/local/bin /bin /sbin /lib /boot
    /dev /dev/pts /proc /proc/self /sys /sys/kernel /run /var /var/lib /var/lib/dpkg /var/log /tmp
    /var/tmp /opt /srv /mnt /media /home /proc/self/root/etc /System /Library /Users`.split(/\s+/),
  ).filter((path) => !base.startsWith(`${realpathSync(path)}/`) || path === '/tmp')
  for (const path of folders) {
    expect([path, verdict(path)]).toEqual([path, 'system'])
    if (path !== '/tmp' && path !== '/home') expect([path, verdict(path, ['system'])]).toEqual([path, 'fine'])
    expect([path, verdict(path, ['home'])], 'another danger').toEqual([path, 'system'])
  }
})

test('a home, what lies above it, and its private folders are none without the flag that names them', () => {
  symlinkSync(home, join(base, 'door'))
  const places = ['', '.ssh', '.ssh/deep', '.config', '.config/gh', '.local', '.local/state', '.codex', '.aws'].map((name) =>
    join(home, name),
  )
  for (const path of [...places, join(base, 'people'), base, join(base, 'door'), join(base, 'door', '.ssh')]) {
    expect([path, verdict(path)]).toEqual([path, 'home'])
    expect([path, verdict(path, ['home'])]).toEqual([path, 'fine'])
  }
  expect(verdict(existsSync('/root') ? '/root' : home)).toBe('home')
})

test('ordinary folders are projects', () => {
  for (const name of ['code', 'code/x', '.config/nvim', '.local/src/x', '.codex/worktrees/x'])
    expect([name, verdict(join(home, name))]).toEqual([name, 'fine'])
  const made = join(base, 'srv', 'x')
  mkdirSync(made, { recursive: true })
  expect(verdict(made)).toBe('fine')
})

test('places below shared folders are projects, by name alone', () => {
  const judge = (path: string): string => {
    const root = openRoot(base)
    try {
      checkProject({ ...root, path }, { HOME: home }, ['home'])
      return 'fine'
    } catch {
      return 'refused'
    } finally {
      closeRoot(root)
    }
  }
  const fine = [
    '/tmp/x',
    '/var/www/x',
    '/var/www',
    '/opt/x',
    '/srv/x',
    '/usr/local/src/x',
    '/usr/src/x',
    '/var/lib/jenkins/workspace',
  ]
  const refused = [
    '/usr/local/src',
    '/usr/libexec/x',
    '/var/lib/docker',
    '/var/log/x',
    '/run/user',
    '/run/user/1',
    '/dev/shm',
    '/var/cache/x',
  ]
  expect(fine.map(judge)).toEqual(fine.map(() => 'fine'))
  expect(['/run/user/1/x', '/dev/shm/x', '/run/media/ada/disk', '/home/ci/x', '/Users/ada/x'].map(judge)).toEqual(
    Array(5).fill('fine'),
  )
  expect(refused.map(judge)).toEqual(refused.map(() => 'refused'))
})

import { execFileSync } from 'node:child_process'
import { lchownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { isSoak } from './soak.ts'
import { asUser, cleanEnv, program, runToExit, type CliEnd } from './world.ts'

/** By the system's own tool, since no path of Node is long enough for what is tried on stages; again where a program that was killed a moment ago still made something, or was clearing up too. */
export function clearAway(base: string): void {
  execFileSync('/bin/sh', ['-c', 'until rm -rf -- "$1"; do sleep 0.1; done', 'clear', base], { stdio: 'ignore', timeout: 45_000 })
}

const nobody = 65_534
/** Who runs it: root and a normal user where we are root, else whoever we are. */
export const users: [string, number][] =
  process.getuid?.() === 0
    ? [
        ['root', 0],
        ['a normal user', nobody],
      ]
    : [['a normal user', process.getuid?.() ?? 0]]

/** Where our own code does the same for every user, the one whom permissions stop is enough; in a soak it is each of them. */
export const oneUser = isSoak ? users : users.slice(-1)
export const isOne = (uid: number): boolean => oneUser.some(([, one]) => one === uid)

export interface Shell {
  ok: boolean
  exit_code: number
  stdout: string
  stderr: string
  left?: { path: string; why: string }[]
}

/** A home with secrets, a project in it, and the real command line run there by a user. */
export interface Ground {
  readonly base: string
  readonly project: string
  readonly uid: number
  /** Runs the command line; `before` is a program that starts it. */
  cli(args: string[], how?: { node?: string; before?: string[]; env?: Record<string, string> }): Promise<CliEnd>
  /** What a command printed on its stage; it must have been confined. */
  shell(command: string, how?: Parameters<Ground['cli']>[1], more?: string[]): Promise<Shell>
  give(path: string): void
  [Symbol.dispose](): void
}

export function openGround(uid: number): Ground {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-walls-')))
  const project = join(base, 'project')
  const write = (name: string, content: string): void => {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), content)
  }
  write('project/a.txt', 'one\n')
  write('.ssh/id_rsa', 'SECRET-key')
  write('.config/gh/hosts.yml', 'SECRET-sign-in')
  write('.local/share/keyrings/login', 'SECRET-ring')
  write('.local/state/handrail/other/person-token', 'SECRET-token')
  write('state/handrail/other/person-token', 'SECRET-token')
  write('other/.handrail/person-token', 'SECRET-token')
  const give = (path: string): void => {
    if (uid === process.getuid?.()) return
    lchownSync(path, uid, uid)
    if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name))
  }
  give(base)
  const cli: Ground['cli'] = (args, { node = process.execPath, before = [], env = {} } = {}) => {
    const [file = '', ...words] = [...before, node, program, ...args]
    return runToExit(file, words, { env: cleanEnv(base, env), cwd: base, ...asUser(uid) })
  }
  return {
    base,
    project,
    uid,
    cli,
    give,
    async shell(command, how, more = []) {
      const words = ['call', 'shell', JSON.stringify({ command, timeout_seconds: 60 }), '--project', project]
      const { out, err } = await cli([...words, '--enable-shell', '--wait', '0', ...more], how)
      if (!out) throw new Error(err)
      const answer = JSON.parse(out.slice(out.indexOf('{'))) as Shell & { confined: boolean }
      expect(answer.confined).toBe(true)
      return answer
    },
    [Symbol.dispose]: () => clearAway(base),
  }
}

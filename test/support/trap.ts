import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { errorCodeOf, errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Profile } from '../../src/contracts/profile.ts'
import { draws } from './seed.ts'
import { isSoak } from './soak.ts'
import { cleanEnv, openWorld, program, type World } from './world.ts'

export const isRoot = process.getuid?.() === 0
export const can = (file: string, ...args: string[]): boolean => spawnSync(file, args, { stdio: 'ignore' }).status === 0
export const canMount = can('unshare', '-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt')
export const noMounts = 'SKIPPED: this system lets nobody mount (unshare -rm)'
export const canFifo = process.platform !== 'win32' && can('sh', '-c', 'command -v mkfifo')

/** Where an attack takes place: in the project by relative paths, or in a second root by absolute ones. */
type Where = 'the project' | 'a second root'

/** As contract 001 has it. */
const further: Profile = { roots: ['second'], paths: 'absolute' }

/** A project, or a second root, with secrets all around it. `held` says whether every wall stood: no canary in a reply, nothing outside changed. */
export interface Trap {
  readonly world: World
  readonly canary: string
  /** A folder beside the project with `secret.txt` and `sub/deep.txt` in it. */
  readonly outside: string
  /** `<project>-evil`, or that of the root. */
  readonly evil: string
  at(name: string): string
  /** 'ok', or the code of the error. */
  ask(tool: string, input: Record<string, unknown>, role?: 'person'): Promise<string>
  /** Points every tool that takes a path at it; the answers by tool. */
  everyWay(path: string): Promise<Record<string, string>>
  answer(): string
  held(): void
  [Symbol.asyncDispose](): Promise<void>
}

export interface Setting {
  files?: Record<string, string | Buffer>
  flags?: Record<string, string>
  /** What is attacked is the project's alone. */
  ofProject?: true
}

export async function openTrap(setting: Setting = {}, where: Where = 'the project'): Promise<Trap> {
  const canary = `CANARY${randomBytes(12).toString('hex')}`
  const files = { 'inside.txt': 'inside\n', 'sub/inner.txt': 'inner\n', ...setting.files }
  const flags = { 'write-requires-diff': 'false', 'approval-wait-ms': '0', ...setting.flags }
  const isSecond = where === 'a second root'
  const opened = await openWorld(
    isSecond
      ? {
          flags,
          beside: Object.fromEntries(Object.entries(files).map(([name, content]) => [join('second', name), content])),
          config: (base: string) => ({ roots: [`second=${base}/second`] }),
        }
      : { files, flags },
  )
  const root = isSecond ? join(opened.base, 'second') : opened.project
  const world = isSecond ? atRoot(opened, root) : opened
  const outside = join(world.base, 'outside')
  const evil = `${root}-evil`
  for (const folder of [outside, evil, join(outside, 'sub')]) mkdirSync(folder)
  for (const file of [join(outside, 'secret.txt'), join(outside, 'sub', 'deep.txt'), join(evil, 'secret.txt')])
    writeFileSync(file, `${canary} a secret\n`)
  const before = fingerprint([outside, evil])
  const replies: string[] = []
  const ask: Trap['ask'] = async (tool, input, role) => {
    try {
      replies.push(JSON.stringify(await world.call(tool, input, { ...(role && { role }) })))
      return 'ok'
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      replies.push(JSON.stringify(errorBodyOf(thrown)))
      return errorCodeOf(thrown)
    }
  }
  return {
    world,
    canary,
    outside,
    evil,
    at: world.path,
    ask,
    async everyWay(path) {
      const write = { path, content: 'escaped\n', dryRun: false }
      return {
        read_file: await ask('read_file', { path }),
        list_files: await ask('list_files', { path }),
        'list_files globs': await ask('list_files', { path, globs: ['**'] }),
        search_files: await ask('search_files', { path, regex: '.' }),
        'write_to_file dry': await ask('write_to_file', { ...write, dryRun: true }),
        write_to_file: await ask('write_to_file', write),
        'write_to_file append': await ask('write_to_file', { ...write, mode: 'append' }),
        replace_in_file: await ask('replace_in_file', { path, find: 'a', replace: 'escaped' }),
      }
    },
    answer: () => replies.at(-1) ?? '',
    held() {
      expect(replies.length).toBeGreaterThan(0)
      expect(replies.join('\n')).not.toContain(canary)
      expect(fingerprint([outside, evil])).toEqual(before)
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

/** The same world, as those see it who have a second root and write absolute paths. */
function atRoot(world: World, root: string): World {
  const absolute = (input: unknown): unknown => {
    const { path } = input as { path?: string }
    return path === undefined || path.startsWith('/') ? input : { ...(input as object), path: `${root}/${path}` }
  }
  const path = (name: string): string => join(root, name)
  const own: Partial<World> = {
    project: root,
    path,
    read: (name) => readFileSync(path(name), 'utf8'),
    write(name, content) {
      mkdirSync(dirname(path(name)), { recursive: true })
      writeFileSync(path(name), content)
    },
    async call<T>(tool: string, input: unknown, given: { role?: 'agent' | 'person' } = {}): Promise<T> {
      const caller = { surface: 'mcp-http', client: 'test/1', session: 'sess_test' } as const
      const { runtime } = world
      const { output } =
        given.role === 'person'
          ? await runtime.call(tool, absolute(input), { ...caller, role: 'person' })
          : await runtime.gateFor(further).call(tool, absolute(input), { ...caller, role: 'agent' })
      return output as T
    },
  }
  return Object.setPrototypeOf(own, world) as World
}

/** Name, kind, mode and content of everything below. */
function fingerprint(folders: string[]): string[] {
  return folders.flatMap((folder) => [
    `${folder} ${statSync(folder).mode}`,
    ...readdirSync(folder)
      .sort()
      .flatMap((name) => {
        const path = join(folder, name)
        const stat = lstatSync(path)
        if (stat.isDirectory()) return fingerprint([path])
        const content = stat.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'other'
        return [`${path} ${stat.mode} ${content}`]
      }),
  ])
}

const attempts = [
  'read_file',
  'list_files',
  'list_files globs',
  'search_files',
  'write_to_file dry',
  'write_to_file',
  'write_to_file append',
  'replace_in_file',
]
export const allDenied = Object.fromEntries(attempts.map((tool) => [tool, 'E_DENY_PATH']))

const below = draws('attacks in a second root')

/** One attack: the walls are looked at after it in any case. Both kinds of root are walked alike: about one in eight is tried in a second one too, and in a soak all. */
export function attack(name: string, run: (trap: Trap) => Promise<void>, setting: Setting = {}): void {
  const at = (where: Where): Promise<void> =>
    openTrap(setting, where).then(async (opened) => {
      await using trap = opened
      await run(trap)
      trap.held()
    })
  test(name, () => at('the project'))
  if (!setting.ofProject) test.runIf(isSoak || below(8) === 0)(`${name}; in a second root`, () => at('a second root'))
}

export const mountedState = (project: string): string => join(dirname(project), 'mounted', 'state')

/** The program in mount namespace of its own, after a script that mounts something; the rest of the system sees none of it. */
export async function openMounted(project: string, script: string, args: string[] = []): Promise<Mounted> {
  const transport = new StdioClientTransport({
    command: 'unshare',
    args: ['-rm', 'sh', '-ec', `${script}\nexec "$@"`, 'sh', process.execPath, program, 'mcp', '--project', project, ...args],
    // What is mounted in the project's place is another folder, which the state of the first is not for.
    env: { ...cleanEnv(dirname(project)), HANDRAIL_STATE: mountedState(project), P: project, B: dirname(project) },
    stderr: 'pipe',
  })
  const client = new Client({ name: 'handrail-test', version: '1.0.0' })
  await client.connect(transport)
  const pid = transport.pid as number
  const replies: string[] = []
  return {
    pid,
    replies,
    seen: (name) => join(`/proc/${pid}/root`, project, name),
    async call(tool, input) {
      const result = await client.callTool({ name: tool, arguments: input })
      const text = (result.content as { text: string }[])[0]?.text ?? '{}'
      replies.push(text)
      return JSON.parse(text) as Answer
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

export interface Answer {
  error?: { code: string; hint?: string; details?: Record<string, unknown> }
  content?: string
  entries?: string[]
  matches?: unknown[]
  applied?: boolean
  snapshots?: unknown[]
}

export interface Mounted {
  readonly pid: number
  readonly replies: string[]
  /** The project as the program sees it. */
  seen(name: string): string
  call(tool: string, input: Record<string, unknown>): Promise<Answer>
  [Symbol.asyncDispose](): Promise<void>
}

export const noDiff = ['--write-requires-diff', 'false', '--approval-wait-ms', '0']

// W: writes

export const write = (path: string, content = 'escaped\n'): Record<string, unknown> => ({ path, content, dryRun: false })

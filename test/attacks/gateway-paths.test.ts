import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refuseSystem, systemFolders } from '../../src/host/system-folders.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { turn } from '../support/gateway.ts'
import { clearAway, oneUser } from '../support/ground.ts'
import { openServe, type Served } from '../support/serve.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { can, canFifo } from '../support/trap.ts'
import { cleanEnv, program, runToExit, asUser, writeSettings } from '../support/world.ts'

// The path boundary of seed 001 §5 against the real program, by a normal user, and in a soak by root, whom no permission stops.

describe.each(oneUser)('as %s', (_, uid) => {
  const canary = `CANARY${randomBytes(12).toString('hex')}`
  let base: string
  let project: string
  let served: Served
  const replies: string[] = []
  let before: Record<string, string>

  const put = (name: string, content: string): void => {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), content)
  }
  const outside = (): Record<string, string> =>
    Object.fromEntries(
      ['outside', 'project-evil', 'shelf-evil', 'attic'].flatMap((folder) =>
        readdirSync(join(base, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => [join(entry.parentPath, entry.name), readFileSync(join(entry.parentPath, entry.name), 'utf8')]),
      ),
    )

  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-gateway-')))
    project = join(base, 'project')
    put('project/inside.txt', 'inside\n')
    put('project/sub/inner.txt', 'inner\n')
    put('project/.env', `KEY=${canary}\n`)
    put('project/.git/config', `# ${canary}\n`)
    put('shelf/book.txt', 'a book\n')
    for (const folder of ['outside', 'project-evil', 'shelf-evil', 'attic']) put(`${folder}/secret.txt`, `${canary}\n`)
    put('outside/sub/deep.txt', `${canary}\n`)
    symlinkSync(join(base, 'outside', 'secret.txt'), join(project, 'file-link'))
    symlinkSync(join(base, 'outside'), join(project, 'dir-link'))
    symlinkSync('file-link', join(project, 'chain'))
    symlinkSync('..', join(project, 'parent'))
    symlinkSync(join(base, 'outside', 'not-there.txt'), join(project, 'dangling'))
    symlinkSync('/etc/hostname', join(project, 'etc-link'))
    symlinkSync('/bin', join(project, 'bin-link'))
    symlinkSync('/proc/self/root', join(project, 'proc-link'))
    symlinkSync('loop', join(project, 'loop'))
    linkSync(join(base, 'outside', 'secret.txt'), join(project, 'hard'))
    symlinkSync(join(base, 'outside'), join(base, 'shelf', 'dir-link'))
    if (canFifo) execFileSync('mkfifo', [join(project, 'pipe')])
    writeSettings(base, { roots: [`shelf=${base}/shelf`, `attic=${base}/attic`], gateway: { gatewayRoots: ['shelf'] } })
    if (uid !== process.getuid?.()) execFileSync('chown', ['-R', '-h', `${uid}:${uid}`, base])
    before = outside()
    served = await openServe(project, { uid, args: ['--approval-wait-ms', '0'] })
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    clearAway(base)
  })

  const ask = async (name: string, input: object): Promise<string> => {
    const response = await fetch(`${served.url}/agent/process`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${served.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(turn({ name, input })),
    })
    const text = await response.text()
    replies.push(text)
    const { error, tool_result } = JSON.parse(text) as { error?: { code: string }; tool_result?: { ok: boolean } }
    return error?.code ?? (tool_result?.ok ? 'ok' : 'waits')
  }
  const everyWay = async (path: string): Promise<string[]> => [
    await ask('read_file', { path }),
    await ask('create_file', { path, content: 'escaped\n' }),
    await ask('update_file', { path, content: 'escaped\n' }),
    await ask('update_file', { path, content: 'escaped\n', mode: 'append' }),
  ]
  /** No canary in any reply, nothing outside changed. */
  const held = (): void => {
    expect(replies.join('\n')).not.toContain(canary)
    expect(outside()).toEqual(before)
  }
  const refused = Array.from({ length: 4 }, () => 'tool_forbidden_path')
  const allRefused = async (...paths: string[]): Promise<void> => {
    for (const path of paths) expect([path, await everyWay(path)]).toEqual([path, refused])
    held()
  }

  test('control: the project and its root are read and written, by both kinds of paths', async () => {
    expect(await ask('read_file', { path: 'inside.txt' })).toBe('ok')
    expect(await ask('read_file', { path: join(project, 'sub/inner.txt') })).toBe('ok')
    expect(await ask('read_file', { path: join(base, 'shelf/book.txt') })).toBe('ok')
    expect(await ask('update_file', { path: join(base, 'shelf/book.txt'), content: 'another\n' })).toBe('ok')
    expect(await ask('create_file', { path: 'made/here.txt', content: 'x' })).toBe('ok')
    const undone = await runToExit(process.execPath, [program, 'undo', '--last', '--yes', '--project', project], {
      env: cleanEnv(base),
      cwd: base,
      ...asUser(uid),
    })
    expect([undone.code, existsSync(join(project, 'made/here.txt'))]).toEqual([0, false])
  })

  test('P01 P19 W04 up and out with ..', () =>
    allRefused(
      '../outside/secret.txt',
      'sub/../../outside/secret.txt',
      `${project}/../outside/secret.txt`,
      '..',
      '../outside/new.txt',
    ))
  test('P02 W05 an absolute path outside of every root', () =>
    allRefused(join(base, 'outside/secret.txt'), join(base, 'outside/new.txt'), base, '/'))
  test('P03 W05 a folder whose name begins like a root', () =>
    allRefused(join(base, 'project-evil/secret.txt'), join(base, 'shelf-evil/secret.txt'), join(base, 'shelf-evil/new.txt')))
  test('P04 P06 W01 a link to a file, and a chain of links', () => allRefused('file-link', 'chain', join(project, 'file-link')))
  test('P05 W03 W07 a link to a folder, and new files and folders behind it', () =>
    allRefused(
      'dir-link/secret.txt',
      'dir-link/new.txt',
      'dir-link/a/b/new.txt',
      join(base, 'shelf/dir-link/secret.txt'),
      join(base, 'shelf/dir-link/new.txt'),
    ))
  test('P07 a link to the parent, and one to itself', () =>
    allRefused('parent/outside/secret.txt', 'parent/project/inside.txt', 'loop'))
  test('W02 a link to what is not there yet', async () => {
    await allRefused('dangling')
    expect(existsSync(join(base, 'outside/not-there.txt'))).toBe(false)
  })
  test('P08 W06 a second name of a file outside', () => allRefused('hard'))
  test('P09 P10 /proc/self/root and its kin, from any root', () =>
    allRefused(
      `/proc/self/root${project}/inside.txt`,
      `/proc/self/cwd/inside.txt`,
      `/proc/${process.pid}/root/etc/passwd`,
      '/proc/self/environ',
      'proc-link/etc/passwd',
      '/dev/fd/0',
      '/dev/stdin',
    ))
  test('P11 P12 P13 P14 P15 P16 strange spellings', () =>
    allRefused(
      'inside.txt\0.md',
      '%2e%2e/outside/secret.txt',
      '..%2foutside/secret.txt',
      'file:///etc/passwd',
      '~/secret.txt',
      '..\\outside\\secret.txt',
      'x/'.repeat(20_000),
      `${project}//etc/passwd`,
      '//etc/passwd',
      '//attic/secret.txt',
      '．．/outside/secret.txt',
      'C:\\x',
    ))
  test('P17 P18 P24 secrets and the repository, in any letter case', () =>
    allRefused('.env', '.ENV', join(project, '.env'), '.git/config', '.GIT/config', `${project}/.Git/config`))
  test('a root of the person’s that is not one of the gateway’s', () =>
    allRefused(join(base, 'attic/secret.txt'), join(base, 'attic')))
  test('each folder of the system, as it is named and as it really is', async () => {
    const paths = [
      ...systemFolders.flatMap((folder) => [folder, `${folder}/x`, `${folder}/../${folder.slice(1)}/x`]),
      ...systemFolders.filter((folder) => existsSync(folder)).map((folder) => `${realpathSync(folder)}/x`),
      'etc-link',
      'bin-link',
      'bin-link/sh',
    ]
    // All ways ask the same judge: each path by all of them in a soak, else by one after the other.
    const ways: ((path: string) => Promise<string>)[] = [
      (path) => ask('read_file', { path }),
      (path) => ask('create_file', { path, content: 'escaped\n' }),
      (path) => ask('update_file', { path, content: 'escaped\n' }),
    ]
    for (const [index, path] of paths.entries())
      if (isSoak) await allRefused(path)
      else expect([path, await ways[index % ways.length]?.(path)]).toEqual([path, 'tool_forbidden_path'])
    held()
  })
  test('P20 a pipe makes nobody wait', { skip: !canFifo }, () => allRefused('pipe'))

  test('T01 T02 a folder that turns into a link while it is used: nothing is read or written outside', async () => {
    mkdirSync(join(project, 'flip'))
    writeFileSync(join(project, 'flip', 'secret.txt'), 'inside\n')
    symlinkSync(join(base, 'outside'), join(project, 'flip.link'))
    // A write may have made the folder anew while its name was free: then that goes aside.
    const flip = `const { renameSync } = require('node:fs')
      const [name, link, real] = process.argv.slice(1)
      let aside = 0
      process.stdin.once('end', () => process.exit(0)).resume()
      process.stdout.write('on')
      const swap = () => {
        try { renameSync(name, real); renameSync(link, name); renameSync(name, link); renameSync(real, name) } catch {
          try { renameSync(name, link) } catch { try { renameSync(name, real + '.' + aside++) } catch {} }
          try { renameSync(real, name) } catch {}
        }
      }
      const turn = () => { for (let n = 0; n < 200; n++) swap(); setImmediate(turn) }
      turn()`
    const flipper = spawn(
      process.execPath,
      ['-e', flip, join(project, 'flip'), join(project, 'flip.link'), join(project, 'flip.real')],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        ...asUser(uid),
      },
    )
    await once(flipper.stdout, 'data')
    const seen = new Set<string>()
    for (let round = 0; round < sweep(1_500, 2); round++) {
      seen.add(await ask('read_file', { path: 'flip/secret.txt' }))
      seen.add(await ask('update_file', { path: 'flip/secret.txt', content: `round ${round}\n` }))
      seen.add(await ask('create_file', { path: `flip/${round}.txt`, content: 'new\n' }))
    }
    flipper.stdin.end()
    await once(flipper, 'exit')
    expect(
      [...seen].filter((code) => !['ok', 'tool_forbidden_path', 'tool_not_found', 'tool_conflict', 'tool_error'].includes(code)),
    ).toEqual([])
    held()
  })

  test('P28 the project is renamed and another put in its place: the folder that was judged is the one in use', async () => {
    renameSync(project, `${project}.moved`)
    symlinkSync(join(base, 'outside'), project)
    const code = await ask('read_file', { path: 'secret.txt' })
    const made = await ask('create_file', { path: 'late.txt', content: 'x' })
    execFileSync('rm', [project])
    renameSync(`${project}.moved`, project)
    expect(code).not.toBe('ok')
    expect(['ok', 'tool_error', 'tool_conflict', 'tool_not_found', 'tool_forbidden_path']).toContain(made)
    held()
  })
})

describe('a project that lies in a folder of the system', () => {
  test.skipIf(!existsSync('/dev/shm'))('nothing of it is in reach of the gateway, while MCP may have it', async () => {
    const base = realpathSync(mkdtempSync('/dev/shm/handrail-test-'))
    try {
      const project = join(base, 'project')
      mkdirSync(project)
      writeFileSync(join(project, 'a.txt'), 'one\n')
      await using served = await openServe(project)
      for (const path of ['a.txt', '.', join(project, 'a.txt')]) {
        const response = await fetch(`${served.url}/agent/process`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${served.token}`, 'Content-Type': 'application/json' },
          body: JSON.stringify(turn({ name: 'read_file', input: { path } })),
        })
        expect([path, response.status]).toEqual([path, 403])
        expect(await response.json()).toMatchObject({ error: { code: 'tool_forbidden_path' } })
      }
    } finally {
      clearAway(base)
    }
  })

  test('the list is compared name by name, on real paths', () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-list-')))
    const at = (name: string): string => join(base, name)
    for (const name of ['real/inner', 'real-not', 'project/deep', 'other']) mkdirSync(at(name), { recursive: true })
    symlinkSync(at('real'), at('named'))
    const judge = (folder: string, listed: string[]): ((names: string[]) => string | undefined) => {
      const root = openRoot(at(folder))
      const refuse = refuseSystem(root, listed)
      closeRoot(root)
      return refuse
    }
    try {
      // The entry is a link: what it leads to is what is meant.
      expect(judge('real/inner', [at('named')])(['x'])).toBe(at('real'))
      expect(judge('real', [at('named')])([])).toBe(at('real'))
      expect(judge('real-not', [at('named')])(['x'])).toBeUndefined()
      // The root holds one of them.
      const around = judge('.', [at('project/deep')])
      expect(around(['project'])).toBeUndefined()
      expect(around(['project', 'deep'])).toBe(at('project/deep'))
      expect(around(['project', 'deep', 'x'])).toBe(at('project/deep'))
      expect(around(['project', 'deeper'])).toBeUndefined()
    } finally {
      clearAway(base)
    }
  })

  const mounts = can('unshare', '-m', 'sh', '-c', 'mount --bind /etc /mnt')
  test.skipIf(!mounts)(
    'one that is mounted in the project is not entered, also where crossMounts is on; nor is a root that is one under another name',
    async () => {
      const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-mounted-')))
      try {
        mkdirSync(join(base, 'project/mnt'), { recursive: true })
        mkdirSync(join(base, 'etc'))
        const script = `mount --bind /etc "$B/project/mnt"; mount --bind /etc "$B/etc"; exec "$@"`
        const probe = `
        const { spawn } = require('node:child_process')
        const serve = (project, more) => new Promise((resolve) => {
          const child = spawn(process.execPath, [${JSON.stringify(program)}, 'serve', '--project', project, '--port', '0', '--json', ...more], { stdio: ['ignore', 'pipe', 'inherit'] })
          let text = ''
          child.stdout.on('data', (piece) => { text += piece; if (text.includes('\\n')) resolve({ child, ...JSON.parse(text) }) })
          child.once('exit', () => resolve({ child }))
        })
        const ask = async ({ url, tokenFile }, path) => {
          const token = require('node:fs').readFileSync(tokenFile, 'utf8').trim()
          const body = ${JSON.stringify(JSON.stringify(turn({ name: 'read_file', input: { path: 'PATH' } })))}.replace('PATH', path)
          return (await fetch(url + '/agent/process', { method: 'POST', headers: { Authorization: 'Bearer ' + token, 'Content-Type': 'application/json' }, body })).status
        }
        ;(async () => {
          const inside = await serve(process.env.B + '/project', ['--cross-mounts', 'true'])
          const renamed = await serve(process.env.B + '/etc', ['--allow-system-folder-as-project'])
          console.log(JSON.stringify([await ask(inside, 'mnt/hostname'), renamed.url ? await ask(renamed, 'hostname') : 'not served']))
          inside.child.kill(); renamed.child.kill()
        })()`
        const { code, out, err } = await runToExit('unshare', ['-m', 'sh', '-c', script, 'sh', process.execPath, '-e', probe], {
          env: cleanEnv(base, { B: base }),
        })
        expect([code, out.trim(), err.slice(0, 500)]).toEqual([0, '[403,403]', err.slice(0, 500)])
      } finally {
        clearAway(base)
      }
    },
  )
})

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gone, treeOf } from '../../src/host/running.ts'

/** Where the programs of the newest PostgreSQL of the system are; undefined where there is none. */
export function findPostgres(): string | undefined {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return undefined
  const versions = readdirSync(base).filter((name) => existsSync(join(base, name, 'bin', 'initdb')))
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? undefined : join(base, newest, 'bin')
}

export const findRedis = (): string | undefined => ['/usr/bin/redis-server', '/usr/local/bin/redis-server'].find(existsSync)

export interface Server {
  readonly url: string
  readonly port: number
  /** As a power cut for it: nothing of it gets a chance to tidy up. Resolves when it is gone. */
  kill(): Promise<void>
  /** Again on the same data and port, after `kill`. Resolves when it answers. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** PostgreSQL refuses to be run by root. */
function userFor(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const { stdout, status } = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' })
  const uid = status === 0 ? Number(stdout) : 65_534
  return { uid, gid: uid }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

function endOf(one: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!one || one.exitCode !== null || one.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    one.once('exit', () => resolve())
    one.kill(signal)
  })
}

/** A real PostgreSQL of its own, on loopback, in memory where there is some. */
export async function startPostgres(): Promise<Server> {
  const bin = findPostgres()
  if (bin === undefined) throw new Error('there is no PostgreSQL')
  const base = realpathSync(mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-pg-')))
  const user = userFor()
  const data = join(base, 'data')
  mkdirSync(data, { mode: 0o700 })
  chmodSync(base, 0o711)
  if (user.uid !== undefined) {
    chownSync(data, user.uid, user.gid as number)
    chownSync(base, user.uid, user.gid as number)
  }
  const password = join(base, 'password')
  writeFileSync(password, 'hidden-word\n')
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'handrail', '-A', 'scram-sha-256', `--pwfile=${password}`, '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...user, cwd: base, encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  const port = await freePort()
  let server: ChildProcess | undefined
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: base,
    max_connections: 300,
    shared_buffers: '32MB',
    dynamic_shared_memory_type: 'mmap',
    max_wal_size: '512MB',
  }
  const start = async (): Promise<void> => {
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const one = spawn(join(bin, 'postgres'), ['-D', data, ...args], {
      ...user,
      cwd: base,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '' },
    })
    server = one
    // Its log says when: nobody asks it again and again.
    await new Promise<void>((resolve, reject) => {
      let said = ''
      one.stderr?.setEncoding('utf8').on('data', (text: string) => {
        if (said.length < 100_000) said += text
        if (text.includes('ready to accept connections')) resolve()
      })
      one.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${said}`)))
    })
  }
  const ended = (signal: NodeJS.Signals): Promise<void> => {
    const one = server
    server = undefined
    return endOf(one, signal)
  }
  await start()
  const url = `postgres://handrail:hidden-word@127.0.0.1:${port}/postgres`
  return {
    url,
    port,
    start,
    async kill() {
      // What it started ends by itself once it is gone, and keeps its memory until then.
      const started = server?.pid === undefined ? [] : treeOf([server.pid], 1_000)
      await ended('SIGKILL')
      await Promise.all(started.map(gone))
    },
    async stop() {
      // Its sessions are cut: whoever is still connected is a test that is over.
      await ended('SIGINT')
      rmSync(base, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/** A real Redis that writes every command to its disk. */
export async function startRedis(): Promise<Server> {
  const file = findRedis()
  if (file === undefined) throw new Error('there is no Redis')
  const base = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-redis-'))
  const port = await freePort()
  let server: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const one = spawn(
      file,
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        base,
        '--appendonly',
        'yes',
        '--save',
        '',
        '--requirepass',
        'hidden-word',
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    )
    server = one
    await new Promise<void>((resolve, reject) => {
      one.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('eady to accept connections')) resolve()
      })
      one.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
    })
  }
  const ended = (signal: NodeJS.Signals): Promise<void> => {
    const one = server
    server = undefined
    return endOf(one, signal)
  }
  await start()
  return {
    url: `redis://:hidden-word@127.0.0.1:${port}`,
    port,
    start,
    kill: () => ended('SIGKILL'),
    async stop() {
      await ended('SIGTERM')
      rmSync(base, { recursive: true, force: true })
    },
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { cleanEnv, openWorld, program, repository, runToExit } from '../support/world.ts'

/** Resolves once nobody holds the other end of its output: the process and all that share it are gone. */
const gone = (child: ReturnType<typeof spawn>): Promise<unknown> => once(child, 'close')

test('npm start ends with its server when the shell between them is told to end, as npm does', async () => {
  await using world = await openWorld()
  const words = 'node scripts/start.mjs --port 0 --json; true'
  const child = spawn('sh', ['-c', words], { cwd: repository, env: cleanEnv(world.base), stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }
  expect(pid).not.toBe(child.pid)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  const ended = gone(child)
  child.kill('SIGTERM')
  await ended
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a port that is in use is said in words: another is taken, unless it was named', async () => {
  await using world = await openWorld()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const named = spawn(process.execPath, [program, 'serve', '--port', String(port), '--project', world.project], {
    env: cleanEnv(world.base),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  named.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(named, 'close')) as [number]
  other.close()
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(`Port ${port} is in use`) as string })
  expect(said).toContain('--port')
})

test('a command that starts no program loads none of the parts of Node that are for those who do', async () => {
  await using world = await openWorld()
  const told = join(world.base, 'told.cjs')
  writeFileSync(told, "process.on('exit', () => process.stderr.write(JSON.stringify(process.moduleLoadList)))")
  const loaded = async (...words: string[]): Promise<string[]> => {
    const env = cleanEnv(world.base)
    const { code, err } = await runToExit(process.execPath, ['-r', told, program, ...words, '--project', world.project], { env })
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^\[/) as string })
    return (JSON.parse(err) as string[]).map((name) => name.replace('NativeModule ', ''))
  }
  const seldom = ['child_process', 'readline', 'stream/consumers', 'timers/promises', 'worker_threads', 'zlib']
  expect((await loaded('approvals', 'list')).filter((name) => seldom.includes(name))).toEqual([])
  expect(await loaded('doctor')).toContain('child_process')
})

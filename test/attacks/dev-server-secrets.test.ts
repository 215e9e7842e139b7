import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { processesWith, soon } from '../support/stage.ts'
import { askLocal } from '../support/local-get.ts'
import { openWorld, type World } from '../support/world.ts'

const canary = 'CANARY-dev-31'

interface Answer {
  logs: string[]
  running: boolean
  urls: string[]
}

const open = (source: string, word = ''): Promise<World> =>
  openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts: { dev: `node dev.js ${word}` } }), 'dev.js': source },
    flags: { mode: 'developer' },
  })
const dev = (world: World, more: Record<string, unknown> = {}): Promise<Answer> =>
  world.call<Answer>('execute_command', { scriptName: 'dev', ...more })

test('a dev server reaches no socket and no pipe that lies in the project', async () => {
  const source = `const fs = require('node:fs'), net = require('node:net')
    require('node:http').createServer((request, response) => {
      const at = '.' + request.url
      if (at.endsWith('pipe')) return response.end(fs.lstatSync(at).isFIFO() ? 'a pipe' : 'none')
      net.connect(at).on('error', (fault) => response.end(fault.code)).on('data', (data) => response.end(data))
    }).listen(0)`
  await using world = await open(source)
  const at = ['ctl.sock', 'deep/ctl.sock', 'node_modules/ctl.sock', '.git/ctl.sock']
  const servers = at.map((path) => {
    mkdirSync(dirname(world.path(path)), { recursive: true })
    return createServer((one) => one.end(canary)).listen(world.path(path))
  })
  try {
    await Promise.all(servers.map((server) => once(server, 'listening')))
    execFileSync('mkfifo', [world.path('pipe')])
    const [url = ''] = (await dev(world)).urls
    for (const path of at) expect((await askLocal(`${url}${path}`)).text, path).toBe('ECONNREFUSED')
    expect((await askLocal(`${url}pipe`)).text).toBe('none')
  } finally {
    for (const server of servers) server.close()
  }
})

test('what a dev server printed once it could see a secret is withheld, also where that is gone again', async () => {
  const word = `word-${Math.random().toString(36).slice(2)}`
  const source = `const fs = require('node:fs')
    require('node:http').createServer((_, response) => response.end()).listen(0)
    setInterval(() => { for (const name of fs.readdirSync('conf')) console.log(name, fs.readFileSync('conf/' + name, 'utf8')) }, 1)`
  await using world = await open(source, word)
  world.write('conf/plain.txt', word)
  const started = await dev(world)
  expect(started.running).toBe(true)
  expect(started.logs.join('\n')).toContain(word)
  writeFileSync(world.path('conf/.env'), canary)
  rmSync(world.path('conf/.env'))
  expect(await soon(() => !processesWith(word).length)).toBe(true)
  const stopped = await dev(world, { stop: true })
  expect(stopped.running).toBe(false)
  expect(stopped.logs.join('\n')).toContain('conf/.env came while it ran')
  expect(stopped.logs.join('\n')).not.toContain(canary)
  expect(stopped.logs.join('\n')).not.toContain(word)
})

// @stage
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openTalk } from '../support/commands.ts'
import { until } from '../support/page.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openGround, users } from '../support/ground.ts'
import { processesWith, soon } from '../support/stage.ts'
import { askLocal } from '../support/local-get.ts'
import { openWorld, type World } from '../support/world.ts'

const canary = 'CANARY-dev-31'

interface Answer {
  logs: string[]
  running: boolean
  urls: string[]
}

const open = (source: string, word = '', files: Record<string, string> = {}): Promise<World> =>
  openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts: { dev: `node dev.js ${word}` } }), 'dev.js': source, ...files },
    flags: { mode: 'developer' },
  })
const dev = (world: World, more: Record<string, unknown> = {}): Promise<Answer> =>
  world.call<Answer>('execute_command', { scriptName: 'dev', ...more })

test('a dev server reaches no socket and no pipe that lies in the project', async () => {
  const source = `const fs = require('node:fs'), net = require('node:net')
    require('node:http').createServer((request, response) => {
      const at = '.' + request.url
      if (at.endsWith('pipe')) return response.end(fs.existsSync(at) ? 'something' : 'none')
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
    for (const path of at) expect((await askLocal(`${url}${path}`)).text, path).toMatch(/^(ENOENT|ECONNREFUSED)$/)
    expect((await askLocal(`${url}pipe`)).text).toBe('none')
  } finally {
    for (const server of servers) server.close()
  }
})

/** A project in which it is shown all as it is: more folders than can be laid over a copy of it. */
const tooMany = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`p/${index}/node_modules/x.js`, '']))

test.each([
  ['below node_modules', 'node_modules/conf', {}],
  ['of a project that is too large to be copied', 'conf', tooMany],
])('what a dev server printed once it could see a secret %s is withheld, also where that is gone again', async (_, at, files) => {
  const word = `word-${Math.random().toString(36).slice(2)}`
  const source = `const fs = require('node:fs'), at = '${at}/'
    require('node:http').createServer((_, response) => response.end()).listen(0)
    setInterval(() => { for (const name of fs.readdirSync(at)) console.log(name, fs.readFileSync(at + name, 'utf8')) }, 1)`
  await using world = await open(source, word, { ...files, [`${at}/plain.txt`]: word })
  const started = await dev(world)
  expect(started.running).toBe(true)
  expect(started.logs.join('\n')).toContain(word)
  writeFileSync(world.path(`${at}/.env`), canary)
  rmSync(world.path(`${at}/.env`))
  expect(await soon(() => !processesWith(word).length)).toBe(true)
  const stopped = await dev(world, { stop: true })
  expect(stopped.running).toBe(false)
  expect(stopped.logs.join('\n')).toContain(`${at}/.env came while it ran`)
  expect(stopped.logs.join('\n')).not.toContain(canary)
  expect(stopped.logs.join('\n')).not.toContain(word)
  const record = world.runtime.servers.get(world.runtime.servers.list()[0]?.runId ?? '')
  expect(record).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('came while it ran') as string } })
  expect(record?.log).toMatch(/^\[handrail\] ended, and what it printed is withheld: [^\n]+\n$/)
})

/** Reads all it finds as fast as it can, and tells what it saw of the canary, of names, and of what was announced to it. */
const spy = `const fs = require('node:fs'), started = Math.random(), heard = [], found = new Set()
  const read = (at) => { try { return fs.readFileSync(at, 'utf8') } catch (fault) { return fault.code } }
  const names = ['.env', 'conf/.env', 'conf/.env.local', 'conf/id_rsa', 'conf/key.pem', 'fresh/.env', 'fresh/.aws/credentials', '.git/config', 'conf/plain.txt', 'conf/behind.txt', 'conf/second.txt', 'held.txt']
  const held = fs.openSync('held.txt')
  const look = () => {
    for (const one of names) if (read(one).includes('${canary}')) found.add(one)
    const bytes = Buffer.alloc(1000)
    if (bytes.toString('utf8', 0, fs.readSync(held, bytes, 0, 1000, 0)).includes('${canary}')) found.add('an open file')
    setImmediate(look)
  }
  look()
  fs.watch('conf', (what, name) => heard.push(what + ' ' + name))
  fs.watch('conf/plain.txt', (what) => heard.push('itself ' + what))
  require('node:http').createServer((request, response) => {
    const at = decodeURIComponent(request.url.slice(1))
    if (at) return response.end(read(at))
    response.end(JSON.stringify({ started, heard: heard.splice(0), found: [...found], names: fs.readdirSync('.'), conf: fs.readdirSync('conf') }))
  }).listen(0)`

interface Told {
  started: number
  heard: string[]
  found: string[]
  names: string[]
  conf: string[]
}

describe('beside a dev server that reads as fast as it can', () => {
  const files = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/config': '[core]\n\tbare = false\n',
    'conf/plain.txt': 'plain',
    'conf/behind.txt': 'plain',
    'held.txt': 'plain',
    '.env': `A=${canary}`,
  }
  const tell = async (url: string): Promise<Told> => JSON.parse((await askLocal(url)).text) as Told
  const read = async (url: string, path: string): Promise<string> => (await askLocal(url + encodeURIComponent(path))).text

  test('secrets come by every way a file can come, and it sees none and goes on', async () => {
    await using world = await open(spy, '', files)
    const [url = ''] = (await dev(world)).urls
    const { started } = await tell(url)
    const secret = `KEY=${canary}`
    const to = world.path
    const ways: Record<string, () => void> = {
      'is written': () => writeFileSync(to('conf/.env'), secret),
      'is renamed in': () => {
        writeFileSync(`${world.base}/fresh.env`, secret)
        renameSync(`${world.base}/fresh.env`, to('conf/.env.local'))
      },
      'gets a second name': () => linkSync(to('.env'), to('conf/id_rsa')),
      'gets a second name that is plain': () => linkSync(to('.env'), to('conf/second.txt')),
      'comes with its folder': () => {
        mkdirSync(`${world.base}/fresh/.aws`, { recursive: true })
        writeFileSync(`${world.base}/fresh/.env`, secret)
        writeFileSync(`${world.base}/fresh/.aws/credentials`, secret)
        renameSync(`${world.base}/fresh`, to('fresh'))
      },
      'is a plain file that gets its name, and then what it holds': () => {
        renameSync(to('held.txt'), to('conf/key.pem'))
        writeFileSync(to('conf/key.pem'), secret)
      },
      'is written where a link of that name leads': () => {
        symlinkSync('behind.txt', to('conf/.env.link'))
        writeFileSync(to('conf/behind.txt'), secret)
      },
      'stands in the settings of git': () =>
        writeFileSync(to('.git/config'), `[remote "o"]\n\turl = https://me:${canary}@host/x\n`),
    }
    for (const [way, come] of Object.entries(ways))
      for (let round = 0; round < sweep(5, 1); round++) {
        come()
        // The request waits until what was written before it is there to be seen.
        expect(await tell(url), way).toMatchObject({ found: [], started })
        for (const name of ['conf/.env', 'conf/.env.local', 'conf/id_rsa', 'conf/second.txt', 'conf/.env.link', 'fresh'])
          rmSync(to(name), { recursive: true, force: true })
        if (existsSync(to('conf/key.pem'))) {
          writeFileSync(to('conf/key.pem'), 'plain')
          renameSync(to('conf/key.pem'), to('held.txt'))
        }
        writeFileSync(to('conf/behind.txt'), 'plain')
        world.write('.git/config', '[core]\n\tbare = false\n')
      }
    const told = await tell(url)
    expect(told.names.sort()).toEqual(['.git', 'conf', 'dev.js', 'held.txt', 'package.json'])
    expect(told.conf.sort()).toEqual(['behind.txt', 'plain.txt'])
    expect(await read(url, 'held.txt')).toBe('plain')
    const answer = await dev(world)
    expect(answer.running).toBe(true)
    expect(answer.logs.join('\n')).not.toContain(canary)
  })

  test('a file that is a secret for as long as it has a secret’s name, again and again, is never seen as one', async () => {
    await using world = await open(spy, '', files)
    const [url = ''] = (await dev(world)).urls
    const { started } = await tell(url)
    const flips = sweep(20_000, 700)
    const flipping = `const fs = require('node:fs')
      for (let round = 0; round < ${flips}; round++) {
        fs.renameSync('held.txt', 'conf/key.pem')
        fs.writeFileSync('conf/key.pem', 'KEY=${canary}')
        fs.writeFileSync('conf/key.pem', 'plain ' + round)
        fs.renameSync('conf/key.pem', 'held.txt')
      }`
    const child = spawn(process.execPath, ['-e', flipping], { cwd: world.project, stdio: 'inherit' })
    expect(await once(child, 'exit')).toEqual([0, null])
    await until('the last of it', async () => (await read(url, 'held.txt')) === `plain ${flips - 1}`)
    expect(await tell(url)).toMatchObject({ found: [], started })
  })

  test('edits of every kind are seen and announced', async () => {
    await using world = await open(spy, '', files)
    const [url = ''] = (await dev(world)).urls
    await tell(url)
    const heardOf = async (name: string): Promise<string[]> => {
      const heard: string[] = []
      await until(name, async () => heard.push(...(await tell(url)).heard) > 0 && heard.some((one) => one.endsWith(name)))
      return heard
    }
    writeFileSync(world.path('conf/plain.txt'), 'written to')
    expect(await read(url, 'conf/plain.txt')).toBe('written to')
    expect(await heardOf('change')).toContain('itself change')
    writeFileSync(world.path('conf/plain.txt.new'), 'replaced')
    renameSync(world.path('conf/plain.txt.new'), world.path('conf/plain.txt'))
    expect(await read(url, 'conf/plain.txt')).toBe('replaced')
    expect(await heardOf('plain.txt')).toContain('rename plain.txt')
    await world.put('conf/behind.txt', 'by an agent')
    expect(await read(url, 'conf/behind.txt')).toBe('by an agent')
    await heardOf('behind.txt')
    mkdirSync(world.path('conf/deep/er'), { recursive: true })
    writeFileSync(world.path('conf/deep/er/new.txt'), 'new')
    await until('a file in new folders', async () => (await read(url, 'conf/deep/er/new.txt')) === 'new')
    writeFileSync(world.path('conf/large.bin'), Buffer.alloc(1_000_000, 'a'))
    await until('a large file', async () => (await read(url, 'conf/large.bin')).length === 1_000_000)
    renameSync(world.path('conf/deep'), world.path('conf/deeper'))
    await until('a folder under its new name', async () => (await read(url, 'conf/deeper/er/new.txt')) === 'new')
    expect(await read(url, 'conf/deep/er/new.txt')).toBe('ENOENT')
    rmSync(world.path('conf/deeper'), { recursive: true })
    await until('a folder that is gone', async () => !(await tell(url)).conf.includes('deeper'))
    symlinkSync('plain.txt', world.path('conf/link.txt'))
    await until('a link', async () => (await read(url, 'conf/link.txt')) === 'replaced')
    chmodSync(world.path('conf/plain.txt'), 0o755)
    await heardOf('plain.txt')
  })

  test('`node --watch` starts anew where a module was replaced by renaming', async () => {
    await using world = await openWorld({
      files: {
        'package.json': JSON.stringify({ name: 'p', scripts: { dev: 'node --watch dev.js' } }),
        'dev.js': `const word = require('./word.js'); require('node:http').createServer((_, response) => response.end(word)).listen(38419)`,
        'word.js': `module.exports = 'one'`,
      },
      flags: { mode: 'developer' },
    })
    // While it starts anew its port is shut, and may be opened under another number.
    const answer = async (): Promise<string> => {
      const [url] = (await dev(world)).urls
      return url === undefined ? '' : (await askLocal(url).catch(() => ({ text: '' }))).text
    }
    expect(await answer()).toBe('one')
    let looks = 0
    await until('the new word', async () => {
      // It says nowhere from when on it watches; an edit before that is not seen by it in any folder.
      if (looks++ % 40 === 0) {
        writeFileSync(world.path('word.new'), `module.exports = 'two'`)
        renameSync(world.path('word.new'), world.path('word.js'))
      }
      return (await answer()) === 'two'
    })
  })
})

// Root is who runs the others.
test.each(isSoak ? users : users.slice(-1))(
  'of the real program, run by %s: a secret that comes is not there for it, and it goes on',
  async (_, uid) => {
    using ground = openGround(uid)
    const at = (path: string): string => join(ground.project, path)
    mkdirSync(at('conf'))
    for (const [path, text] of Object.entries({
      'package.json': '{ "name": "p", "scripts": { "dev": "node dev.js" } }',
      'conf/plain.txt': 'plain',
      'held.txt': 'plain',
      'dev.js': spy,
      'large.txt': 'x'.repeat(300_000),
    }))
      writeFileSync(at(path), text)
    chmodSync(at('large.txt'), 0o444)
    ground.give(ground.base)
    using talk = await openTalk(uid, ground.base, ground.project, ['--mode', 'developer'])
    const [url = ''] = ((await talk.call('execute_command', { scriptName: 'dev' })) as Answer).urls
    const { started } = JSON.parse((await askLocal(url)).text) as Told
    for (let round = 0; round < 5; round++) {
      writeFileSync(at('conf/.env'), canary)
      expect(JSON.parse((await askLocal(url)).text)).toMatchObject({ found: [], conf: ['plain.txt'], started })
      rmSync(at('conf/.env'))
    }
    writeFileSync(at('conf/plain.txt'), 'edited')
    expect((await askLocal(`${url}conf%2Fplain.txt`)).text).toBe('edited')
    expect((await askLocal(`${url}large.txt`)).text).toHaveLength(300_000)
  },
)

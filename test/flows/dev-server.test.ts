// @stage
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, statSync, type Dirent } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { gone } from '../../src/host/running.ts'
import { askLocal } from '../support/local-get.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openStdio, openWorld, repository, type World } from '../support/world.ts'

interface Answer {
  ok: boolean
  logs: string[]
  running: boolean
  urls: string[]
  exitCode?: number
  changes: unknown[]
  confined: boolean
}

const dev = (world: World, more: Record<string, unknown> = {}): Promise<Answer> =>
  world.call<Answer>('execute_command', { scriptName: 'dev', ...more })

/** A project whose dev script is this Node program. */
function openProject(source: string, files: Record<string, string> = {}, flags: Record<string, string> = {}): Promise<World> {
  const scripts = { dev: 'node dev.js' }
  return openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts }), 'dev.js': source, ...files },
    flags: { mode: 'developer', ...flags },
  })
}

/** A server that answers with what a piece of code makes of the request. */
const serving = (body: string, port: number | string = 0, host = ''): string => `
  const fs = require('node:fs'), net = require('node:net'), cp = require('node:child_process')
  require('node:http').createServer(async (request, response) => {
    try { response.end(String(await (async () => { ${body} })())) } catch (fault) { response.end('fault: ' + fault.code) }
  }).listen(${port}${host && `, '${host}'`}, function () { console.log('listening on', this.address().port) })`

/** What it printed, and what is said of it; not under which number its port is opened. */
const told = ({ logs }: Answer): string[] => logs.filter((line) => !line.startsWith('[handrail] its port '))
const first = ({ urls }: Answer): string => {
  expect(urls).not.toEqual([])
  return urls[0] as string
}
const portOf = (url: string): number => Number(new URL(url).port)
const get = async (url: string): Promise<string> => (await askLocal(url)).text

/** Programs that still run and were started for a project, by their words or by where they stand; not what clears a stage away. */
function left({ base }: World, word = ''): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const ours = words.includes(base) || readlinkSync(`/proc/${pid}/cwd`).startsWith(base)
        if (/(^| )rm -rf -- /.test(words)) return []
        return ours && words.includes(word) ? [`${pid} ${words.slice(0, 200)}`] : []
      } catch {
        return []
      }
    })
}

/** A stage is taken away in the background: one that is gone by now has no entries. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** What lies where stages are kept and is one. */
function stageFolders(base: string): string[] {
  const found: string[] = []
  const look = (folder: string): void => {
    for (const entry of entriesOf(folder)) {
      if (/^\d+-\d+-/.test(entry.name)) found.push(entry.name)
      else if (entry.isDirectory()) look(join(folder, entry.name))
    }
  }
  for (const home of ['state', '.local']) if (existsSync(join(base, home))) look(join(base, home))
  return found
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let round = 0; round < 900; round++) {
    if (await holds()) return
    await pause(50)
  }
  throw new Error(`never came true: ${what}`)
}

/** Somebody listening on this machine. */
async function listenHere(
  port = 0,
  host = '127.0.0.1',
): Promise<{ port: number; heard: () => number; [Symbol.dispose](): void }> {
  let heard = 0
  const server = createServer((socket) => {
    heard++
    socket.end('from outside')
  }).listen(port, host)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, heard: () => heard, [Symbol.dispose]: () => void server.close() }
}

describe('a dev server', () => {
  test('keeps running, can be opened from this machine, sees edits as they are made, and ends when asked to', async () => {
    await using world = await openProject(serving(`return fs.readFileSync('page.txt', 'utf8')`), { 'page.txt': 'one' })
    const started = await dev(world)
    expect(started).toMatchObject({ ok: true, running: true, changes: [], confined: true })
    expect(started.exitCode).toBeUndefined()
    expect(started.logs.join('\n')).toContain('listening on')
    const url = first(started)
    expect(await get(url)).toBe('one')
    world.write('page.txt', 'two')
    expect(await get(url)).toBe('two')
    await world.put('page.txt', 'three')
    expect(await get(url)).toBe('three')

    const again = await dev(world)
    expect(again.urls).toEqual(started.urls)
    expect(again.logs).toEqual(started.logs)

    const stopped = await dev(world, { stop: true })
    expect(stopped).toMatchObject({ ok: true, running: false, urls: [] })
    expect(stopped.logs.join('\n')).toContain('listening on')
    await expect(get(url)).rejects.toThrow()
    expect(left(world)).toEqual([])
    await until(() => stageFolders(world.base).length === 0, 'its stage is gone')
    expect(await dev(world, { stop: true })).toMatchObject({ ok: true, running: false, logs: [] })
  })

  // In `npm test` `dev-server-secrets` sees the same, and more kinds of edits.
  test.runIf(isSoak)('files change under its eyes: watching works', async () => {
    await using world = await openProject(
      serving(`return globalThis.seen ?? 'nothing'`) + `; fs.watch('src', (_, name) => { globalThis.seen = name })`,
      { 'src/a.txt': '' },
    )
    const url = first(await dev(world))
    expect(await get(url)).toBe('nothing')
    world.write('src/fresh.txt', 'x')
    await until(async () => (await get(url)) === 'fresh.txt', 'the new file is seen')
  })

  test('reaches nothing: neither this machine, nor the internet, nor the project to write, nor what is hidden', async () => {
    using outside = await listenHere()
    await using world = await openProject(
      serving(`
        const path = new URL(request.url, 'http://x').pathname
        if (path === '/write') return fs.writeFileSync('mine.txt', 'x')
        if (path === '/env') return fs.readFileSync('.env', 'utf8')
        if (path === '/state') return fs.readdirSync('.handrail').length
        if (path === '/cache') { fs.mkdirSync('node_modules/.cache'); fs.writeFileSync('node_modules/.cache/a', 'x'); return fs.readdirSync('node_modules') }
        if (path === '/shadow') return fs.readFileSync('/etc/shadow')
        if (path === '/variables') return Object.keys(process.env).filter((name) => /HANDRAIL|SSH|TOKEN/.test(name)).length
        if (path === '/localhost') return new Promise((done) => require('node:dns').lookup('localhost', (fault, address) => done(fault ? fault.code : address)))
        const [host, port] = path.slice(1).split('_')
        return new Promise((done) => net.connect(Number(port), host).once('connect', () => done('REACHED')).once('error', (fault) => done(fault.code)))
      `),
      { '.env': 'SECRET=1', '.handrail/token': 'SECRET', 'node_modules/kept/index.js': '' },
    )
    const url = first(await dev(world))
    expect(await get(`${url}127.0.0.1_${outside.port}`)).toBe('ECONNREFUSED')
    expect(await get(`${url}1.1.1.1_80`)).toBe('ENETUNREACH')
    expect(await get(`${url}write`)).toBe('fault: EROFS')
    expect(existsSync(world.path('mine.txt'))).toBe(false)
    expect(await get(`${url}env`)).toBe('fault: ENOENT')
    expect(await get(`${url}state`)).toBe('fault: ENOENT')
    expect(await get(`${url}shadow`)).toBe('fault: ENOENT')
    expect(await get(`${url}variables`)).toBe('0')
    expect(await get(`${url}localhost`)).toMatch(/^(127\.0\.0\.1|::1)$/)
    // Its caches are kept for as long as it runs.
    expect(await get(`${url}cache`)).toBe('.cache,kept')
    expect(readdirSync(world.path('node_modules'))).toEqual(['kept'])
    expect(outside.heard()).toBe(0)
  })

  test('bytes of any kind go through both ways, and each side may finish before the other', async () => {
    await using world = await openProject(`
      require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
        let bytes = 0
        socket.on('data', (chunk) => { bytes += chunk.length; socket.write(chunk) })
        socket.on('end', () => socket.end('heard ' + bytes))
        socket.on('error', () => {})
      }).listen(0, '::1')`)
    const url = first(await dev(world))
    const socket = connect({ port: portOf(url), host: '127.0.0.1', allowHalfOpen: true })
    const sent = Buffer.alloc(8_000_000, Buffer.from('\0\xff websocket or not ', 'latin1'))
    socket.end(sent)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const got = Buffer.concat(chunks)
    expect(got.subarray(0, sent.length).equals(sent)).toBe(true)
    expect(got.subarray(sent.length).toString()).toBe(`heard ${sent.length}`)
  })

  test('so many connections and no more; one that breaks off harms nobody', async () => {
    // Counted over all its ports. Whose a connection is takes the system long to say, and it is asked once for all that come in one turn: one for each port.
    await using world = await openProject(
      `for (let at = 0; at < ${sweep(1, 16)}; at++) require('node:net').createServer((socket) => socket.on('error', () => {}).write('hello')).listen(0)`,
    )
    const ports = (await dev(world)).urls.map(portOf)
    expect(ports).not.toEqual([])
    const port = ports[0] as number
    const sockets = Array.from({ length: 300 }, (_, at) =>
      connect(ports[at % ports.length] as number, '127.0.0.1').on('error', () => undefined),
    )
    let greeted = 0
    let refused = 0
    for (const socket of sockets) socket.once('data', () => greeted++).once('close', () => refused++)
    await until(() => greeted + refused === 300, 'every connection is let in or not')
    expect(greeted).toBe(256)
    for (const socket of sockets) socket.destroy()
    await until(async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown]
      socket.destroy()
      return String(chunk) === 'hello'
    }, 'there is room again')
  })

  test('a port that is taken on this machine: another one is opened; ports that come and go are followed', async () => {
    using taken = await listenHere()
    await using world = await openProject(
      serving(
        `
      if (request.url === '/more') return new Promise((done) => (globalThis.more = require('node:http').createServer((_, other) => other.end('more')).listen(${taken.port + 300}, () => done('opened'))))
      if (request.url === '/less') return new Promise((done) => { globalThis.more.close(() => done('closed')); globalThis.more.closeAllConnections() })
      return 'inside'`,
        taken.port,
      ),
    )
    const started = await dev(world)
    expect(portOf(first(started))).not.toBe(taken.port)
    expect(await get(first(started))).toBe('inside')
    expect(taken.heard()).toBe(0)
    expect(await get(`${first(started)}more`)).toBe('opened')
    const both = await dev(world)
    expect(both.urls).toHaveLength(2)
    expect(await get(both.urls[1] as string)).toBe('more')
    expect(await get(`${first(started)}less`)).toBe('closed')
    expect((await dev(world)).urls).toEqual(started.urls)
  })

  // 4777 is our own page; the others are etcd, a collector, a cluster, Consul and Tor.
  test('only where dev servers usually listen is a port opened under its own number; the answer says which is which', async () => {
    const ports = [2379, 4318, 4777, 5178, 6443, 8500, 9050]
    await using world = await openProject(
      `for (const port of ${JSON.stringify(ports)}) require('node:http').createServer((_, response) => response.end('inside ' + port)).listen(port)`,
    )
    const { urls, logs } = await dev(world)
    expect(urls).toHaveLength(ports.length)
    const said: string[] = []
    for (const url of urls) said.push(await get(url))
    expect(said).toEqual(ports.map((port) => `inside ${port}`))
    const numbers = urls.map(portOf)
    expect(numbers.filter((port) => ports.includes(port))).toEqual([5178])
    for (const [index, port] of ports.entries())
      if (port !== 5178) expect(logs.join('\n')).toContain(`its port ${port} is opened on this machine as ${urls[index]}`)
  })

  test('can be ended whatever has become of package.json', async () => {
    await using world = await openProject(serving(`return 'up'`))
    await dev(world)
    world.write('package.json', '{')
    expect(await dev(world, { stop: true })).toMatchObject({ ok: true, running: false })
    expect(left(world)).toEqual([])
  })

  test('crashes at the start: its words and its exit code; the next start is a new one', async () => {
    await using world = await openProject(`console.error('no such thing'); process.exit(3)`)
    const crashed = await dev(world)
    expect(crashed).toMatchObject({ ok: false, running: false, urls: [], exitCode: 3 })
    expect(crashed.logs.join('\n')).toContain('no such thing')
    await until(() => stageFolders(world.base).length === 0, 'its stage is gone')
    world.write('dev.js', serving(`return 'mended'`))
    const mended = await dev(world)
    expect(told(mended)[0]).toBe('[handrail] the server that ran before is gone: exit code 3')
    expect(await get(first(mended))).toBe('mended')
  })

  test('crashes later: that is noticed, and told by the next start or stop', async () => {
    await using world = await openProject(serving(`setTimeout(() => process.exit(7), 50); return 'bye'`))
    const url = first(await dev(world))
    expect(await get(url)).toBe('bye')
    await until(() => left(world).length === 0 && stageFolders(world.base).length === 0, 'it is gone')
    await expect(get(url)).rejects.toThrow()
    expect(await dev(world, { stop: true })).toMatchObject({ running: false, exitCode: 7, ok: false })
  })

  test('never listens: an answer all the same, and it runs on', async () => {
    await using world = await openProject(`console.log('thinking'); setInterval(() => {}, 1000)`)
    const started = await dev(world)
    expect(started).toMatchObject({ ok: true, running: true, urls: [] })
    expect(started.logs.join('\n')).toContain('thinking')
    expect(await dev(world, { stop: true })).toMatchObject({ running: false })
  })

  test('other arguments: another server in its place; the same asked for twice at once: one', async () => {
    await using world = await openProject(serving(`return process.pid + ' ' + process.argv.slice(2)`))
    const [one, same] = await Promise.all([dev(world, { args: ['a'] }), dev(world, { args: ['a'] })])
    expect(same.urls).toEqual(one.urls)
    const before = await get(first(one))
    expect(before).toMatch(/ a$/)
    expect(await get(first(same))).toBe(before)
    const other = await dev(world, { args: ['--b', '; touch x', '$(id)'] })
    expect(await get(first(other))).toMatch(/ --b,; touch x,\$\(id\)$/)
  })

  test('what it started, forked away, in a session of its own, deaf to signals, holding the pipe: all gone after stop', async () => {
    const stubborn = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {}); setInterval(() => console.log('still here'), 20)`
    await using world = await openProject(
      serving(`return 'up'`) +
        `; cp.spawn('setsid', ['sh', '-c', 'node stubborn.js & sleep 1000 &'], { stdio: 'inherit', detached: true }).unref()`,
      { 'stubborn.js': stubborn },
    )
    const started = await dev(world)
    expect(await get(first(started))).toBe('up')
    await until(async () => (await dev(world)).logs.join().includes('still here'), 'the stray runs')
    const stopped = await dev(world, { stop: true })
    expect(stopped.running).toBe(false)
    expect(stopped.logs.join('\n')).toContain('still here')
    expect(left(world, 'stubborn.js')).toEqual([])
    expect(left(world)).toEqual([])
  })

  test('megabytes of output: the newest of it, whole characters, the rest counted', async () => {
    await using world = await openProject(
      `const line = '€'.repeat(1023) + '\\n'; for (let at = 0; at < ${sweep(17_000, 4_000)}; at++) require('node:fs').writeSync(1, line)
       console.log('the end €'); require('node:http').createServer((_, answer) => answer.end('')).listen(0)`,
    )
    const started = await dev(world)
    const text = started.logs.join('\n')
    expect(started.running).toBe(true)
    expect(Buffer.byteLength(text)).toBeLessThan(140_000)
    expect(told(started)[0]).toMatch(/^… [15]\d{7} bytes left out …$/)
    expect(started.logs.at(-1)).toBe('the end €')
    expect(text).not.toContain('\ufffd')
  })

  test('takes more than it may: ended, and said why', async () => {
    await using world = await openProject(
      `for (let at = 0; at < 4; at++) require('node:child_process').spawn('node', ['-e', 'globalThis.all = Buffer.alloc(120_000_000, 1); setInterval(() => {}, 1000)'])`,
      {},
      { 'stage-memory-bytes': '400000000' },
    )
    const fault = await world.fault('execute_command', { scriptName: 'dev' })
    expect(fault.code).toBe('E_POLICY_VIOLATION')
    expect(fault.message).toContain('limits.stageMemoryBytes')
    expect(left(world)).toEqual([])
  })

  test('a start that is cancelled leaves nothing running', async () => {
    await using world = await openProject(`setInterval(() => {}, 1000)`)
    const cancel = new AbortController()
    const calling = world.fault('execute_command', { scriptName: 'dev' }, { signal: cancel.signal })
    await until(() => left(world, 'dev.js').length > 0, 'it runs')
    cancel.abort()
    expect((await calling).details).toMatchObject({ cancelled: true })
    await until(() => left(world).length === 0 && stageFolders(world.base).length === 0, 'it is gone')
  })

  test('ends with the runtime', async () => {
    await using world = await openProject(serving(`return 'up'`))
    const url = first(await dev(world))
    await world.runtime.close()
    expect(left(world)).toEqual([])
    await until(() => stageFolders(world.base).length === 0, 'its stage is gone')
    await expect(get(url)).rejects.toThrow()
    await world.reopen()
    expect(await get(first(await dev(world)))).toBe('up')
  })

  test('what it puts in the place of its door is not what is opened', async () => {
    await using world = await openProject(
      `const fs = require('node:fs'); fs.mkdirSync('/tmp/x'); try { fs.unlinkSync('/door/in') } catch {}
       fs.symlinkSync(process.argv[2], '/door/in')
       require('node:http').createServer((_, answer) => answer.end('inside')).listen(0)`,
    )
    let heard = 0
    const path = join(world.base, 'private.sock')
    const server = createServer((socket) => (heard++, socket.end('private'))).listen(path)
    await once(server, 'listening')
    const { urls } = await dev(world, { args: [path] })
    for (const url of urls) expect(await get(url).catch(() => 'nothing')).not.toBe('private')
    expect(heard).toBe(0)
    server.close()
  })

  test('where nothing confines it is not run, and nobody is asked', async () => {
    await using world = await openProject(serving(`return 'up'`), {}, { bubblewrap: '/bin/false' })
    const fault = await world.fault('execute_command', { scriptName: 'dev' }, { approvalWaitMs: 0 })
    expect(fault.code).toBe('E_UNSUPPORTED')
    expect(world.runtime.approvals.list()).toEqual([])
    expect(left(world, 'dev.js')).toEqual([])
  })
})

describe('the built program', () => {
  test('killed on the spot, it leaves no server behind; what lay on the disk goes with the next start', async () => {
    await using world = await openProject(
      serving(`return 'up'`) + `; cp.spawn('setsid', ['sleep', '4321'], { detached: true, stdio: 'ignore' }).unref()`,
    )
    const peer = await openStdio(world.project, { args: ['--mode', 'developer'] })
    const started = (await peer.call('execute_command', { scriptName: 'dev' })) as unknown as Answer
    expect(await get(first(started))).toBe('up')
    await until(() => left(world, 'sleep 4321').length === 1, 'what it started runs')
    process.kill(peer.pid, 'SIGKILL')
    await until(() => left(world, 'sleep 4321').length === 0 && left(world, 'dev.js').length === 0, 'all of it is gone')
    await expect(get(first(started))).rejects.toThrow()
    await gone(peer.pid)
    await world.reopen()
    expect(await get(first(await dev(world)))).toBe('up')
    await until(() => !stageFolders(world.base).some((name) => name.startsWith(`${peer.pid}-`)), 'its stage is gone')
    expect(stageFolders(world.base).length).toBeGreaterThan(0)
  })

  test('asked to end, it takes its server along, from the disk too', async () => {
    await using world = await openProject(serving(`return 'up'`))
    await using peer = await openStdio(world.project, { args: ['--mode', 'developer'] })
    const started = (await peer.call('execute_command', { scriptName: 'dev' })) as unknown as Answer
    expect(await get(first(started))).toBe('up')
    process.kill(peer.pid, 'SIGTERM')
    await until(() => left(world).length === 0, 'all of it is gone')
    await until(() => stageFolders(world.base).length === 0, 'its stage is gone')
  })

  test('beside another process on one project: a server each', async () => {
    await using world = await openProject(serving(`return 'up'`, 38_417))
    await using other = await openStdio(world.project, { args: ['--mode', 'developer'] })
    const there = other.call('execute_command', { scriptName: 'dev' }) as unknown as Promise<Answer>
    const urls = (await Promise.all([dev(world), there])).map(first)
    expect(new Set(urls).size).toBe(2)
    for (const url of urls) expect(await get(url)).toBe('up')
  })
})

test('vite: a page, and an edit of it pushed through a websocket', async () => {
  await using world = await openWorld({
    files: {
      'package.json': JSON.stringify({ type: 'module', scripts: { dev: 'vite' } }),
      'index.html': '<h1>first</h1><script type="module" src="/main.js"></script>',
      'main.js': 'document.title = "a"\n',
    },
    flags: { mode: 'developer' },
  })
  copyPackage('vite', world.path('node_modules'))
  mkdirSync(world.path('node_modules/.bin'))
  spawnSync('ln', ['-s', '../vite/bin/vite.js', world.path('node_modules/.bin/vite')])
  const started = await dev(world)
  expect(started.logs.join('\n')).toMatch(/vite/i)
  const url = first(started)
  expect(await get(url)).toContain('<h1>first</h1>')
  const token = /wsToken = "([^"]+)"/.exec(await get(`${url}@vite/client`))?.[1] ?? ''
  expect(await get(`${url}main.js`)).toContain('document.title')
  const socket = connect(portOf(url), '127.0.0.1')
  socket.write(
    `GET /?token=${token} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nOrigin: ${new URL(url).origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: vite-hmr\r\n\r\n`,
  )
  let heard = ''
  socket.on('data', (chunk) => (heard += chunk.toString('latin1')))
  await until(() => heard.includes('"type":"connected"'), 'the websocket is open')
  // It says that it is there before it has begun to watch: what was edited before that it is never told of.
  let edits = 0
  await until(() => {
    if (!heard.includes('full-reload')) world.write('index.html', `<h1>second</h1>${' '.repeat(edits++)}`)
    return heard.includes('full-reload')
  }, 'the edit is pushed')
  expect(await get(url)).toContain('<h1>second</h1>')
  socket.destroy()
})

/** A package of this repository and all it needs, as they are installed. */
function copyPackage(name: string, into: string, seen = new Set<string>()): void {
  const from = join(repository, 'node_modules', name)
  if (seen.has(name) || !existsSync(from) || !statSync(from).isDirectory()) return
  seen.add(name)
  cpSync(from, join(into, name), { recursive: true })
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) copyPackage(needed, into, seen)
}

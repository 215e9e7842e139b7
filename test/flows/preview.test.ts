import { mkdirSync, symlinkSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { WebSocketServer } from 'ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../src/host/browser/browser.ts'
import { portOnly } from '../../src/host/browser/network-scope.ts'
import { slowDrawing } from '../../src/host/preview/jump-script.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { footprint, noBrowser, whatIsLeft } from '../support/chromium.ts'
import { proves } from '../support/proof.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { fakeEngine, tinyGame } from '../support/tiny-game.ts'
import { cleanEnv, openStdio, openWorld, type World } from '../support/world.ts'

interface Shown {
  url: string
  logs: string[]
  firstErrorLine?: number
}

const show = (world: World, input: object): Promise<Shown> => world.call<Shown>('preview_scene', input)

/** Its last line lies behind a choice that leads elsewhere. */
const fork = ':One.;\nchoose:Left:start.txt|Right:deep/two.txt;\n:Three.;\n:Four.;\n'

/** Asks for two pictures that are not there, and speaks of them elsewhere. */
const broken = [
  '; changeBg:gone.png; changeFigure:sea.png',
  'changeBg:sea.png -next;',
  ':gone.png is only spoken of.;',
  'changeFigure:sea.png -next;',
  'changeBg:gone.png -next;',
  'changeBg:gone.png -next;',
  ':The end.;',
].join('\n')

function isToldAsMissing({ logs, firstErrorLine }: Shown): void {
  expect(logs).toContain('missing asset game/figure/sea.png')
  expect(logs).toContain('missing asset game/background/gone.png')
  expect(logs.join()).not.toContain('game/background/sea.png')
  expect(firstErrorLine).toBe(4)
}

/** Looks at what is shown with eyes of its own. */
const looking = openBrowser(process.env)
afterAll(() => looking.close())

/** Everything the engine shows in words, read from the page itself. */
async function wordsAt(url: string, wanted: string): Promise<string> {
  return looking.withPage(portOnly(Number(new URL(url).port)), { timeoutMs: 58_000 }, async (visit) => {
    // Its words stand in the page; what it draws around them takes a whole processor.
    await visit.page.addInitScript(slowDrawing)
    await visit.go(url, 30_000)
    const read = (): Promise<string> => visit.page.evaluate(`document.body.innerText.replace(/\\s+/g, '')`) as Promise<string>
    for (let tries = 0; tries < 300 && !(await read()).includes(wanted); tries++) await visit.page.waitForTimeout(100)
    return read()
  })
}

describe.skipIf(noBrowser !== undefined)('with a real browser and the real engine', () => {
  // One runtime, and so one browser, for all of them.
  let world: World
  beforeAll(async () => {
    world = await openWorld({
      files: {
        ...tinyGame,
        'game/scene/broken.txt': broken,
        'game/scene/fork.txt': fork,
      },
    })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  proves(
    'webgal.preview',
    'the page stands at the scene and line, with its words on it, and no start screen or language picker before it',
    async () => {
      const { url, logs, firstErrorLine } = await show(world, { scenePath: 'game/scene/start.txt', line: 3 })
      expect(url).toMatch(/^http:\/\/localhost:\d+\/preview#scene=start&line=3$/)
      expect(logs).toEqual([])
      expect(firstErrorLine).toBeUndefined()
      const words = await wordsAt(url, 'lovely')
      expect(words).toContain('Yukino')
      // Every letter stands there three times: its outline, its shadow, itself.
      expect(words).toMatch(/The.*sea.*breeze.*is.*lovely\./)
      expect(words).not.toMatch(/first|fourth/)
      expect(words).not.toMatch(/PRESSTHESCREEN|LANGUAGESELECT/)
    },
  )

  test.runIf(isSoak)('missing files are named, with the first line that asks for one', async () => {
    isToldAsMissing(await show(world, { scenePath: 'broken' }))
  })

  test.runIf(isSoak)('a line behind a choice cannot be reached, and that is said', async () => {
    const { logs } = await show(world, { scenePath: 'fork', line: 4 })
    expect(logs.join()).toMatch(/stopped at line [123] of fork\.txt: a choice, an input or an error holds it there/)
  })
})

describe.skipIf(noBrowser !== undefined)('an engine in the project itself, of either protocol', () => {
  let older: World
  let newer: World
  beforeAll(async () => {
    older = await openWorld({
      files: { ...tinyGame, 'game/scene/broken.txt': broken, 'game/scene/fork.txt': fork, ...fakeEngine('older') },
    })
    newer = await openWorld({ files: { ...tinyGame, ...fakeEngine('newer') } })
  })
  afterAll(async () => {
    await looking.close()
    await older[Symbol.asyncDispose]()
    await newer[Symbol.asyncDispose]()
  })

  /** The same world and its browser, with another program of the engine. */
  async function shownBy(script: string, input: object): Promise<Shown> {
    const { 'assets/engine.js': engine = '' } = fakeEngine('older')
    older.write('assets/engine.js', script)
    try {
      return await show(older, input)
    } finally {
      older.write('assets/engine.js', engine)
    }
  }

  test('two runtimes at once do not know of each other', async () => {
    const [first, second] = await Promise.all([show(older, { line: 2 }), show(newer, { line: 3 })])
    expect(first.logs).toEqual([])
    expect(second.logs).toEqual([])
    expect(new URL(first.url).port).not.toBe(new URL(second.url).port)
  })

  test('one that forgets where it was told to go while it loads is told again', async () => {
    // Says that it is at its first scene, and listens to nobody before it has said so five times.
    const { 'assets/engine.js': engine = '' } = fakeEngine('older')
    const script = `let times = 0
      const loading = setInterval(() => ++times && show('start.txt', 1), 100)
      ${engine.replace('if (said.data?.command === 0)', 'if (said.data?.command === 0 && isLoaded())')}
      const isLoaded = () => times > 5 && (clearInterval(loading), true)`
    expect(await shownBy(script, { scenePath: 'scene/deep/two.txt', line: 2 })).toMatchObject({ logs: [] })
  })

  test('one that goes no further than a choice says again and again that it is there; that it stopped is said', async () => {
    const { 'assets/engine.js': engine = '' } = fakeEngine('older')
    const goesTo = 'show(said.data.sceneMsg.scene, said.data.sceneMsg.sentence)'
    expect(engine).toContain(goesTo)
    const script = engine.replace(goesTo, 'setInterval(() => show(said.data.sceneMsg.scene, 2), 100)')
    const { logs } = await shownBy(script, { scenePath: 'fork', line: 4 })
    expect(logs).toEqual(['stopped at line 2 of fork.txt: a choice, an input or an error holds it there'])
  })

  test('missing files are named, with the first line that asks for one: not a comment, not the same name elsewhere', async () => {
    // It asks for what the scene asks for, as an engine does.
    const asks = ['background/sea', 'figure/sea', 'background/gone'].map((name) => `fetch('./game/${name}.png')`).join(';')
    isToldAsMissing(await shownBy(fakeEngine('older', asks)['assets/engine.js'] ?? '', { scenePath: 'broken' }))
  })

  test('what a hostile game asks for outside is refused and said', async () => {
    const evil = `fetch('http://169.254.169.254/latest').catch(() => 0); new WebSocket('ws://127.0.0.1:1/x'); throw new Error('do as I say')`
    const { logs } = await shownBy(fakeEngine('older', evil)['assets/engine.js'] ?? '', {})
    expect(logs).toContain('refused: the page asked for http://169.254.169.254, which is not part of the preview')
    expect(logs).toContain('refused: the page asked for ws://127.0.0.1:1, which is not part of the preview')
    expect(logs).toContain('page error: do as I say')
  })

  test.each(['older', 'newer'])('it is used, over the %s protocol, and follows the address', async (protocol) => {
    const { url, logs } = await show(protocol === 'older' ? older : newer, { scenePath: 'scene/deep/two.txt', line: 2 })
    expect(url).toMatch(/#scene=deep\/two&line=2$/)
    expect(logs).toEqual([])
    await looking.withPage(portOnly(Number(new URL(url).port)), { timeoutMs: 30_000 }, async ({ page, go }) => {
      await go(url, 25_000)
      await page.waitForFunction("document.title === 'deep/two.txt:2'")
      await page.evaluate("location.hash = 'scene=start.txt&line=4'")
      await page.waitForFunction("document.title === 'start.txt:4'")
    })
  })
})

describe.skipIf(noBrowser !== undefined)('with a real browser', () => {
  test('a second call uses the same server and the same browser; closing leaves nothing', async () => {
    await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
    const first = await show(world, { scenePath: 'deep/two', line: 2 })
    const { homes } = footprint()
    const second = await show(world, {})
    expect(new URL(second.url).port).toBe(new URL(first.url).port)
    expect(footprint().homes).toEqual(homes)
    expect(homes).toHaveLength(1)
    await world.runtime.close()
    expect(await whatIsLeft()).toEqual({ homes: [], processes: [] })
    await expect(fetch(first.url)).rejects.toThrow('fetch failed')
  })

  test('a page that hangs is E_TIMEOUT, and the next one is shown', async () => {
    const hang = 'if (location.hash.includes("deep")) while (true);'
    await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older', hang) } })
    const runtime = openRuntime({ project: world.project, environment: cleanEnv(world.base), live: true })
    const caller = { surface: 'cli', client: 'test', session: 'sess_x', role: 'agent' } as const
    const logs = async (input: object): Promise<string[]> =>
      ((await runtime.call('preview_scene', input, caller)).output as Shown).logs
    /** The settings as they are in force from now on: another list of tools is what can be waited for. */
    const settle = async (value: object): Promise<void> => {
      const changed = new Promise<void>((resolve) => runtime.gate.onToolsChanged(resolve))
      world.settings(value)
      await changed
    }
    try {
      expect(await logs({})).toEqual([])
      // Short only for the page that takes a whole processor until then: the others have as long as they need.
      await settle({ disabledTools: ['search_files'], limits: { browserTimeoutMs: sweep(2_000, 1_000) } })
      await expect(logs({ scenePath: 'deep/two' })).rejects.toMatchObject({ reason: 'page-timeout' })
      await settle({})
      expect(await logs({})).toEqual([])
    } finally {
      await runtime.close()
    }
  })

  // In `npm test` the same of a run and of a browser that is still starting: `browser-killed`, `browser`.
  test.runIf(isSoak)('a killed process leaves no browser and no folder behind', async () => {
    await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
    const peer = await openStdio(world.project)
    const { logs } = (await peer.call('preview_scene', {})) as unknown as Shown
    expect(logs).toEqual([])
    expect(footprint(peer.pid).processes.length).toBeGreaterThan(2)
    process.kill(peer.pid, 'SIGKILL')
    expect(await whatIsLeft(peer.pid)).toEqual({ homes: [], processes: [] })
    await peer[Symbol.asyncDispose]()
  })
})

test('without a browser the address is given, and why nobody looked', async () => {
  await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
  const runtime = openRuntime({ project: world.project, environment: { HANDRAIL_CHROMIUM: '/nowhere/chromium' } })
  try {
    const { output } = await runtime.call(
      'preview_scene',
      {},
      { surface: 'cli', client: 'test', session: 'sess_x', role: 'agent' },
    )
    const { url, logs } = output as Shown
    expect(logs).toEqual(['not looked at: HANDRAIL_CHROMIUM names no program: /nowhere/chromium'])
    expect((await fetch(url)).status).toBe(200)
  } finally {
    await runtime.close()
  }
})

proves('vector.preview', 'what cannot be shown, and why', async () => {
  await using world = await openWorld({ files: tinyGame, flags: { engine: 'nowhere' } })
  const missing = await world.fault('preview_scene', { scenePath: 'game/scene/strat.txt' })
  expect(missing.code).toBe('E_PREVIEW_FAIL')
  expect(missing.hint).toBe('Did you mean start.txt?')
  for (const scenePath of ['http://evil.example/x', 'file:///etc/passwd', 'javascript:alert(1)', '//evil.example/x'])
    expect((await world.fault('preview_scene', { scenePath })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('preview_scene', { scenePath: '../../secret' })).code).toBe('E_DENY_PATH')
  expect((await world.fault('preview_scene', { line: 99 })).code).toBe('E_BAD_ARGS')
})

proves('errors.preview-fail', 'without an engine, or without the Terre that is asked for', async () => {
  await using world = await openWorld({ files: tinyGame, flags: { engine: 'nowhere' } })
  const engine = await world.fault('preview_scene', {})
  expect(engine.code).toBe('E_PREVIEW_FAIL')
  expect(engine.hint).toContain('webgal-engine')
  await world.reopen({ terre: 'always', 'terre-port': '1' })
  const terre = await world.fault('preview_scene', {})
  expect(terre.code).toBe('E_PREVIEW_FAIL')
  expect(terre.message).toContain('no Terre answers on port 1')
})

/** A request as it is written, without the courtesies of `fetch`. */
function ask(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string; headers: IncomingMessage['headers'] }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers: { Host: `127.0.0.1:${port}`, ...headers } }, (answer) => {
      let body = ''
      answer.setEncoding('latin1').on('data', (text: string) => (body += text))
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body, headers: answer.headers }))
    })
      .once('error', reject)
      .end()
  })
}

describe('the preview server', () => {
  const serve = async (files: Record<string, string | Buffer> = {}): Promise<{ world: World; port: number }> => {
    const world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older'), ...files } })
    const runtime = openRuntime({ project: world.project, environment: { HANDRAIL_CHROMIUM: '/nowhere' } })
    const close = world.runtime.close
    world.runtime.close = async () => {
      await runtime.close()
      await close()
    }
    const caller = { surface: 'cli', client: 'test', session: 'sess_x', role: 'agent' } as const
    const { output } = await runtime.call('preview_scene', {}, caller)
    return { world, port: Number(new URL((output as Shown).url).port) }
  }

  test('answers its own names only, reads only, and says no to other pages', async () => {
    const { world, port } = await serve()
    await using _ = world
    const status = async (...given: [Record<string, string>?, string?]): Promise<number> =>
      (await ask(port, '/preview', ...given)).status
    for (const host of ['localhost', '127.0.0.1', '[::1]']) expect(await status({ Host: `${host}:${port}` })).toBe(200)
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', `localhost.:${port}`, `127.0.0.1:${port + 1}`])
      expect(await status({ Host: host })).toBe(403)
    expect(await status({ Origin: `http://localhost:${port}` })).toBe(200)
    for (const origin of ['http://evil.example', 'null', `http://localhost:${port + 1}`])
      expect(await status({ Origin: origin })).toBe(403)
    expect(await status({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' })).toBe(403)
    expect(await status({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' })).toBe(302)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) expect(await status({}, method)).toBe(405)
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'x', 'Sec-WebSocket-Version': '13' }
    expect((await ask(port, '/api/webgalsync', upgrade)).status).toBe(404)
  })

  test('files with their types, whole and in parts, never cached and never guessed', async () => {
    const { world, port } = await serve({
      'game/bgm/a.mp3': Buffer.from('0123456789'),
      'game/video/long.mp4': Buffer.alloc(3_500_000, 7),
    })
    await using _ = world
    const whole = await ask(port, '/game/bgm/a.mp3')
    expect(whole).toMatchObject({ status: 200, body: '0123456789' })
    expect(whole.headers).toMatchObject({
      'content-type': 'audio/mpeg',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    })
    const part = (range: string) => ask(port, '/game/bgm/a.mp3', { Range: range })
    expect(await part('bytes=2-4')).toMatchObject({ status: 206, body: '234', headers: { 'content-range': 'bytes 2-4/10' } })
    expect(await part('bytes=7-')).toMatchObject({ status: 206, body: '789' })
    expect(await part('bytes=-2')).toMatchObject({ status: 206, body: '89' })
    expect(await part('bytes=5-900')).toMatchObject({ status: 206, body: '56789' })
    expect(await part('bytes=10-')).toMatchObject({ status: 416, headers: { 'content-range': 'bytes */10' } })
    expect(await part('lines=1-2')).toMatchObject({ status: 200, body: '0123456789' })
    expect((await ask(port, '/game/video/long.mp4')).body).toHaveLength(3_500_000)
    expect((await ask(port, '/game/video/long.mp4', {}, 'HEAD')).headers['content-length']).toBe('3500000')
    expect((await ask(port, '/game/video/long.mp4', { Range: 'bytes=1000000-3400000' })).body).toHaveLength(2_400_001)
  })

  test('nothing but the game and the engine, no way out, no list of a folder', async () => {
    const { world, port } = await serve({
      'secret.txt': 'canary',
      '.env': 'canary',
      'game/.env': 'canary',
      'game/.git/config': 'canary',
      'src/code.js': 'canary',
      'handrail.config.json': '{}',
    })
    await using _ = world
    symlinkSync('/etc/passwd', world.path('game/background/link.png'))
    mkdirSync(join(world.base, 'outside'))
    symlinkSync(join(world.base, 'outside'), world.path('game/vocal'))
    const out = ['/secret.txt', '/.env', '/src/code.js', '/handrail.config.json', '/.handrail/token', '/package.json']
    const climbing = [
      '/game/../secret.txt',
      '/game/%2e%2e/secret.txt',
      '/game/..%2fsecret.txt',
      '/assets/../secret.txt',
      '/game/..\\secret.txt',
      '/game/%00',
      '/%',
    ]
    const hidden = [
      '/game/.env',
      '/game/.git/config',
      '/game/background/link.png',
      '/game/vocal/x.wav',
      '//etc/passwd',
      '/game//etc/passwd',
    ]
    const folders = ['/game/', '/game/scene', '/game/scene/', '/assets/', '/lib/']
    for (const path of [...out, ...climbing, ...hidden, ...folders]) {
      const { status, body } = await ask(port, path)
      expect([path, status >= 400 && status < 500]).toEqual([path, true])
      expect(body).not.toMatch(/canary|root:|start\.txt/)
    }
  })
})

/** As much of Terre as a caller can see: its list, a game's files, and its socket. */
async function fakeTerre(
  games: string,
  knows: 'newer' | 'older' | 'both',
): Promise<{ port: number; said: unknown[]; close(): void }> {
  const said: unknown[] = []
  const { readFileSync } = await import('node:fs')
  const server = createServer((asked, answer) => {
    if (asked.url === '/api/manageGame/gameList') return void answer.end(JSON.stringify([{ dir: 'other' }, { dir: 'mine' }]))
    const game = /^\/games\/(\w+)\/(.*?)(?:[?#].*)?$/.exec(asked.url ?? '')
    try {
      const path = join(games, game?.[1] ?? '', game?.[2] || 'index.html')
      answer.setHeader(
        'Content-Type',
        path.endsWith('.html') ? 'text/html' : path.endsWith('.js') ? 'text/javascript' : 'text/plain',
      )
      answer.end(readFileSync(path))
    } catch {
      answer.writeHead(404).end()
    }
  })
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: ([wanted = '']) => (knows === 'newer' ? wanted : false),
  })
  sockets.on('connection', (socket) => socket.on('message', (data: Buffer) => said.push(JSON.parse(data.toString('utf8')))))
  server.on('upgrade', (asked: IncomingMessage, socket, head) => {
    if (asked.headers['sec-websocket-protocol'] !== undefined && knows === 'older')
      return void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    sockets.handleUpgrade(asked, socket, head, (one) => sockets.emit('connection', one))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { port: (server.address() as AddressInfo).port, said, close: () => server.close().closeAllConnections() }
}

describe('a running Terre', () => {
  for (const knows of ['newer', 'older', 'both'] as const)
    test(`is used where it has this very project, and is told the scene (it knows ${knows === 'both' ? 'no protocol by name' : `the ${knows} protocol`})`, async () => {
      await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
      const games = join(world.base, 'config', 'games')
      mkdirSync(games, { recursive: true })
      symlinkSync(world.project, join(games, 'mine'))
      const terre = await fakeTerre(games, knows)
      const home = join(world.base, 'home')
      mkdirSync(join(home, '.webgal_terre'), { recursive: true })
      symlinkSync(games, join(home, '.webgal_terre', 'games'))
      const runtime = openRuntime({
        project: world.project,
        environment: {
          HOME: home,
          HANDRAIL_TERRE_PORT: String(terre.port),
          PATH: process.env['PATH'],
          // What the browser sees of it does not hang on the words that Terre is told with.
          ...(knows !== 'newer' && !isSoak && { HANDRAIL_CHROMIUM: '/nowhere' }),
        },
      })
      try {
        const caller = { surface: 'cli', client: 'test', session: 'sess_x', role: 'agent' } as const
        const { output } = await runtime.call('preview_scene', { scenePath: 'deep/two', line: 2 }, caller)
        expect((output as Shown).url).toBe(`http://localhost:${terre.port}/games/mine/`)
        if (noBrowser === undefined && (knows === 'newer' || isSoak)) expect((output as Shown).logs).toEqual([])
        await expect
          .poll(() => terre.said)
          .toMatchObject([
            knows === 'newer'
              ? { kind: 'request', type: 'preview.command.sync-scene', payload: { sceneName: 'deep/two.txt', sentenceId: 2 } }
              : { event: 'message', data: { command: 0, sceneMsg: { scene: 'deep/two.txt', sentence: 2 } } },
          ])
      } finally {
        await runtime.close()
        terre.close()
      }
    })

  test('with a game of the same name elsewhere is not this project', async () => {
    await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
    await using other = await openWorld({ files: { ...tinyGame, 'game/config.txt': 'Game_name:Other;\n' } })
    const terre = await fakeTerre(dirname(other.project), 'newer')
    expect(basename(other.project)).toBe('project')
    const open = (mode: string) =>
      openRuntime({
        project: world.project,
        environment: {
          HOME: world.base,
          HANDRAIL_TERRE_PORT: String(terre.port),
          HANDRAIL_TERRE: mode,
          HANDRAIL_CHROMIUM: '/nowhere',
        },
      })
    const caller = { surface: 'cli', client: 'test', session: 'sess_x', role: 'agent' } as const
    const [auto, always] = [open('auto'), open('always')]
    try {
      const { output } = await auto.call('preview_scene', {}, caller)
      expect((output as Shown).url).toMatch(/^http:\/\/localhost:\d+\/preview#scene=start$/)
      await expect(always.call('preview_scene', {}, caller)).rejects.toMatchObject({ reason: 'preview' })
      expect(terre.said).toEqual([])
    } finally {
      await auto.close()
      await always.close()
      terre.close()
    }
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { fakeEngine, tinyGame } from '../support/tiny-game.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

interface Shown {
  url: string
  logs: string[]
  engine: string
}

/** What engines before 4.5 do instead of asking for `/api/webgalsync`; of these only the way they are told where to go is made here. */
const older = {
  /** 4.3 and 4.4: a command without an envelope, on port 9999. */
  bare: `
    const socket = new WebSocket('ws://' + location.hostname + ':9999')
    let at = { scene: 'start.txt', sentence: 0 }
    const say = () => {
      socket.send(JSON.stringify({ command: 1, sceneMsg: at, stageSyncMsg: {}, message: 'sync' }))
      setTimeout(say, 100)
    }
    socket.onopen = say
    socket.onmessage = ({ data }) => {
      const said = JSON.parse(data)
      if (said.command === 0) at = said.sceneMsg
    }`,
  /** 4.2: words, and never a word back. */
  words: `
    const socket = new WebSocket('ws://' + location.hostname + ':9999')
    socket.onopen = () => socket.send(' WebGAL 已和 Terre 建立连接。')
    socket.onmessage = ({ data }) => {
      const [, scene, line] = data.split(' ')
      if (data.match('jmp')) fetch('./game/scene/' + scene + '?told=' + line)
    }`,
  deaf: `fetch('./game/config.txt')`,
  away: `fetch('./game/config.txt').then(() => { location.href = '/elsewhere' })`,
}

const engineOf = (script: string): Record<string, string> => ({ ...fakeEngine('older'), 'assets/engine.js': script })
const inFolder = (folder: string, files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]))
const show = (world: World, input: object): Promise<Shown> => world.call<Shown>('preview_scene', input)

describe.skipIf(noBrowser !== undefined)('engines of other shapes', () => {
  // One runtime, and so one browser, for the two that are told on port 9999.
  let world: World
  beforeAll(async () => {
    world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older') } })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  test('one of 4.3 or 4.4 in the game is told where to go, and says that it is there', async () => {
    world.write('assets/engine.js', older.bare)
    expect(await show(world, { line: 3 })).toMatchObject({ logs: [], engine: 'the engine in the project' })
  })

  test('one of 4.2 is told too; it cannot say where it is, and that is said', async () => {
    world.write('assets/engine.js', older.words)
    const { logs, engine } = await show(world, { scenePath: 'deep/two', line: 2 })
    expect(engine).toBe('the engine in the project')
    expect(logs).toEqual(['this engine does not say where it is: it was told to go there'])
  })

  test('one that cannot be told is replaced by the package, and that is said', async () => {
    // The real package is Handrail's own; a stand-in for it where the project has one.
    const version = isSoak ? '4.5.18' : '4.5.99'
    const own = { 'package.json': JSON.stringify({ name: 'webgal-engine', version }), ...inFolder('dist', fakeEngine('older')) }
    await using world = await openWorld({
      files: { ...tinyGame, ...engineOf(older.deaf), ...(!isSoak && inFolder('node_modules/webgal-engine', own)) },
    })
    const { logs, engine } = await show(world, { line: 2 })
    expect(engine).toBe(`the package webgal-engine ${version}`)
    expect(logs).toEqual([
      `the engine in the project cannot be told where to go: shown with the package webgal-engine ${version}`,
    ])
  })

  test('an engine that is named goes before the one in the game; where it is no better, why is said', async () => {
    await using world = await openWorld({
      files: { ...tinyGame, ...engineOf(older.bare) },
      beside: inFolder('other', engineOf(older.away)),
      config: (base: string) => ({ preview: { engine: `${base}/other` } }),
    })
    const { logs, engine } = await show(world, { line: 2 })
    expect(engine).toMatch(/preview\.engine/)
    expect(logs.join()).toMatch(/the page went to .+ and left the game/)
  })

  // Played by clicks within the time a preview has: on a busy machine that is not enough.
  test.runIf(isSoak)(
    'a line behind choices and questions is played to in the real engine, by the shortest way or by the one that is named',
    async () => {
      const fork = [
        ':One.;',
        'getUserInput:name -title=Who;',
        'choose:Left:l|Right:r;',
        'label:l;',
        ':Left words.;',
        'choose:Further:far|Back:l;',
        'label:far;',
        ':Far words.;',
        'end;',
        'label:r;',
        ':Right words.;',
        'end;',
      ].join('\n')
      await using world = await openWorld({
        files: { ...tinyGame, 'game/scene/fork.txt': fork },
        flags: { 'webgal-version': '4.6.5' },
      })
      const pictures: Uint8Array[] = []
      const far = await world.call<Shown>(
        'preview_scene',
        { scenePath: 'fork', line: 8 },
        { onAttachment: ({ bytes }) => pictures.push(bytes) },
      )
      expect(far.logs).toEqual([
        'the game is for engine 4.6.5 and was shown with 4.5.18: what differs between them may look otherwise',
      ])
      expect(
        Buffer.from(pictures[0] ?? [])
          .subarray(1, 4)
          .toString(),
      ).toBe('PNG')
      const right = await show(world, { scenePath: 'fork', line: 11, choices: ['Mara', 2] })
      expect(right.logs).toEqual(far.logs)
      const wrong = await show(world, { scenePath: 'fork', line: 11, choices: ['Mara', 1, 'Further'] })
      expect(wrong.logs.join()).toMatch(/and not further \(title\)/)
    },
  )
})

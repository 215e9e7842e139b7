import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answersFor, opening } from '../../src/toolsets/webgal/play/conditions.ts'
import { filmstrip } from '../../src/toolsets/webgal/play/filmstrip.ts'
import { decisionsIn, explore } from '../../src/toolsets/webgal/play/explore.ts'
import { changesBetween, picturesIn, storyElement, storyIn, storyOf } from '../../src/toolsets/webgal/play/story.ts'
import { verdictOf } from '../../src/toolsets/webgal/play/verdict.ts'
import { parseScene } from '../../src/toolsets/webgal/grammar/parse.ts'
import { openPace } from '../../src/text/steps.ts'
import { noBrowser } from '../support/chromium.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { fakeEngine, tinyGame } from '../support/tiny-game.ts'
import { openWorld } from '../support/world.ts'

/** A choice, a scene nobody reaches, one that does not end, and a picture that is not there. */
const story: Record<string, string | Buffer> = {
  ...tinyGame,
  'game/scene/start.txt': 'changeBg:sea.png -next;\n:The first words.;\nchoose:Stay:stay.txt|Go:go.txt;\n',
  'game/scene/stay.txt': ':You stay.;\nend;\n',
  'game/scene/go.txt': 'changeFigure:gone.png -next;\n:You go.;\n',
  'game/scene/lonely.txt': ':Nobody comes here.;\nend;\n',
}
delete story['game/scene/deep/two.txt']

test('conditions are opened by values, as far as they are plain comparisons', () => {
  expect(opening('a>5&&b==x&&!c')).toEqual([
    { key: 'a', value: '6' },
    { key: 'b', value: 'x' },
    { key: 'c', value: 'false' },
  ])
  expect(opening('a+b>5')).toBeUndefined()
  expect(opening('a==";\n"')).toBeUndefined()
  expect(answersFor('name', ['name==Mara', "age>3 && name=='Ilse'", 'other==1'])).toEqual(['Mara', 'Ilse', 'A'])
})

/** A choice of the start scene as the engine tells it, and where it stood. */
const choice = (line: number, words: string[], taken: number) => ({
  is: 'choice' as const,
  scene: 'start.txt',
  line,
  words,
  open: words.map(() => true),
  taken,
})
const stops = [{ scene: 'start.txt', line: 1, text: '', speaker: '' }]

test('every option is taken once, each from where it was seen, and then what a variable keeps shut', async () => {
  const scenes = [
    {
      name: 'start.txt',
      statements: parseScene('choose:A:a|B:b;\nlabel:a;\nchoose:C:c|D:c;\nlabel:b;\nlabel:c;\n:Shut. -when=flag==1;\nend;'),
    },
  ]
  const explorer = explore(await decisionsIn(scenes, openPace()), 10)
  expect(explorer.next()).toMatchObject({ choices: [] })
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 0), choice(3, ['C', 'D'], 0)], end: 'title' })
  expect(explorer.next()).toMatchObject({ choices: ['B'] })
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 1)], end: 'title' })
  expect(explorer.untaken()).toBe(1)
  expect(explorer.next()).toMatchObject({ choices: ['A', 'D'] })
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 0), choice(3, ['C', 'D'], 1)], end: 'title' })
  expect(explorer.next()).toMatchObject({ choices: [], variables: [{ key: 'flag', value: '1' }] })
  explorer.played({ stops, decisions: [], end: 'title' })
  expect(explorer.next()).toBeUndefined()
})

test('an option that a variable keeps shut is taken with that variable held, on the way to its choice; one that was not come to is told', async () => {
  const scenes = [
    {
      name: 'start.txt',
      statements: parseScene('choose:A:a|B:b;\nlabel:a;\nchoose:C:c|(keys>9)->D:c;\nlabel:b;\nlabel:c;\nend;'),
    },
  ]
  const explorer = explore(await decisionsIn(scenes, openPace()), 10)
  explorer.next()
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 0), choice(3, ['C'], 0)], end: 'title' })
  expect(explorer.next()).toMatchObject({ choices: ['B'] })
  // The page broke before it came there.
  explorer.played({ stops: [], decisions: [], end: 'broken' })
  expect([explorer.untaken(), explorer.lost()]).toEqual([0, 1])
  expect(explorer.next()).toMatchObject({ choices: ['A', 'D'], variables: [{ key: 'keys', value: '10' }] })
  explorer.played({ stops: [...stops, { scene: 'd.txt', line: 1, text: '', speaker: '' }], decisions: [], end: 'title' })
  expect(verdictOf([...scenes, { name: 'd.txt', statements: [] }], explorer.routes).onlyWith).toEqual([
    { scene: 'd.txt', variables: 'keys=10' },
  ])
})

test('an option that was seen only with a variable held is taken with it held', async () => {
  const scenes = [
    {
      name: 'start.txt',
      statements: parseScene('choose:A:a|(keys>9)->B:a;\nlabel:a;\nchoose:C:c|(keys>9)->D:c;\nlabel:c;\nend;'),
    },
  ]
  const explorer = explore(await decisionsIn(scenes, openPace()), 10)
  const variables = [{ key: 'keys', value: '10' }]
  explorer.next()
  explorer.played({ stops, decisions: [choice(1, ['A'], 0), choice(3, ['C'], 0)], end: 'title' })
  expect(explorer.next()).toMatchObject({ choices: ['B'], variables })
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 1), choice(3, ['C', 'D'], 0)], end: 'title' })
  expect(explorer.next()).toMatchObject({ choices: ['B', 'D'], variables })
  explorer.played({ stops, decisions: [choice(1, ['A', 'B'], 1), choice(3, ['C', 'D'], 1)], end: 'title' })
  expect([explorer.next(), explorer.lost(), explorer.untaken()]).toEqual([undefined, 0, 0])
  expect(explorer.routes.map(({ held }) => held)).toEqual([undefined, variables, variables])
})

test('a game of very many options, conditions and questions (soak: a hundred thousand) is planned in one pass', async () => {
  const lines = Array.from({ length: sweep(20_000, 11_000) }, (_, at) => [
    `getUserInput:v${at};`,
    `choose:(v${at}==${at})->A${at}:s${at}.txt|B:b;`,
    `:x -when=v${at}>1;`,
  ]).flat()
  const explorer = explore(await decisionsIn([{ name: 'start.txt', statements: parseScene(lines.join('\n')) }], openPace()), 3)
  const plan = explorer.next()
  expect(plan?.inputs['start.txt:4']).toEqual(['1', '2', 'A'])
  expect(Object.keys(plan?.targets ?? {})).toHaveLength(10_000)
  explorer.played({ stops: [], decisions: [], end: 'title' })
  expect(explorer.next()?.variables).toEqual([{ key: 'v0', value: '0' }])
})

test('a line that went by under the words of another was not shown; the same words twice were', () => {
  const scenes = [{ name: 'a.txt', statements: parseScene(':One.;\n:…;\n:…;\n:Four.;\nend;') }]
  const stop = (line: number, text: string) => ({ scene: 'a.txt', line, text, speaker: '' })
  const stops = [stop(1, 'One.'), stop(2, '…'), stop(3, '…'), stop(4, '…')]
  expect(verdictOf(scenes, [{ stops, decisions: [], end: 'title' }]).neverShown).toEqual([{ scene: 'a.txt', line: 4 }])
})

test('names and words of a game stay words on its filmstrip', () => {
  const evil = `"><img src=x onerror=alert(1)></title></style></script><script>alert(2)</script><!--'&lt;`
  const routes = [
    {
      stops: [{ scene: evil, line: 1, text: evil, speaker: evil }],
      decisions: [{ is: 'choice' as const, scene: evil, line: 1, words: [evil], open: [true], taken: 0 }],
      end: 'title' as const,
      held: [{ key: evil, value: evil }],
    },
  ]
  const scenes = [
    { name: evil, statements: parseScene(`a:x;`) },
    { name: `${evil}2`, statements: parseScene('a:x;') },
  ]
  const verdict = verdictOf(scenes, routes)
  const changes = [{ scene: evil, is: 'new' as const, added: [evil], removed: [evil] }]
  const story = storyOf(scenes, routes, verdict)
  const pictures = new Map([[evil, new Uint8Array(3)]])
  const told = { verdict, routes, changes, story, missing: [evil], errors: [evil], pictures }
  const earlier = filmstrip({ title: evil, engine: evil, lang: 'EN', ...told })
  const forged = earlier.replaceAll('base64,AAAA"', 'base64,AAAA" onload="alert(1)"')
  expect([picturesIn(forged).size, [...picturesIn(earlier).values()]]).toEqual([0, ['AAAA']])
  const html = filmstrip({ title: evil, engine: evil, lang: 'EN', ...told, picturesBefore: picturesIn(earlier) })
  expect(html.match(/base64,AAAA/g)).toHaveLength(3)
  const tags = new Set([...html.matchAll(/<[/!]?([a-z\d-]*)/g)].map(([, name]) => name))
  expect([...tags].toSorted()).toEqual(
    'article b body details div doctype h1 h2 head header html img li main meta p script section style summary title ul'.split(
      ' ',
    ),
  )
  expect(html.match(/<script/g)).toHaveLength(1)
  expect(html).not.toMatch(/<img[^>]*onerror/)
  expect(html).toContain("default-src 'none'")
  expect(storyIn(html)?.scenes[0]?.name).toBe(evil)
})

test('two filmstrips are compared by what was told; what is no filmstrip is none', () => {
  const route = (text: string, scene = 'a.txt') => ({
    stops: [{ scene, line: 1, text, speaker: 'Mara' }],
    decisions: [],
    end: 'title' as const,
  })
  const scenes = ['a.txt', 'b.txt'].map((name) => ({ name, statements: parseScene('Mara:x;\nend;') }))
  const told = (...routes: ReturnType<typeof route>[]) => storyOf(scenes, routes, verdictOf(scenes, routes))
  const before = storyIn(`<p>${storyElement(told(route('</script> & so on')))}`)
  expect(before?.scenes).toEqual([{ name: 'a.txt', shown: ['Mara: </script> & so on'] }])
  expect(before && changesBetween(before, told(route('else'), route('new', 'b.txt')))).toEqual([
    { scene: 'a.txt', is: 'changed', added: ['Mara: else'], removed: ['Mara: </script> & so on'] },
    { scene: 'b.txt', is: 'new', added: ['Mara: new'], removed: [] },
  ])
  for (const html of ['', '<script id="handrail-play">{}</script>', '<script id="handrail-play">[</script>'])
    expect(storyIn(html)).toBeUndefined()
})

/**
 * As much of an engine as can be played: a click goes on, options are put up, it says where it is, and by the words of an option what it shows.
 * What is chosen takes a while to come, and a click meanwhile goes by its first line.
 */
const playable = `
  const socket = new WebSocket('ws://' + location.host + '/api/webgalsync')
  document.body.innerHTML = '<div id="FullScreenClick"></div><div id="chooseContainer"></div><div class="_Title_main_1"></div>'
  const title = document.querySelector('._Title_main_1')
  const box = document.getElementById('chooseContainer')
  let name = 'start.txt', lines = [], at = 0, text = '', isComing = false, wasClicked = false
  const open = async (file, called) => {
    lines = (await (await fetch('./game/scene/' + file)).text()).split('\\n')
    ;[name, at] = [called, 0]
    isComing = false
    next()
    if (wasClicked) next()
    wasClicked = false
  }
  const next = () => {
    if (isComing) return void (wasClicked = true)
    if (box.firstChild || at >= lines.length) return
    const [command, rest = ''] = lines[at++].replace(/;$/, '').split(/:(.*)/)
    if (command === 'end') return void document.body.append(title)
    if (command === 'changeFigure') void fetch('./game/figure/' + rest.split(' ')[0])
    if (command === 'choose')
      for (const option of rest.split('|')) {
        const [words, to] = option.split(':')
        const one = document.createElement('div')
        one.textContent = words
        one.onclick = () => { box.replaceChildren(); isComing = true; setTimeout(() => void open(to, words), 4000) }
        box.append(one)
      }
    else if (command === '') text = rest
    else next()
  }
  document.getElementById('FullScreenClick').onclick = next
  const say = () => {
    socket.send(JSON.stringify({ event: 'message', data: { command: 1, sceneMsg: { scene: name, sentence: at }, stageSyncMsg: { showText: text } } }))
    setTimeout(say, 1000)
  }
  socket.onopen = say
  socket.onmessage = ({ data }) => {
    if (JSON.parse(data).data.command !== 0) return
    title.remove()
    text = ''
    box.replaceChildren()
    void open('start.txt', 'start.txt')
  }`

describe.skipIf(noBrowser !== undefined)('in a browser', () => {
  const played = async (files: Record<string, string | Buffer>, engine: RegExp): Promise<void> => {
    await using world = await openWorld({ files, flags: { lang: 'EN' } })
    const play = (): Promise<Record<string, unknown>> =>
      world.call('play_routes', { maxSeconds: 250, maxRoutes: 2, pictures: true })
    // One at a time, whichever comes first.
    const ended = await Promise.allSettled([play(), play()])
    const [found = {}] = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    expect(ended.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: { reason: 'preview' } }])
    expect(found).toMatchObject({
      engine: expect.stringMatching(engine) as string,
      complete: true,
      routes: 2,
      missing: ['game/figure/gone.png'],
      deadEnds: [{ scene: 'go.txt' }],
      endings: [{ scene: 'stay.txt', routes: 1 }],
      stuck: [],
      neverReached: ['lonely.txt'],
      neverShown: [],
    })
    await world.call('save_filmstrip', { film: found['film'], path: 'film.html' })
    const html = readFileSync(join(world.project, 'film.html'), 'utf8')
    expect(
      storyIn(html)
        ?.scenes.map(({ name }) => name)
        .toSorted(),
    ).toEqual(['go.txt', 'start.txt', 'stay.txt'])
    expect((await world.fault('play_routes', { against: 'none.html' })).code).toBe('E_NOT_FOUND')
    expect((await world.fault('save_filmstrip', { film: 'film_x', path: 'x.html' })).code).toBe('E_NOT_FOUND')
  }
  test('every route is played; what is wrong is found and filmed', () =>
    played({ ...story, ...fakeEngine('older'), 'assets/engine.js': playable }, /in the project/))
  test.runIf(isSoak)('a page that goes round for ever ends its route, and the others are played', async () => {
    const endless = playable.replace(
      "if (command === 'end')",
      "if (rest.includes('You go')) for (;;);\n    if (command === 'end')",
    )
    await using world = await openWorld({
      files: {
        ...story,
        ...fakeEngine('older'),
        'assets/engine.js': endless,
        'game/scene/start.txt': ':First.;\nchoose:Go:go.txt|Stay:stay.txt;\n',
      },
      flags: { lang: 'EN' },
    })
    expect(await world.call('play_routes', { maxSeconds: 250, maxRoutes: 2 })).toMatchObject({
      routes: 2,
      endings: [{ scene: 'stay.txt' }],
      errors: [expect.stringContaining('did not answer any more') as string],
    })
  })
  // Software drawing on a busy machine takes minutes.
  test.runIf(isSoak)('the same in the real engine', () => played(story, /webgal-engine 4\.5\.18/))
})

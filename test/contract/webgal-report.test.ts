import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

interface Report {
  words: number
  unused: string[]
  unusedFiles: { path: string; bytes: number }[]
  unusedBytes: number
  characters: object[]
  texts: { counted: string; lines: number; words: number; cjk: number; scenes: object[] }
  variables: { name: string; flag: boolean; sets: number; reads: number; set: object[]; read: object[] }[]
}

test('files nobody uses are found in every sub-folder, with their sizes; parts of models that are used, and names with a variable in them, are not', async () => {
  await using world = await openWorld({
    files: {
      'game/config.txt': 'Title_img:title.png;\n',
      'game/background/title.png': '',
      'game/background/a/b/c/used.png': '1',
      'game/background/a/b/c/spare.png': '12345',
      'game/background/a/b/spare 2.png': '1234567',
      // Live2D: the model names its parts, a part of a part, and no more.
      'game/figure/hero/hero.model3.json': JSON.stringify({
        Version: 3,
        FileReferences: {
          Moc: 'hero.moc3',
          Textures: ['hero.2048/texture_00.png'],
          Motions: { Idle: [{ File: 'motions/idle.motion3.json' }] },
        },
      }),
      'game/figure/hero/hero.moc3': '',
      'game/figure/hero/hero.2048/texture_00.png': '',
      'game/figure/hero/motions/idle.motion3.json': '{"Sound":"../voice/idle.wav"}',
      'game/figure/hero/voice/idle.wav': '',
      'game/figure/hero/hero.2048/old.png': '123',
      // Spine: an atlas beside the skeleton names the pictures.
      'game/figure/cat/cat.skel': '',
      'game/figure/cat/cat.atlas': 'cat.png\nsize: 1,1\n',
      'game/figure/cat/cat.png': '',
      'game/figure/cat/dog.png': '1',
      // A model nobody names, with all its parts.
      'game/figure/ghost/ghost.model3.json': '{"FileReferences":{"Moc":"ghost.moc3"}}',
      'game/figure/ghost/ghost.moc3': '1',
      // A model that cannot be read: what lies beside it may belong to it.
      'game/figure/odd/odd.json': 'no json',
      'game/figure/odd/part.png': '',
      'game/figure/mood_happy.png': '',
      'game/figure/mood_sad.png': '',
      'game/figure/mood_sad.txt': '',
      'game/figure/other.png': '',
      'game/vocal/ch1/001.ogg': '',
      'game/vocal/ch1/002.ogg': '12',
      'game/scene/start.txt':
        'changeBg:a/b/c/used.png;\nchangeFigure:hero/hero.model3.json;\nchangeFigure:cat/cat.skel?type=spine;\nchangeFigure:odd/odd.json;\nchangeFigure:mood_{mood}.png;\nMara:Hi -ch1/001.ogg;\n',
    },
  })
  const report = await world.call<Report>('project_report', {})
  expect(report.unusedFiles).toEqual([
    { path: 'background/a/b/c/spare.png', bytes: 5 },
    { path: 'background/a/b/spare 2.png', bytes: 7 },
    { path: 'figure/cat/dog.png', bytes: 1 },
    { path: 'figure/ghost/ghost.moc3', bytes: 1 },
    { path: 'figure/ghost/ghost.model3.json', bytes: 39 },
    { path: 'figure/hero/hero.2048/old.png', bytes: 3 },
    { path: 'figure/other.png', bytes: 0 },
    { path: 'vocal/ch1/002.ogg', bytes: 2 },
  ])
  expect(report.unusedBytes).toBe(58)
  expect(report.unused).toEqual(report.unusedFiles.map(({ path }) => path))
})

test('what there is to translate is counted per scene and speaker, CJK characters and words apart, as it says', async () => {
  await using world = await openWorld({
    files: {
      'game/scene/start.txt': [
        '雪乃:海风，真“舒服”呢！;', // 6
        "Mara:Don't well-known stop 3 times.;", // 5 words
        ':{name}，[漢字](かんじ)です、カタカナ한글𠮷;', // 2 + 2 + 4 + 2 + 1
        'choose:走吧:two.txt|Go now:two.txt;', // 2 + 2 words
        'intro:第一章|The end;', // 3 + 2 words
        'getUserInput:name -title=你的名字 -buttonText=OK;', // 4 + 1 word
        ';注释 is not counted',
        'changeBG:误读.png;',
        'changeBg:none -next;',
      ].join('\n'),
      'game/scene/two.txt': '雪乃:好 -speaker=x;\n还是我;\n:旁白;\nend;\n',
    },
  })
  const { texts, characters, words } = await world.call<Report>('project_report', {})
  expect(texts).toMatchObject({
    counted: expect.stringContaining('each Han character') as string,
    lines: 9,
    words: 10,
    cjk: 6 + 11 + 2 + 3 + 4 + 6,
    scenes: [
      { scene: 'start.txt', lines: 6, words: 10, cjk: 26 },
      { scene: 'two.txt', lines: 3, words: 0, cjk: 6 },
    ],
  })
  expect(characters).toEqual([
    { name: '雪乃', lines: 3, words: 10, cjk: 10, scenes: 2, first: { scene: 'start.txt', line: 1 } },
    { name: 'Mara', lines: 1, words: 5, cjk: 0, scenes: 1, first: { scene: 'start.txt', line: 2 } },
  ])
  expect(words).toBe(6 + 5 + 11 + 6)
})

test('variables are told with every place that sets and reads them, and which are only switched', async () => {
  await using world = await openWorld({
    files: {
      'game/scene/start.txt':
        'setVar:met=true;\nsetVar:score=score+bonus;\nsetVar:bonus=2;\nsetVar:who=雪乃;\ngetUserInput:name -title=x;\nchoose:(met)[score>1]->a:two.txt|b:two.txt;\ncallScene:two.txt -hp=3 -next -writeReturnTo=won;\n',
      'game/scene/two.txt': 'setVar:met=false;\n{who} {name}:hi -when=met&&hp>1;\n:{who} {lost};\nreturn:score;\n',
    },
  })
  const { variables } = await world.call<Report>('project_report', {})
  const at = (scene: string, ...lines: number[]): object[] => lines.map((line) => ({ scene: `${scene}.txt`, line }))
  const one = (name: string, set: object[], read: object[], flag = false): object => ({
    name,
    flag,
    sets: set.length,
    reads: read.length,
    set,
    read,
  })
  expect(variables).toEqual([
    one('bonus', at('start', 3), at('start', 2)),
    one('hp', at('start', 7), at('two', 2)),
    one('lost', [], at('two', 3)),
    one('met', [...at('start', 1), ...at('two', 1)], [...at('start', 6), ...at('two', 2)], true),
    one('name', at('start', 5), at('two', 2)),
    one('score', at('start', 2), [...at('start', 2), ...at('start', 6), ...at('two', 4)]),
    one('who', at('start', 4), at('two', 2, 3)),
    one('won', at('start', 7), []),
  ])
})

test('of too many diagnostics the first of each severity are told, in the order of their scenes, whichever of them other scenes had a say in', async () => {
  const scene = ['jumpLabel:nowhere;', ':{never}', 'Mara：Hello;', 'changeBg:gone.png;', 'jumpLabel:nowhere else;']
  const files = Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`game/scene/s${at}.txt`, `${scene.slice((at + 3) % 5).join('\n')}\nMara:${at};\n`]),
  )
  await using world = await openWorld({ files })
  const told = async (limit: number): Promise<{ diagnostics: { severity: string; code: string }[]; truncated: boolean }> =>
    world.call('project_report', { limit })
  const all = await told(10_000)
  expect(all.truncated).toBe(false)
  expect(new Set(all.diagnostics.map(({ severity }) => severity)).size).toBeGreaterThan(1)
  expect(all.diagnostics.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['variable-never-set', 'fullwidth-colon-speaker', 'missing-file']),
  )
  for (const limit of [0, 1, 2, 5, 9, 15, 25, all.diagnostics.length - 1]) {
    const { diagnostics, truncated, ...counts } = await told(limit)
    expect(diagnostics).toEqual(all.diagnostics.slice(0, limit))
    expect(truncated).toBe(true)
    expect({ ...counts, truncated: false, diagnostics: all.diagnostics }).toEqual(all)
  }
})

import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

const files = {
  'game/background/beach.jpg': '',
  'game/figure/yukino.png': '',
  'game/bgm/Artist - Song.mp3': '',
  'game/vocal/v1.wav': '',
  'game/vocal/a - b.mp3': '',
  'game/animation/animationTable.json': '["shake","摇 晃"]',
  'game/animation/shake.json': '[]',
  'game/animation/摇 晃.json': '[]',
  'game/animation/loose.json': '[]',
  'game/config.txt': 'Game_name:test;\nTitle_img:gone.png;\nTitle_bgm:none;\nGame_Logo:beach.jpg|lost.png;\n',
  'game/scene/start.txt': '雪乃:你好;\nchangeFigure:yukino.png -id=aside;\nsetVar:known=1;\nend;\n',
}

interface Verdict {
  diagnostics: { line: number; code: string; severity: string; message: string; fixHint?: string }[]
}

/** Lines that must be told of, with the code that tells it. */
const wrong: readonly [string, string][] = [
  ['changeFigure:yukino.png -duration=1-next;', 'glued-value'],
  ['setTransform:{"alpha":1} -target=fig-left-next;', 'glued-value'],
  ['miniAvatar:yukino.png -left;', 'argument-of-other'],
  ['bgm:Artist - Song.mp3;', 'file-name-cut'],
  ['雪乃:你好 -a - b.mp3;', 'file-name-cut'],
  ['choose:他说:走:start.txt;', 'choice-extra-colon'],
  ['choose:"走" -> here|留:start.txt;', 'choice-arrow'],
  ['"走" -> here', 'foreign-syntax'],
  ['changeFigure:close;', 'use-none'],
  ['setAnimation:loose -target=fig-left;', 'animation-not-in-table'],
  ['setAnimation:没有 这个;', 'missing-animation'],
  ['changeFigure:yukino.png -enter=nothing;', 'missing-animation'],
  ['setTransition: -target=fig-left -exit=nothing;', 'missing-animation'],
  ['雪乃:我来了;我看见了。;', 'text-after-semicolon'],
  ['Mara:I came; I saw it all', 'text-after-semicolon'],
  ['雪乃：你好;', 'fullwidth-colon-speaker'],
  ['setTransform:{"alpha":1} -target=fig-lfet;', 'bad-target-near'],
  ['setTransform:{"alpha":1} -target=somewhere;', 'bad-target'],
  ['unlockCg:;', 'empty-content'],
  ['getUserInput:;', 'empty-content'],
  ['changeFigure:立ち絵ファイルを選択;', 'placeholder'],
  ['bgm: Choose a BGM;', 'placeholder'],
  ['changeBg:배경 이미지 선택;', 'placeholder'],
  ['setAnimation:选择动画文件;', 'placeholder'],
  ['narrator "Hello there"', 'foreign-syntax'],
  ['  narrator "She was there at 9:00."', 'foreign-syntax'],
  ['harper:worried.png "I just left."', 'foreign-syntax'],
  ['"Show: the glass" -> here', 'foreign-syntax'],
  ['  jump:to_the_end', 'invented-command'],
  ['setAnimation:Choose animation file', 'placeholder'],
  ['{nobody}:Hello.;', 'variable-never-set'],
  ['menu:', 'invented-command'],
  ['stopmusic;', 'invented-command'],
  ['play music "waves.mp3"', 'foreign-syntax'],
  ['$ love += 1', 'foreign-syntax'],
  ['choose A:start.txt|B:start.txt;', 'missing-colon'],
  ['choose A:start.txt;', 'missing-colon'],
  ['label here', 'missing-colon'],
  [':text -when=known＞1;', 'fullwidth-expression'],
  [':text -when=（known>1）;', 'fullwidth-expression'],
  ['choose:(known＝＝1)->走:start.txt;', 'fullwidth-expression'],
  ['setTransform:[{"alpha":1}];', 'bad-json-shape'],
  ['setTempAnimation:{"alpha":1};', 'bad-json-shape'],
  ['setTransform:{"aplha":1};', 'misspelt-json-key'],
  ['setTransform:{"positon":{"x":1}};', 'misspelt-json-key'],
  ['setTransform:{"scale":1.5};', 'bad-json-value'],
  ['setTransform:{"ease":"bouncy"};', 'bad-value'],
  ['setTempAnimation:[{"alhpa":1,"duration":0}];', 'misspelt-json-key'],
  ['changeFigure:yukino.png -transform=[];', 'bad-json-shape'],
  ['changeFigure:yukino.png-transform={"alpha":1};', 'glued-content'],
  ['changeFigure:yukino.png-left;', 'glued-content'],
  ['雪乃:走吧 - 现在;', 'swallowed-text'],
]

/** Lines of which nothing must be told, for all that they look like. */
const fine = [
  '雪乃:导数 \\frac{d}{dx} 与 x^{n};',
  '雪乃:走吧 -;',
  '雪乃:走吧 - ;',
  '雪乃:他说：“快走”;',
  '他说：“快走”;',
  '雪乃:你好; 换表情',
  '雪乃:你好; // 换表情。',
  'changeFigure:none -id=aside;',
  'setTransform:{"alpha":1,"position":{"x":-5},"bevelRed":3,"bloomBlur":1} -target=aside;',
  'setTransform:{"alpha":null};',
  'setAnimation:摇 晃 -target=bg-main;',
  'changeBg:beach.jpg -enter=shake;',
  'choose:a\\:b:start.txt|(known>1)->走:start.txt;',
  'narrator:"Hello there";',
  '"Hello there";',
  'Show me the way, please;',
  'jumpLabel:nowhere-at-all -when=known>1;',
].join('\n')

test('faults that real games have are told, each with its own words', async () => {
  await using world = await openWorld({ files })
  const told: [string, string][] = []
  for (const [line, code] of wrong) {
    const { diagnostics } = await world.call<Verdict>('validate_script', { content: `${line}\nlabel:here;` })
    const mine = diagnostics.filter((one) => one.line === 1).map((one) => one.code)
    told.push([line, mine.includes(code) ? code : mine.join(' ')])
  }
  expect(told).toEqual(wrong)
})

test('what only looks like a fault is left alone', async () => {
  await using world = await openWorld({ files })
  const { diagnostics } = await world.call<Verdict>('validate_script', { content: fine })
  expect(diagnostics.filter(({ severity, code }) => severity !== 'info' && code !== 'missing-label')).toEqual([])
  const jump = await world.call<Verdict>('validate_script', { content: 'jumpLabel:gone;\n:still reached;' })
  expect(jump.diagnostics.map(({ code }) => code)).toEqual(['missing-label'])
  const left = await world.call<Verdict>('validate_script', { content: 'miniAvatar:yukino.png -left;' })
  expect(left.diagnostics[0]?.fixHint).toBeUndefined()
  const close = await world.call<Verdict>('validate_script', { content: 'changeFigure:close;' })
  expect(close.diagnostics[0]?.fixHint).toContain('changeFigure:none')
})

test('config.txt, the table of animations and the flowchart are looked at with the game', async () => {
  await using world = await openWorld({
    files: {
      ...files,
      'game/animation/animationTable.json': '["shake","摇 晃","loose",\n"absent","old"]',
      'game/animation/old.json': '{"version":2,"keyframes":[]}',
      'game/flowchart.json':
        '{"flowcharts":[{"id":"main","nodes":[{"id":"1","data":{"sceneName":"start.txt"}},{"id":"2","data":{"sceneName":"no.txt"}}]}]}',
    },
    config: { webgalVersion: '4.6.5' },
  })
  const { diagnostics } = await world.call<{ diagnostics: { scene: string; line: number; code: string }[] }>('project_report', {})
  expect(diagnostics.map(({ scene, line, code }) => [scene, line, code])).toEqual([
    ['config.txt', 2, 'missing-file'],
    ['config.txt', 4, 'missing-file'],
    ['animation/animationTable.json', 2, 'missing-file'],
    ['flowchart.json', 1, 'missing-file'],
    ['animation/old.json', 1, 'argument-needs-engine'],
  ])
})

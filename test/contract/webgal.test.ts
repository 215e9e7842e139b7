import { expect, test } from 'vitest'
import { messages } from '../../src/toolsets/webgal/messages.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { proves } from '../support/proof.ts'
import { openWorld, type World } from '../support/world.ts'

const files = {
  'game/background/beach.jpg': '',
  'game/background/Night.png': '',
  'game/background/inn/room one.webp': '',
  'game/figure/yukino.png': '',
  'game/figure/model/hero.json': '{}',
  'game/bgm/waves.mp3': '',
  'game/vocal/v1.wav': '',
  'game/animation/animationTable.json': '["shake"]',
  'game/animation/shake.json': '[]',
  'game/config.txt': 'Game_name:test;\nMy_key:1;\n',
  'game/scene/start.txt': 'setVar:known=1;\nend;\n',
  'game/scene/part/two.txt': 'end;\n',
}

interface Diagnostic {
  line: number
  kind: string
  message: string
  fixHint?: string
  severity: string
  code: string
}
interface Verdict {
  valid: boolean
  diagnostics: Diagnostic[]
}

const check = (world: World, content: string): Promise<Verdict> => world.call<Verdict>('validate_script', { content })
const codes = ({ diagnostics }: Verdict): string[] => diagnostics.map(({ code }) => code)

proves(
  'vector.validate',
  'the contract’s vectors: no semicolon, an unknown command, a missing resource with the nearest name',
  async () => {
    await using world = await openWorld({ files })
    const bare = await check(world, '雪乃:海风真舒服呢')
    expect(bare).toMatchObject({ valid: true, diagnostics: [{ line: 1, kind: 'syntax', code: 'missing-semicolon' }] })
    expect(await check(world, 'showPicture:beach.jpg;')).toMatchObject({
      valid: false,
      diagnostics: [{ line: 1, kind: 'syntax' }],
    })
    const missing = await check(world, 'changeBg:baech.jpg;')
    expect(missing).toMatchObject({ valid: false, diagnostics: [{ kind: 'resource' }] })
    expect(missing.diagnostics[0]?.fixHint).toContain('beach.jpg')
    expect(await check(world, 'changeBg: beach.jpg -next;\n雪乃: 海风真舒服呢;\n')).toEqual({ valid: true, diagnostics: [] })
  },
)

test.each([
  ['changeBG:beach.jpg;', 'miscased-command'],
  ['changeBg :beach.jpg;', 'spaced-command'],
  [' changeBg:beach.jpg;', 'spaced-command'],
  ['end ;', 'spaced-command'],
  ['chnageBg:beach.jpg;', 'misspelt-command'],
  ['showPicture:beach.jpg;', 'unknown-command'],
  ['setBgAni:shake;', 'obsolete-command'],
  ['if:known==1;', 'invented-command'],
  ['playMusic:waves.mp3;', 'invented-command'],
  ['if (known == 1) {;', 'not-webgal'],
  ['// a comment;', 'not-a-comment'],
  ['changeBg beach.jpg;', 'missing-colon'],
  ['changeBg：beach.jpg;', 'fullwidth-colon'],
  ['pixiInit -next;', 'bare-command-with-more'],
  ['changeFigure:yukino.png -right-next;', 'glued-arguments'],
  ['changeFigure:-right yukino.png;', 'argument-as-content'],
  ['雪乃:走吧 - 现在;', 'swallowed-text'],
  ['setTransform:{"position": {"x": -50}} -target=fig-left;', 'cut-json'],
  ['changeBg:beach.jpg -transform={"position": {"x": -50}};', 'cut-json'],
  ['setTransform:{"position":{"x":50};', 'broken-json'],
  ['changeBg:night.png;', 'wrong-case'],
  ['changeBg:beach.png;', 'wrong-extension'],
  ['changeBg:yukino.png;', 'wrong-folder'],
  ['changeBg:nothing-like-it.png;', 'missing-file'],
  ['雪乃:你好 -v2.wav;', 'missing-file-near'],
  ['changeScene:nowhere-at-all.txt;', 'missing-file'],
  ['changeScene:;', 'missing-target'],
  ['jumpLabel:nowhere;', 'missing-label'],
  ['setAnimation:dance;', 'missing-animation'],
  ['setVar:a==1;', 'double-equals'],
  ['setVar:a;', 'no-assignment'],
  [':text -when=known=1;', 'single-equals'],
  [':text -when=(known==1;', 'broken-expression'],
])('what the engine would misread or fail on makes a script invalid: %s', async (line, code) => {
  await using world = await openWorld({ files })
  const verdict = await check(world, line)
  expect(verdict.valid).toBe(false)
  expect(codes(verdict)).toContain(code)
})

test.each([
  ['雪乃:你好；', 'fullwidth-semicolon'],
  ['changeFigure:yukino.png -rihgt;', 'misspelt-argument'],
  ['changeFigure:yukino.png -sparkle;', 'unknown-argument'],
  ['changeFigure:yukino.png -zIndex=top;', 'bad-number'],
  ['setTransform:{} -ease=bouncy;', 'bad-value'],
  ['pixiPerform:sunshine;', 'bad-value'],
  ['choose:走:|留:here|占位:选择场景文件;', 'choice-without-target'],
  ['choose:走:|留:here|占位:选择场景文件;', 'choice-label'],
  ['choose:走:|留:here|占位:选择场景文件;', 'choice-placeholder'],
  ['label:a;\nlabel:a;', 'duplicate-label'],
  ['changeScene:start.txt;\n:never;', 'unreachable'],
  [':{unheard};', 'variable-never-set'],
  ['helloWorld: something;', 'perhaps-a-command'],
  ['END;', 'like-a-command'],
  ['\uFEFF:text;', 'byte-order-mark'],
  ['\uFEFFchangeBg:beach.jpg;', 'byte-order-mark'],
])('advice leaves a script valid: %s (%s)', async (line, code) => {
  await using world = await openWorld({ files })
  const verdict = await check(world, line)
  expect(verdict.valid).toBe(true)
  expect(codes(verdict)).toContain(code)
})

proves('webgal.validate', 'what the engine accepts is never an error', async () => {
  await using world = await openWorld({ files })
  const fine = [
    'changeBg:{known}.png;',
    'changeBg:https://example.com/a.png;',
    'changeBg:none;',
    'changeBg:;',
    'changeBg:inn/room one.webp -duration=500;',
    'changeBg:inn\\room one.webp;',
    'changeBg:inn/room%20one.webp;',
    'changeFigure:model/hero.json?type=spine -left -next;',
    'changeFigure:none -id=aside;',
    'playEffect:v1.wav -id=loop;',
    'bgm:waves.mp3 -volume=50 -enter=1000;',
    '雪乃:你好 -v1.wav -volume=80 -fontSize=large -left;',
    '雪乃:在……-——吗;',
    'Alice:Hello there, it is five o’clock. -next;',
    'narrator:plain text;',
    'Mr. Smith:Wait for me;',
    ':a -v1.wav -when={x}>1;',
    'intro:one|two|three -hold -fontColor=rgba(255,255,255,1);',
    'setVar:x=random(1,6);',
    'setVar:name=雪乃 -global;',
    ':{name}，{x}，{$stage.bgm.src}，\\{not\\};',
    'getUserInput:who -title=名字 -buttonText=好;',
    ':{who};',
    ':{My_key};',
    'choose:(x>1)[x<9]->走:start.txt|留下:here;',
    'label:here;',
    'jumpLabel:here -when=x>1&&name=="雪乃";',
    'callScene:part/two.txt -anything=1 -writeReturnTo=back;',
    ':{back};',
    'setAnimation:shake -target=fig-left;',
    'setTransform:{"position":{"x":-50,"y":0},"scale":{"x":1.2,"y":1.2}} -target=fig-left -duration=300 -ease=easeInOut;',
    'setTempAnimation:[{"alpha":0,"duration":0},{"alpha":1,"duration":500}] -target=bg-main;',
    'wait:500 -nobreak;',
    'filmMode:on;',
    'setTextbox:hide;',
    'pixiPerform:rain;',
    'pixiInit;',
    'showVars;',
    'unlockCg:beach.jpg -name=海边 -series=1;',
    'applyStyle:A->B,C->D;',
    'say:text -speaker=雪乃 -clear;',
    ';a comment with changeBG:x',
    '',
    'choose:去:start.txt',
    '  |回:here',
    '  -next;',
    'changeScene:start.txt -when=x>1;',
    ':still reached;',
    'end;',
  ].join('\n')
  const verdict = await check(world, fine)
  expect(codes(verdict).filter((code) => code !== 'newer-feature')).toEqual([])
  expect(verdict.valid).toBe(true)
  await using newest = await openWorld({ files, config: { webgalVersion: '4.6.6' } })
  expect(await check(newest, fine)).toEqual({ valid: true, diagnostics: [], engine: '4.6.6' })
})

test('a script in its place: the game is found from the path, and repairs are counted by it', async () => {
  await using world = await openWorld({
    files: { 'public/game/background/a.png': '', 'public/game/scene/x.txt': 'changeBg:a.png;\nchangeBg:b.png;\n' },
  })
  const verdict = await world.call<Verdict>('validate_script', { path: 'public/game/scene/x.txt' })
  expect(verdict.diagnostics).toMatchObject([{ line: 2, kind: 'resource' }])
})

proves(
  'errors.lint-fail',
  'errors: no such file, not UTF-8 with the encoding it looks like, both or neither of path and content',
  async () => {
    await using world = await openWorld({ files })
    world.write(
      'game/scene/gbk.txt',
      Buffer.from('d1a9c4cb3ac4e3bac3a3ac cec2c8aad5e6cae6b7feb5c4a3ac ced2c3c7d7dfb0c9'.replaceAll(' ', ''), 'hex'),
    )
    world.write('game/scene/wide.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('雪乃:你好;', 'utf16le')]))
    expect((await world.fault('validate_script', { path: 'game/scene/none.txt' })).code).toBe('E_NOT_FOUND')
    const gbk = await world.fault('validate_script', { path: 'game/scene/gbk.txt' })
    expect([gbk.code, gbk.details?.['looksLike']]).toEqual(['E_ENCODING', 'GBK (GB18030)'])
    expect((await world.fault('validate_script', { path: 'game/scene/wide.txt' })).details?.['looksLike']).toBe('UTF-16LE')
    world.write('game/scene/noise.txt', Buffer.from([0x61, 0, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69]))
    expect((await world.fault('validate_script', { path: 'game/scene/noise.txt' })).code).toBe('E_PARSE_FAIL')
    world.write('game/video', 'a file in the place of a folder')
    expect((await world.fault('validate_script', { content: 'playVideo:x.mp4;' })).code).toBe('E_LINT_FAIL')
    expect((await world.fault('validate_script', {})).code).toBe('E_BAD_ARGS')
    expect((await world.fault('validate_script', { path: 'game/scene/start.txt', content: 'end;' })).code).toBe('E_BAD_ARGS')
    expect((await world.fault('validate_script', { path: '../x.txt' })).code).toBe('E_DENY_PATH')
  },
)

proves('compat.languages', 'both languages say everything', async () => {
  for (const message of Object.values(messages)) {
    const holes = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([hole]) => hole).toSorted()
    expect(holes(message.ZH)).toEqual(holes(message.EN))
    if ('fix' in message) expect(holes(message.fix.ZH)).toEqual(holes(message.fix.EN))
    expect(message.ZH).toMatch(/\p{Script=Han}/u)
    expect(message.EN).not.toMatch(/\p{Script=Han}/u)
  }
  await using chinese = await openWorld({ files })
  const english = openRuntime({ project: chinese.project, environment: { HANDRAIL_LANG: 'EN' } })
  expect((await check(chinese, 'changeBG:beach.jpg;')).diagnostics[0]?.message).toMatch(/\p{Script=Han}/u)
  const caller = { surface: 'cli', client: 'test', session: 'sess_test', role: 'agent' } as const
  const { output } = await english.call('validate_script', { content: 'changeBG:beach.jpg;' }, caller)
  expect((output as Verdict).diagnostics[0]?.message).toMatch(/^[\x20-\x7e“”]+$/)
  await english.close()
})

test('commands of a derivative engine are declared by the project', async () => {
  await using world = await openWorld({ files, config: { webgalCommands: ['showPicture'] } })
  expect(await check(world, 'showPicture:beach.jpg -fast;')).toEqual({ valid: true, diagnostics: [] })
})

proves('compat.binaries', 'a resource needs only to be there: what is in it does not matter, nor how large it is', async () => {
  await using world = await openWorld({ files: { 'game/background/a.png': Buffer.from([0xff, 0xfe, 0, 1]) } })
  expect(await check(world, 'changeBg:a.png;')).toEqual({ valid: true, diagnostics: [] })
})

proves('webgal.resources', 'resources are listed with their sub-folders, relative to where scripts look for them', async () => {
  await using world = await openWorld({ files })
  expect(await world.call('list_project_resources', {})).toEqual({
    backgrounds: ['Night.png', 'beach.jpg', 'inn/room one.webp'],
    figures: ['model/hero.json', 'yukino.png'],
    bgm: ['waves.mp3'],
    vocals: ['v1.wav'],
    scenes: ['part/two.txt', 'start.txt'],
  })
})

proves('webgal.character', 'a character is written down once, undone like any change, and never over another', async () => {
  await using world = await openWorld({ files })
  const mara = { name: '雪乃', imageFile: 'yukino.png', defaultExpression: 'smile' }
  expect(await world.call('generate_character_profile', mara)).toEqual({ success: true })
  expect(await world.call('generate_character_profile', mara)).toEqual({ success: true })
  expect(JSON.parse(world.read('game/characters.json'))).toEqual([mara])
  expect((await world.fault('generate_character_profile', { ...mara, imageFile: 'model/hero.json' })).code).toBe('E_CONFLICT')
  const missing = await world.fault('generate_character_profile', { name: 'x', imageFile: 'yukina.png' })
  expect([missing.code, missing.details?.['nearest']]).toEqual(['E_NOT_FOUND', 'yukino.png'])
  expect(world.runtime.snapshots(10, 'game/characters.json').length).toBeGreaterThan(0)
  world.write('game/characters.json', 'not a list')
  expect((await world.fault('generate_character_profile', { name: 'y', imageFile: 'yukino.png' })).code).toBe('E_PARSE_FAIL')
})

test('the route map: ways, endings, what is never reached, what is missing, what decides', async () => {
  await using world = await openWorld({
    files: {
      'game/scene/start.txt':
        'choose:Go:go.txt|(brave>1)->Stay:stay.txt|Here:in;\nlabel:in;\ncallScene:aside.txt;\nchangeScene:gone.txt;\n',
      'game/scene/go.txt': ':on;\nend;\n',
      'game/scene/stay.txt': ':quiet;\n',
      'game/scene/aside.txt': ':hm;\n',
      'game/scene/lost.txt': 'changeScene:go.txt;\n',
    },
  })
  const map = await world.call('scene_graph', { format: 'svg' })
  expect(map).toMatchObject({
    start: 'start.txt',
    missing: [{ from: 'start.txt', line: 4, target: 'gone.txt' }],
    unreachable: ['lost.txt'],
    deadEnds: ['stay.txt'],
    gates: [{ variable: 'brave', scene: 'start.txt', line: 1, condition: 'brave>1' }],
  })
  expect(map['drawing']).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
  expect((await world.call<{ drawing: string }>('scene_graph', { format: 'mermaid' })).drawing).toMatch(/^flowchart TD\n/)
})

test('the report: every diagnostic, unused files, who says how much', async () => {
  await using world = await openWorld({
    files: { ...files, 'game/scene/talk.txt': 'Mara:One two three.;\n:narration;\nMara:你好;\ngo on;\nchangeBG:beach.jpg;\n' },
  })
  const report = await world.call('project_report', {})
  expect(report).toMatchObject({
    valid: false,
    scenes: 3,
    errors: 1,
    characters: [{ name: 'Mara', lines: 3, words: 7 }],
    diagnostics: [{ scene: 'talk.txt', line: 5, code: 'miscased-command' }],
  })
  expect(report['unused']).toEqual([
    'background/Night.png',
    'background/beach.jpg',
    'background/inn/room one.webp',
    'figure/model/hero.json',
    'figure/yukino.png',
    'bgm/waves.mp3',
    'vocal/v1.wav',
  ])
})

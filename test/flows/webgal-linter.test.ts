import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { openWorld, runCli } from '../support/world.ts'

/** “雪乃:你好，我们的;” and a command in wrong letters, as Windows in China saves it. */
const gbk = Buffer.from('d1a9c4cb3ac4e3bac3a3acced2c3c7b5c43b0a6368616e676542473a782e706e673b0a', 'hex')
const english = { env: { HANDRAIL_LANG: 'EN' } }

test('many games below one folder are each looked at and named; other encodings are named, judged and converted, which can be undone', async () => {
  await using world = await openWorld({
    files: {
      'games/one/game/background/a.png': '',
      'games/one/game/scene/start.txt': 'changeBg:a.png;\n',
      'games/one/index.html': '<script src="./assets/index-CC7KTie-.js"></script>',
      'games/one/assets/index-CC7KTie-.js': '',
      'games/two/game/background/b.png': '',
      'games/two/game/scene/start.txt': gbk,
    },
  })
  const { project } = world
  const scene = join(project, 'games/two/game/scene/start.txt')
  const { code, out } = await runCli(project, ['webgal', 'validate'], english)
  expect(code).toBe(1)
  expect(out).toMatch(/games\/one\/game +WebGAL 4\.6\.5 \(games\/one\/assets\/index-CC7KTie-\.js\)\nFine: 1 scenes/)
  expect(out).toMatch(/games\/two\/game +engine unknown/)
  expect(out).toMatch(/1 +error +The file is GBK/)
  expect(out).toMatch(/2 +error +Commands are case-sensitive/)
  expect(readFileSync(scene).equals(gbk)).toBe(true)
  const alone = await runInside(project, ['webgal', 'validate', join(project, 'games/one')], english)
  expect(alone.code).toBe(0)
  expect((await runInside(project, ['webgal', 'convert'], english)).out).toContain('1 files are UTF-8 now')
  expect(readFileSync(scene, 'utf8')).toBe('雪乃:你好，我们的;\nchangeBG:x.png;\n')
  expect((await runInside(project, ['undo', '--last', '--yes'])).code).toBe(0)
  expect(readFileSync(scene).equals(gbk)).toBe(true)
})

test('a scene, a folder of scenes or game/ is enough; equal ones are told together; every format tells the same', async () => {
  await using world = await openWorld({
    files: {
      'game/figure/a.png': '',
      'game/scene/start.txt': 'changeFigure:close;\n'.repeat(6),
      'game/scene/part/two.txt': ':text\nchangeBG:x.png;\n',
    },
  })
  const { project } = world
  const validate = (...words: string[]): ReturnType<typeof runInside> =>
    runInside(project, ['webgal', 'validate', ...words], english)
  const whole = (await validate(join(project, 'game'))).out
  expect(whole).toContain('6 times the same')
  expect(whole.match(/use|none/g)?.length).toBeLessThan(6)
  expect((await validate(join(project, 'game'), '--all')).out.match(/There is no file/g)).toHaveLength(6)
  const part = await validate(join(project, 'game/scene/part'))
  expect(part.out).toContain('1 errors')
  expect(part.out).not.toContain('start.txt')
  const file = join(project, 'game/scene/part/two.txt')
  expect((await validate(file, '--format', 'github')).out).toMatch(
    /^::error file=.*two\.txt,line=2,col=1,title=miscased-command::.+\n$/,
  )
  const sarif = JSON.parse((await validate(file, '--format', 'sarif', '--all')).out) as {
    runs: { results: { ruleId: string; level: string; locations: { physicalLocation: { region: { startLine: number } } }[] }[] }[]
  }
  expect(sarif.runs[0]?.results.map(({ ruleId, level }) => [ruleId, level])).toEqual([
    ['miscased-command', 'error'],
    ['missing-semicolon', 'note'],
  ])
  expect(JSON.parse((await validate(file, '--format', 'json')).out)).toMatchObject({
    failed: true,
    errors: 1,
    diagnostics: [{ path: 'game/scene/part/two.txt', line: 2, code: 'miscased-command' }],
  })
  expect((await validate(file, '--format', 'xml')).code).toBe(2)
})

test('a folder that is too deep to be looked at is told, and labels that are not there are listed', async () => {
  const deep = Array.from({ length: 24 }, (_, index) => `d${index}`).join('/')
  await using world = await openWorld({
    files: {
      'game/scene/start.txt': 'jumpLabel:gone;\nchoose:a:lost|b:here;\nlabel:here;\n',
      [`game/scene/${deep}/x.txt`]: 'changeBG:x.png;\n',
      'game/figure/model/hero.json': '{}',
      'game/figure/model/part.png': '',
      'game/figure/other/spare.png': '',
      'game/scene/two.txt': 'changeFigure:model/hero.json;\n',
    },
    config: { lang: 'EN' },
  })
  const report = await world.call<{ valid: boolean; leftOut: string[]; unused: string[] }>('project_report', {})
  expect(report.leftOut.join()).toContain('folders deep')
  expect(report.unused).toEqual(['figure/other/spare.png'])
  const map = await world.call<{ missingLabels: unknown }>('scene_graph', {})
  expect(map.missingLabels).toEqual([
    { from: 'start.txt', line: 1, label: 'gone' },
    { from: 'start.txt', line: 2, label: 'lost' },
  ])
})

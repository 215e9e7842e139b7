import { expect, test } from 'vitest'
import { versionOfProgram } from '../../src/toolsets/webgal/engine-version.ts'
import { openWorld, type World } from '../support/world.ts'

interface Verdict {
  valid: boolean
  engine?: string
  diagnostics: { line: number; code: string; severity: string; message: string }[]
}

const check = (world: World, content: string): Promise<Verdict> => world.call<Verdict>('validate_script', { content })
const codes = ({ diagnostics }: Verdict): string[] => diagnostics.map(({ code }) => code)

const page = (name: string): string => `<html><script type="module" crossorigin src="./assets/${name}"></script></html>`
/** The part of an engine's program that says its version, as the builds have it. */
const program = (version: string): string =>
  `const q=1,aB$="${version}",z9={version:aB$,x:1};console.log(\`WebGAL v\${z9.version}\`)`
const older = (version: string): string => `var a={version:"WebGAL ${version}",contributors:[]}`
const scene = {
  'game/scene/start.txt': ':text;\n',
  'game/animation/fade.json': '[]',
  'game/animation/animationTable.json': '["fade"]',
}

test('which engine a game has is found from the files beside it, the surest first', async () => {
  const games: [string, Record<string, string>, string | undefined][] = [
    ['a manifest', { 'webgal-engine.json': '{"type":"official","version":"4.6.4","webgalVersion":"4.6.4"}' }, '4.6.4'],
    [
      'a derivative',
      { 'webgal-engine.json': '{"type":"other","name":"Mine","version":"1.2.3","webgalVersion":"4.5.20"}' },
      '4.5.20',
    ],
    ['a program', { 'index.html': page('index-abc.js'), 'assets/index-abc.js': program('4.6.1') }, '4.6.1'],
    ['a program before 4.5.13', { 'index.html': page('index-1.js'), 'assets/index-1.js': older('4.5.12') }, '4.5.12'],
    ['the first ones', { 'index.html': page('index.5e.js'), 'assets/index.5e.js': older('4.2.11') }, '4.2.11'],
    ['without a page', { 'assets/index.es-1.js': program('9.9.9'), 'assets/index-2.js': program('4.5.13') }, '4.5.13'],
    [
      'an official name',
      { 'index.html': page('index-CC7KTie-.js'), 'assets/index-CC7KTie-.js': 'minified beyond knowing' },
      '4.6.5',
    ],
    ['a package', { 'package.json': '{"dependencies":{"webgal-engine":"^4.5.18"}}' }, '4.5.18'],
    ['a project of Terre', {}, undefined],
    [
      'nonsense',
      { 'webgal-engine.json': '{"webgalVersion":7}', 'package.json': '[', 'index.html': 'x'.repeat(70_000) },
      undefined,
    ],
  ]
  const found: [string, string | undefined][] = []
  for (const [name, more] of games) {
    await using world = await openWorld({ files: { ...scene, ...more } })
    found.push([name, (await check(world, ':text;')).engine])
  }
  expect(found).toEqual(games.map(([name, , version]) => [name, version]))
  await using exported = await openWorld({
    files: {
      'resources/app/public/game/scene/start.txt': ':text;\n',
      'resources/app/public/index.html': page('index-x.js'),
      'resources/app/public/assets/index-x.js': program('4.5.17'),
    },
  })
  expect((await check(exported, ':text;')).engine).toBe('4.5.17')
})

test('a program of a megabyte that only nearly says it is read once through', () => {
  const much = '{version:"4"},x={version:y,'.repeat(40_000)
  expect(versionOfProgram(much)).toBeUndefined()
  expect(versionOfProgram(`${much}${program('4.6.0')}`)).toBe('4.6.0')
})

test('each engine has its own language; the setting is obeyed before the files', async () => {
  const beside = { ...scene, 'webgal-engine.json': '{"type":"official","webgalVersion":"4.6.6"}' }
  /** A line, and what each engine makes of it: 4.2.11, 4.5.18, 4.6.6, unknown. */
  const lines: [string, ...(string | undefined)[]][] = [
    ['setBgAni:fade;', undefined, 'obsolete-command', 'obsolete-command', 'obsolete-command'],
    ['setFigAni:fade -left;', undefined, 'obsolete-command', 'obsolete-command', 'obsolete-command'],
    ['setBgTransform:x;', undefined, 'obsolete-command', 'obsolete-command', 'obsolete-command'],
    ['setBgFilter:x;', undefined, 'obsolete-command', 'obsolete-command', 'obsolete-command'],
    ['return:1;', 'command-needs-engine', 'command-needs-engine', undefined, undefined],
    ['return;', 'command-needs-engine', 'command-needs-engine', undefined, undefined],
    ['return -when=1;', undefined, undefined, 'missing-colon', 'missing-colon'],
    ['changeFigureDiff:none;', 'command-needs-engine', 'command-needs-engine', undefined, undefined],
    ['wait:1 -nobreak;', 'argument-needs-engine', 'argument-needs-engine', undefined, 'newer-feature'],
    ['setVar:a=1 -local;', 'argument-needs-engine', 'argument-needs-engine', undefined, 'newer-feature'],
    ['changeFigure:none -left13;', 'argument-needs-engine', 'argument-needs-engine', undefined, 'newer-feature'],
    [
      'setTransform:{"alpha":1} -target=fig-left13;',
      'argument-needs-engine',
      'argument-needs-engine',
      undefined,
      'newer-feature',
    ],
    [
      'setTransform:{"alpha":1} -transformFrom=current;',
      'argument-needs-engine',
      'argument-needs-engine',
      undefined,
      'newer-feature',
    ],
    ['setTempAnimation:[] -relative -inherit;', 'argument-needs-engine', 'argument-needs-engine', undefined, 'newer-feature'],
    [
      'setTempAnimation:{"version":2,"keyframes":[{"time":0,"alpha":0}]};',
      'argument-needs-engine',
      'argument-needs-engine',
      undefined,
      'newer-feature',
    ],
    ['callScene:start.txt -hp=1 -writeReturnTo=r;', 'argument-needs-engine', 'argument-needs-engine', undefined, 'newer-feature'],
    ['a:b -vocal=none.ogg;', 'argument-needs-engine', 'argument-needs-engine', 'missing-file', 'newer-feature'],
    ['a:b -x.opus;', 'argument-needs-engine', 'argument-needs-engine', 'missing-file', 'newer-feature'],
    ['choose:a:start.txt\n  |b:start.txt;', 'perhaps-continued-line', 'perhaps-continued-line', undefined, 'newer-feature'],
    ['changeFigure:none\n -left;', 'continued-line-needs-engine', 'continued-line-needs-engine', undefined, 'newer-feature'],
    ['a:C:\\dir\\\nb:c;', 'perhaps-continued-line', 'perhaps-continued-line', undefined, 'newer-feature'],
  ]
  const found = lines.map(([line]): [string, ...(string | undefined)[]] => [line])
  for (const [column, version] of ['4.2.11', '4.5.18', undefined, ''].entries()) {
    const files = version === '' ? scene : beside
    await using world = await openWorld({ files, config: version ? { webgalVersion: version } : {} })
    for (const [index, [line]] of lines.entries()) {
      const verdict = await check(world, line)
      expect(verdict.engine).toBe(version === '' ? undefined : (version ?? '4.6.6'))
      const wanted = lines[index]?.[column + 1]
      const told = codes(verdict).filter((code) => code !== 'missing-semicolon')
      found[index]?.push(wanted !== undefined && told.includes(wanted) ? wanted : told[0])
    }
  }
  expect(found).toEqual(lines)
})

test('what needs a newer engine says which, and which this game has', async () => {
  await using world = await openWorld({ files: scene, config: { webgalVersion: '4.5.18', lang: 'EN' } })
  const { diagnostics, valid } = await check(world, 'wait:1 -nobreak;\nreturn:1;')
  expect(diagnostics.map(({ message }) => message)).toEqual([
    'wait -nobreak needs engine ≥ 4.5.20; this game has 4.5.18, which does not heed it',
    'return needs engine ≥ 4.6.3; this game has 4.5.18, which takes the line for dialogue',
  ])
  expect(valid).toBe(false)
})

test('arguments of a derivative engine are declared like its commands; undeclared ones are a note there', async () => {
  await using world = await openWorld({
    files: { ...scene, 'webgal-engine.json': '{"type":"fork","webgalVersion":"4.5.18"}' },
    config: { webgalArguments: ['changeFigure.mood', '*.tone'] },
  })
  expect((await check(world, 'changeFigure:none -mood=sad;\na:b -tone=low;')).diagnostics).toEqual([])
  expect((await check(world, 'changeBg:none -mood=sad;')).diagnostics).toMatchObject([
    { code: 'unknown-argument-of-fork', severity: 'info' },
  ])
})

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
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

/** The engine as the registry has it: what its page loads is three megabytes. */
const npmEngine = dirname(createRequire(import.meta.url).resolve('webgal-engine/package.json'))
const builtProgram = readdirSync(join(npmEngine, 'dist/assets')).find((name) => /^index-\w+\.js$/.test(name)) ?? ''
const npmFile = (name: string): Buffer => readFileSync(join(npmEngine, name))
const manifest = (version: string): string => JSON.stringify({ type: 'official', version, webgalVersion: version })
const under = (folder: string, files: Record<string, string | Buffer>): Record<string, string | Buffer> =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]))

test('which engine a game has is found from the files beside it, the surest first', async () => {
  const official = ['6863a3b8', 'MdzLVmuf', 'C-qIUAWt', 'D_U02h3J', 'eHBihDHv', 'R1tKotR6', 'CC7KTie-', 'Dcp3ZA1M']
  const named = ['4.5.18', '4.5.19', '4.5.20', '4.6.0', '4.6.1', '4.6.4', '4.6.5', '4.6.6']
  /** The shape, its files, and the version with what says so; `≥` where only the game's own content does. */
  const games: [string, Record<string, string | Buffer>, string | undefined][] = [
    ['a manifest', { ...scene, 'webgal-engine.json': manifest('4.6.4') }, '4.6.4 webgal-engine.json'],
    [
      'a derivative',
      { ...scene, 'webgal-engine.json': '{"type":"other","name":"Mine","version":"1.2.3","webgalVersion":"4.5.20"}' },
      '4.5.20 webgal-engine.json Mine',
    ],
    [
      'a program from 4.5.13 on',
      { ...scene, 'index.html': page('index-abc.js'), 'assets/index-abc.js': program('4.6.1') },
      '4.6.1 assets/index-abc.js',
    ],
    [
      'a program before 4.5.13',
      { ...scene, 'index.html': page('index-1.js'), 'assets/index-1.js': older('4.5.12') },
      '4.5.12 assets/index-1.js',
    ],
    [
      'the first ones',
      { ...scene, 'index.html': page('index.5e.js'), 'assets/index.5e.js': older('4.2.11') },
      '4.2.11 assets/index.5e.js',
    ],
    [
      'without a page',
      { ...scene, 'assets/index.es-1.js': program('9.9.9'), 'assets/index-2.js': program('4.5.13') },
      '4.5.13 assets/index-2.js',
    ],
    ...official.map((name, index): [string, Record<string, string>, string] => [
      `the official name of ${named[index]}`,
      { ...scene, 'index.html': page(`index-${name}.js`), [`assets/index-${name}.js`]: 'minified beyond knowing' },
      `${named[index]} assets/index-${name}.js`,
    ]),
    [
      'the engine of the registry, exported with a game',
      { ...scene, 'index.html': npmFile('dist/index.html'), [`assets/${builtProgram}`]: npmFile(`dist/assets/${builtProgram}`) },
      `4.5.18 assets/${builtProgram}`,
    ],
    [
      'the same program under another name',
      { ...scene, 'index.html': page('index-mine.js'), 'assets/index-mine.js': npmFile(`dist/assets/${builtProgram}`) },
      '4.5.18 assets/index-mine.js',
    ],
    [
      'the package of the registry itself',
      { 'package.json': npmFile('package.json'), ...under('public', scene) },
      '4.5.18 package.json',
    ],
    ['a package', { ...scene, 'package.json': '{"dependencies":{"webgal-engine":"^4.5.18"}}' }, '4.5.18 package.json'],
    [
      'the source of the engine',
      { 'packages/webgal/package.json': '{"name":"webgal","version":"4.6.1"}', ...under('packages/webgal/public', scene) },
      '4.6.1 packages/webgal/package.json',
    ],
    [
      'an export for the desktop',
      under('resources/app/public', { ...scene, 'index.html': page('index-x.js'), 'assets/index-x.js': program('4.5.17') }),
      '4.5.17 resources/app/public/assets/index-x.js',
    ],
    [
      'the same with a manifest',
      under('resources/app/public', { ...scene, 'webgal-engine.json': manifest('4.6.6') }),
      '4.6.6 resources/app/public/webgal-engine.json',
    ],
    ['a project of Terre', scene, undefined],
    ['the same with a flowchart', { ...scene, 'game/flowchart.json': '{"flowcharts":[]}' }, '≥ 4.6.2 flowchart.json'],
    ['with newer settings', { ...scene, 'game/config.txt': 'Enable_Continue:true;\n' }, '≥ 4.6.1 config.txt: Enable_Continue'],
    [
      'with an animation of the second form',
      { ...scene, 'game/animation/fade.json': '{"version":2,"keyframes":[]}' },
      '≥ 4.6.6 animation/fade.json',
    ],
    ['with return', { ...scene, 'game/scene/b.txt': ':x;\nreturn:1;\n' }, '≥ 4.6.3 b.txt:2: return'],
    [
      'with both, of which the higher counts',
      { ...scene, 'game/flowchart.json': '{}', 'game/scene/b.txt': 'changeFigureDiff:none;\nreturn:1;\n' },
      '≥ 4.6.5 b.txt:1: changeFigureDiff',
    ],
    [
      'a known engine before content',
      { ...scene, 'webgal-engine.json': manifest('4.5.19'), 'game/flowchart.json': '{}' },
      '4.5.19 webgal-engine.json',
    ],
    [
      'nonsense',
      { ...scene, 'webgal-engine.json': '{"webgalVersion":7}', 'package.json': '[', 'index.html': 'x'.repeat(70_000) },
      undefined,
    ],
  ]
  const found: [string, string | undefined][] = []
  for (const [name, files] of games) {
    await using world = await openWorld({ files })
    const report = await world.call<{
      engine?: { version: string; from: string; derivative?: string }
      atLeast?: { version: string; from: string }
    }>('project_report', {})
    const { engine, atLeast } = report
    const told = engine
      ? [engine.version, engine.from, engine.derivative].filter(Boolean).join(' ')
      : atLeast && `≥ ${atLeast.version} ${atLeast.from}`
    found.push([name, told])
    expect((await check(world, ':text;')).engine).toBe(engine?.version)
  }
  expect(found).toEqual(games.map(([name, , told]) => [name, told]))
})

test('what the game needs anyway is not told as new', async () => {
  await using world = await openWorld({ files: { ...scene, 'game/flowchart.json': '{"flowcharts":[]}' } })
  expect(codes(await check(world, 'wait:1 -nobreak;'))).toEqual([])
  expect(codes(await check(world, 'setVar:a=1 -local;'))).toEqual(['newer-feature'])
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

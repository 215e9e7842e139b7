import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorld, repository } from '../support/world.ts'

// One small game beside every engine there is: which version is found, and what is told of the same lines. The table is in the guide.

const script = `changeBg:sea.png -next;
setBgAni:fade;
Mara:The sea is calm. -vocal=a.ogg;
Mara:Still calm. -b.opus;
choose:Wait:rest|Go:two.txt -defaultChoose=1;
label:rest;
wait:500 -nobreak;
getUserInput:name -title=Name -rule=^.+$;
changeFigure:mara.png -left13 -skin=a -next;
setTransform:{"alpha":1} -target=fig-left13 -ignoreDefault -transformFrom=current;
setVar:seen=1 -local;
changeFigureDiff:mara.png -id=mara;
setTempAnimation:{"version":2,"keyframes":[{"time":0,"alpha":0}]} -target=bg-main;
intro:One
  |Two;
callScene:two.txt -hp=1 -writeReturnTo=won;
end;
`
const game: Record<string, string | Buffer> = {
  'game/config.txt': 'Game_name:Small;\nTitle_img:sea.png;\n',
  'game/scene/start.txt': script,
  'game/scene/two.txt': ':{hp};\nreturn:1;\n',
  'game/background/sea.png': '',
  'game/figure/mara.png': '',
  'game/vocal/a.ogg': '',
  'game/vocal/b.opus': '',
  'game/animation/animationTable.json': '["fade"]',
  'game/animation/fade.json': '[]',
  'game/flowchart.json': '{"flowcharts":[]}',
}

const page = (name: string): string => `<html><script type="module" crossorigin src="./assets/${name}"></script></html>`
const older = (version: string): Record<string, string> => ({
  'index.html': page('index.5e.js'),
  'assets/index.5e.js': `var a={version:"WebGAL ${version}",contributors:[]}`,
})
const newer = (version: string): Record<string, string> => ({
  'index.html': page('index-a1.js'),
  'assets/index-a1.js': `const v="${version}",o={version:v,x:1};console.log(\`WebGAL v\${o.version}\`)`,
})
const manifest = (version: string, more: object = { type: 'official' }): Record<string, string> => ({
  'webgal-engine.json': JSON.stringify({ version, webgalVersion: version, ...more }),
})
const registry = (): Record<string, string | Buffer> => {
  const at = dirname(createRequire(import.meta.url).resolve('webgal-engine/package.json'))
  const name = readdirSync(join(at, 'dist/assets')).find((one) => /^index-\w+\.js$/.test(one)) ?? ''
  return {
    'index.html': readFileSync(join(at, 'dist/index.html')),
    [`assets/${name}`]: readFileSync(join(at, 'dist/assets', name)),
  }
}

const engines: [string, Record<string, string | Buffer>][] = [
  ['4.2.11, its program’s shape', older('4.2.11')],
  ['4.3.2, its program’s shape', older('4.3.2')],
  ['4.4.10, its program’s shape', older('4.4.10')],
  ['4.5.12, its program’s shape', older('4.5.12')],
  ['4.5.13, its program’s shape', newer('4.5.13')],
  ['4.5.18, the registry’s own', registry()],
  ['4.5.19, manifest', manifest('4.5.19')],
  ['4.5.20, manifest', manifest('4.5.20')],
  ['4.6.0, manifest', manifest('4.6.0')],
  ['4.6.1, its program’s shape', newer('4.6.1')],
  ['4.6.3, manifest', manifest('4.6.3')],
  ['4.6.5, manifest', manifest('4.6.5')],
  ['4.6.6, manifest', manifest('4.6.6')],
  ['made from 4.5.18, manifest', manifest('4.5.18', { type: 'fork', name: 'Mine' })],
  ['none: a project of Terre', {}],
]

interface Report {
  valid: boolean
  engine?: { version: string; derivative?: string }
  atLeast?: { version: string }
  diagnostics: { code: string; severity: string }[]
}

test('each engine is found, and the same game is judged by it', async () => {
  const rows: string[] = []
  for (const [name, engine] of engines) {
    await using world = await openWorld({ files: { ...game, ...engine } })
    const report = await world.call<Report>('project_report', { limit: 1_000 })
    const counts = new Map<string, number>()
    for (const { code, severity } of report.diagnostics)
      counts.set(`${severity} ${code}`, (counts.get(`${severity} ${code}`) ?? 0) + 1)
    const found = report.engine
      ? [report.engine.version, report.engine.derivative].filter(Boolean).join(' ')
      : `≥ ${report.atLeast?.version}`
    const told = [...counts].map(([code, count]) => `\`${code.slice(code.indexOf(' ') + 1)}\` ${count}`)
    rows.push(`| ${name} | ${found} | ${report.valid ? 'yes' : 'no'} | ${told.join(', ') || 'nothing'} |`)
  }
  const guide = readFileSync(join(repository, 'docs/guide/webgal-engines.md'), 'utf8')
  expect(guide.split('\n').filter((line) => /^\| (?:\d|made|none)/.test(line))).toEqual(rows)
})

import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { interleave, median, quantile, timed } from './measure.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { row } from './table.mjs'

const require = createRequire(import.meta.url)

/** Lines as games have them: about six in ten are dialogue, and no two of those are the same, in whatever scene. */
function script(lines, scene = 0) {
  const kinds = [
    (n) => `changeBg:night/${n % 40}.png -next;`,
    (n) => `changeFigure:mara/${n % 60}.png -left -next;`,
    (n) => `bgm:waves.mp3 -volume=${n % 100};`,
    (n) => `setTransform:{"position":{"x":${n % 300},"y":0}} -target=fig-left -duration=500;`,
    (n) => `choose:Go on:part${n}|Stay:here${n % 50};`,
    (n) => `label:part${n};`,
    (n) => `setVar:count=${n};`,
  ]
  const talk = [
    (n) => `Yukino:The lamp has been dark for ${n} nights and ${scene} days now.;`,
    (n) => `:She counts ${n} waves, loses count at ${scene}, and begins again.;`,
    (n) => `雪乃:海风真舒服呢，我们再走${n}步、${scene}里一会儿吧。;`,
  ]
  return Array.from({ length: lines }, (_, n) => (n % 10 < 6 ? talk[n % 3] : kinds[n % 7])(n)).join('\n')
}

/** `validate_script` with everything it does, beside the bare parse of webgal-parser; `project_report` beside reading and parsing alone. */
export async function webgal(bench) {
  const project = join(bench.temp, 'webgal')
  const game = join(project, 'game')
  for (let n = 0; n < 60; n++) put(join(game, 'figure/mara', `${n}.png`), '')
  for (let n = 0; n < 40; n++) put(join(game, 'background/night', `${n}.png`), '')
  put(join(game, 'bgm/waves.mp3'), '')
  const { openRuntime } = require(join(dirname(dirname(bench.program)), 'dist', 'handrail.cjs'))
  const runtime = openRuntime({ project, environment: cleanEnv(bench.temp), flags: {} })
  const call = (tool, input) =>
    runtime.call(tool, input, { surface: 'cli', client: 'bench', session: 'bench', role: 'person' }).then(({ output }) => output)
  try {
    const rows = []
    for (let n = 0; n < 1_168; n++) put(join(game, 'scene', `s${n}.txt`), script(38, n))
    const cold = await interleave(3, { ours: () => timed(() => validateAlone(bench, project)) })
    rows.push(limited('webgal validate, 1,168 scenes of 38 lines, its process included', cold.ours, 3_000))
    rmSync(join(game, 'scene'), { recursive: true })
    for (let n = 0; n < 1_000; n++) put(join(game, 'scene', `s${n}.txt`), script(100, n))
    const parseScene = await ownParser(bench)
    const folder = join(game, 'scene')
    const readAndParse = () => {
      for (const name of readdirSync(folder)) parseScene(readFileSync(join(folder, name), 'utf8'))
    }
    const found = await interleave(9, { ours: () => used(() => call('project_report', {})), other: () => used(readAndParse) })
    const note = `processor time; read and parse alone: ${median(found.other).toFixed(0)} ms`
    rows.push(
      row({
        part: 'webgal',
        what: 'project_report, 1,000 scenes of 100 lines',
        unit: 'ms',
        ...found,
        against: 'read + parse',
        target: 2,
        note,
      }),
    )
    for (const [lines, rounds, target] of [
      [5_000, 9, 1],
      [50_000, 2, 1 / 20],
    ]) {
      const content = script(lines)
      const parse = oracle()
      if ((await call('validate_script', { content })).valid !== true) throw new Error('the sample is not valid')
      const found = await interleave(rounds, {
        ours: () => timed(() => call('validate_script', { content })),
        other: () => timed(() => parse(content)),
      })
      rows.push(
        row({
          part: 'webgal',
          what: `validate_script, ${lines.toLocaleString('en')} lines`,
          unit: 'ms',
          ...found,
          against: 'webgal-parser',
          target,
        }),
      )
    }
    const long = script(50_000)
    const warm = await interleave(5, { ours: () => used(() => call('validate_script', { content: long })) })
    rows.push(limited('validate_script, 50,000 lines, warm, processor time', warm.ours, 300))
    // Last: an editor's eye stays on the game.
    rows.push(await keystrokes(runtime, game, parseScene))
    return rows
  } finally {
    await runtime.close()
  }
}

const limited = (what, ours, limit) =>
  row({ part: 'webgal', what, unit: 'ms', ours, other: [limit], against: 'the limit', target: 1 })

/** The whole game as a person checks it: a process of its own, started for this. */
async function validateAlone(bench, project) {
  await promisify(execFile)(process.execPath, [bench.program, 'webgal', 'validate', project, '--format', 'json'], {
    env: cleanEnv(bench.temp),
    maxBuffer: 1 << 28,
  })
}

/** What an editor waits for after each key, in a long scene, beside taking the scene apart as a whole; both in processor time. */
async function keystrokes(runtime, game, parse) {
  const path = 'game/scene/long.txt'
  let text = script(5_000)
  put(join(game, 'scene/long.txt'), text)
  const editor = await runtime.scriptEditor()
  const found = await interleave(220, {
    ours() {
      text = `${text.slice(0, 20_000)}x${text.slice(20_000)}`
      return used(() => {
        editor.hold(path, text)
        return editor.diagnostics(path, new AbortController().signal)
      })
    },
    other: () => used(() => parse(text)),
  })
  const [ours, other] = [found.ours, found.other].map((times) => times.slice(20))
  rmSync(join(game, 'scene/long.txt'))
  return row({
    part: 'webgal',
    what: 'diagnostics after a keystroke, 5,000 lines',
    unit: 'ms',
    ours,
    other,
    against: 'parsing it whole',
    target: 3,
    note: `p95 ${quantile(ours, 0.95).toFixed(1)} ms of processor time; the limit is 30`,
  })
}

/** Milliseconds of processor time that an act takes of this process. */
async function used(act) {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function put(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function oracle() {
  const { default: SceneParser, ADD_NEXT_ARG_LIST, SCRIPT_CONFIG } = require('webgal-parser')
  const parser = new SceneParser(
    () => undefined,
    (name) => name,
    ADD_NEXT_ARG_LIST,
    SCRIPT_CONFIG,
  )
  return (text) => parser.parse(text, 'scene', 'scene')
}

/** Our own parser, bundled for this. */
async function ownParser(bench) {
  const { rolldown } = await import('rolldown')
  const made = await rolldown({
    input: join(repository, 'src/toolsets/webgal/grammar/parse.ts'),
    platform: 'node',
    logLevel: 'warn',
  })
  const file = join(bench.temp, 'parse.cjs')
  await made.write({ file, format: 'cjs', minify: true })
  await made.close()
  return require(file).parseScene
}

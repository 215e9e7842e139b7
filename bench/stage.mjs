import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerOf, openRaw, using } from './clients.mjs'
import { interleave, median, medianOf } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
import { plain, row } from './table.mjs'

const rounds = 11
const calls = 12

/** A command that does nothing, on a stage, against the same command started plainly; in a small project and in a large one. */
export async function stage(bench) {
  const small = treeOf(bench.temp, 'few', 50)
  const large = treeOf(bench.temp, 'many', 50_000)
  const server = (project) => {
    const { command, args, env } = ours(bench, project)
    return [openRaw, { command, args: [...args, '--enable-shell'], env }]
  }
  return using({ small: server(small), large: server(large) }, async (clients) => {
    const act = (name) => () => clients[name].call('shell', { command: 'true' })
    const bare = () => plainly(bench, small)
    for (const name of ['small', 'large']) {
      const answer = JSON.parse(answerOf(await act(name)()).content[0].text)
      if (!answer.ok || answer.confined !== true) throw new Error(`not confined here: ${JSON.stringify(answer)}`)
      await medianOf(calls, act(name))
    }
    await medianOf(calls, bare)
    const found = await interleave(rounds, {
      small: () => medianOf(calls, act('small')),
      large: () => medianOf(calls, act('large')),
      bare: () => medianOf(calls, bare),
    })
    const added = median(found.small.map((value, round) => value - found.bare[round]))
    return [
      row({
        part: 'stage',
        what: 'a no-op on a stage, over MCP',
        unit: 'ms',
        ours: found.small,
        other: found.bare,
        against: 'sh -c',
      }),
      plain({
        part: 'stage',
        what: '… added to a bare sh -c',
        unit: 'ms',
        ours: added,
        rounds,
        note: `target: under 15 ms; ${added < 15 ? 'met' : 'missed'}`,
      }),
      row({
        part: 'stage',
        what: 'the same, 50,000 files',
        unit: 'ms',
        ours: found.large,
        other: found.small,
        against: '50 files',
        target: 1,
      }),
    ]
  })
}

function treeOf(temp, name, count) {
  const project = join(temp, name)
  for (let index = 0; index < count; index++) {
    const folder = join(project, `d${Math.floor(index / 1_000)}`, `e${Math.floor(index / 50) % 20}`)
    if (index % 50 === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `f${index % 50}.txt`), `file ${index}\n`)
  }
  return project
}

function plainly(bench, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', 'true'], { cwd, env: cleanEnv(bench.temp), stdio: ['ignore', 'pipe', 'pipe'] })
    child.once('error', reject)
    child.once('close', resolve)
  })
}

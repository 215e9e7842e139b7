// What the command line takes before anything is done: `--help` beside a Node that does nothing, and a card of 10,000 changed files beside one of one
// file. Processor time: what the machine does besides is not in it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { openRaw } from './clients.mjs'
import { interleave } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 15
const files = 10_000

/** Of one process from its start to its end, in ms, as the shell counts it. */
function processorMs(bench, args) {
  const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const { stderr } = spawnSync('bash', ['-c', `TIMEFORMAT='%U %S'; time ${words} > /dev/null`], {
    env: cleanEnv(bench.temp),
    encoding: 'utf8',
  })
  const [user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return (user + system) * 1_000
}

export async function terminal(bench) {
  const program =
    (...args) =>
    async () =>
      processorMs(bench, [bench.program, ...args])
  const node = async () => processorMs(bench, ['-e', '0'])
  const help = { ours: program('--help'), other: node }
  await interleave(1, help)
  const helped = await interleave(rounds, help)

  const project = join(bench.temp, 'terminal')
  mkdirSync(join(project, 'many'), { recursive: true })
  for (let at = 0; at < files; at++) writeFileSync(join(project, 'many', `f${at}.txt`), `one ${at}\ntwo\n`)
  const server = ours(bench, project)
  const settings = ['--enable-shell', 'true', '--ask-from', 'R1', '--approval-wait-ms', '0']
  const client = await openRaw({ ...server, args: [...server.args, ...settings] })
  const asked = async (command) =>
    /appr_[0-9a-f]{32}/.exec(String(await client.call('shell', { command, timeout_seconds: 120 })))?.[0]
  const large = await asked('sed -i s/two/zwei/ many/*')
  const small = await asked('echo three >> many/f1.txt')
  await client.close()
  const show = (id) => program('approvals', 'show', id, '--project', project)
  const cards = { ours: show(large), other: show(small) }
  await interleave(1, cards)
  const shown = await interleave(rounds, cards)
  const least = (found) => Math.round(found.toSorted((a, b) => a - b)[0])
  return [
    row({
      part: 'terminal',
      what: '`handrail --help`, processor',
      unit: 'ms',
      ...helped,
      against: '`node -e 0`',
      note: `target 150 ms; least ${least(helped.ours)} ms`,
    }),
    row({
      part: 'terminal',
      what: `\`approvals show\` of ${files} changed files, processor`,
      unit: 'ms',
      ...shown,
      against: 'one file',
      note: `target 200 ms in all; least ${least(shown.ours)} and ${least(shown.other)} ms`,
    }),
  ]
}

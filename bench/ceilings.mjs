import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/setup.mjs'
import { row } from './table.mjs'

const attacks = ['http-floods', 'http-smuggling', 'flooding', 'page-decisions', 'hostile-search', 'cards.test', 'commands.test']

/** Memory and processor under attack, at full length: what the tests note by `ceiling`, beside what it should stay below. */
export async function ceilings({ temp, say }) {
  const file = join(temp, 'ceilings.jsonl')
  const files = attacks.map((name) => `test/attacks/${name}`)
  const { status } = spawnSync(join(root, 'node_modules', '.bin', 'vitest'), ['run', '--maxWorkers=1', ...files], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, HANDRAIL_SOAK: '1', HANDRAIL_CEILINGS: file },
  })
  if (status !== 0) say('ceilings: an attack was not withstood; see above')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return lines.map((line) => {
    const { what, unit, used, most } = JSON.parse(line)
    return row({ part: 'ceilings', what, unit, ours: [used], other: [most], against: 'ceiling', target: 1 })
  })
}

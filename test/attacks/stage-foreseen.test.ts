// @stage
import { linkSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { soon, withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

const canary = 'CANARY-foreseen-31'
let world: World

beforeEach(async () => {
  world = await openWorld({
    files: { 'conf/.env': `${canary}\n`, 'conf/a.txt': 'a\n', 'keys/.env': `${canary}\n`, 'plain.txt': 'plain\n' },
    flags: withShell,
  })
})
afterEach(() => world[Symbol.asyncDispose]())

const shell = async (command: string, more: Record<string, unknown> = {}): Promise<string> =>
  (await world.call<{ stdout: string }>('shell', { command, ...more })).stdout
const seen = 'grep -rs CANARY . ; ls -A conf keys | tr "\\n" " "; cat conf/a.txt'

function mountsOf(name: string): string {
  try {
    const own = readFileSync(`/proc/${name}/environ`, 'latin1').includes(join(world.base, 'state'))
    return own ? readFileSync(`/proc/${name}/mountinfo`, 'latin1') : ''
  } catch {
    return ''
  }
}

/** Three alike, and the stage of the fourth is set up to the last mount. */
async function foreseen(): Promise<void> {
  for (let round = 0; round < 3; round++) expect(await shell(seen)).not.toContain('CANARY')
  const covered = `/newroot${world.project}/keys/.env `
  expect(await soon(() => readdirSync('/proc').some((name) => /^\d+$/.test(name) && mountsOf(name).includes(covered)))).toBe(true)
}

test('what was foreseen is what a program sees, as one that was not', async () => {
  const before = await shell(seen)
  await foreseen()
  expect(await shell(seen)).toBe(before)
  expect(before).toContain('conf: .env a.txt')
})

const ways: [string, (at: (path: string) => string) => void][] = [
  ['came', (at) => writeFileSync(at('conf/.env.local'), canary)],
  [
    'was replaced',
    (at) => {
      writeFileSync(at('conf/new'), canary)
      renameSync(at('conf/new'), at('conf/.env'))
    },
  ],
  [
    'was removed and made again',
    (at) => {
      rmSync(at('keys/.env'))
      writeFileSync(at('keys/.env'), canary)
    },
  ],
  ['got a second name', (at) => linkSync(at('keys/.env'), at('keys/copy.pem'))],
  ['moved with its folder', (at) => renameSync(at('keys'), at('other'))],
  [
    'lies in a folder that another took the place of',
    (at) => {
      renameSync(at('conf'), at('old'))
      mkdirSync(at('conf'))
      renameSync(at('old/.env'), at('conf/.env'))
      writeFileSync(at('conf/a.txt'), 'b\n')
    },
  ],
]
// In `npm test` every third, from another one with every seed.
const from = draws('what became of what was foreseen')(3)
test.each(ways.filter((_, at) => isSoak || at % 3 === from))(
  'a secret that %s since is not seen, and the project is as it is now',
  async (_, act) => {
    await foreseen()
    act((path) => join(world.project, path))
    const found = await shell('grep -rs CANARY .; find . -type f ! -name "*.env*" ! -name "*.pem" -exec cat {} +; ls conf')
    expect(found).not.toContain('CANARY')
    expect(found).toContain(readFileSync(join(world.project, 'conf/a.txt'), 'utf8'))
  },
)

test('a program that is to see something else, or elsewhere, sees that', async () => {
  await foreseen()
  writeFileSync(join(world.project, 'plain.txt'), 'changed\n')
  expect(await shell('cat plain.txt')).toBe('changed\n')
  await foreseen()
  expect(await shell('pwd', { cwd: 'conf' })).toBe(`${join(world.project, 'conf')}\n`)
  expect(await shell('pwd')).toBe(`${world.project}\n`)
})

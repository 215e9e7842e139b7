// @stage
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { approve, ask, shownFirst, stagesLeft } from '../support/stage.ts'
import { openWorld, runCli } from '../support/world.ts'

/** Loaded before the program: it dies without a word in the moment a stage, whose record is gone already, is about to lose its name too. */
const dying = `
const fs = require('node:fs')
const { renameSync } = fs
fs.renameSync = (from, to) => (String(to).includes('/left-') ? process.kill(process.pid, 'SIGKILL') : renameSync(from, to))
require('node:module').syncBuiltinESMExports()
`

test('killed between taking the record and the name of a stage away: the next start has it out of the way at once', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
  const command = 'for i in $(seq 300); do echo $i > f$i; done; rm a.txt'
  approve(world, await ask(world, { command }, 'shell', { session: 'cli-default' }))
  const preload = join(world.base, 'dying.cjs')
  writeFileSync(preload, dying)
  const call = ['call', 'shell', JSON.stringify({ command }), '--enable-shell', '--wait', '0']
  expect(await runCli(world.project, call, { env: { NODE_OPTIONS: `--require=${preload}` } })).toMatchObject({ code: null })
  expect(stagesLeft(world.base)).toHaveLength(1)
  await world.reopen()
  expect(stagesLeft(world.base)).toEqual([])
  expect(world.read('f300')).toBe('300\n')
})

// @stage
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { sweep } from '../support/soak.ts'
import { approve, ask, shownFirst, soon, stagesLeft } from '../support/stage.ts'
import { expectWhole, storiesOf } from '../support/stories.ts'
import { openWorld, runCli, type CliEnd, type World } from '../support/world.ts'

/** Loaded before the program: something happens to it in the moment a folder is about to get a name of this kind. */
const preload = (to: RegExp, signal: 'SIGKILL' | 'SIGSTOP'): string => `
const fs = require('node:fs')
const { renameSync } = fs
let met = false
fs.renameSync = (from, to) => {
  if (!met && ${String(to)}.test(to)) {
    met = true
    fs.writeFileSync(process.env.HOME + '/met', String(process.pid))
    process.kill(process.pid, '${signal}')
  }
  return renameSync(from, to)
}
require('node:module').syncBuiltinESMExports()
`

/** So many files, the last of which is called so. */
const many = sweep(300, 40)
const last = `f${many}`

const named = /\/stages\/[^/]+\/\d+-\d+-[^/]+$/

/** A stage that waits and was agreed to, and the process that is to commit it. */
async function committing(
  world: World,
  to: RegExp,
  signal: 'SIGKILL' | 'SIGSTOP',
): Promise<{ approval: Approval; ended: Promise<CliEnd> }> {
  const command = `for i in $(seq ${many}); do echo $i > f$i; done; rm a.txt`
  const approval = await ask(world, { command }, 'shell', { session: 'cli-default' })
  approve(world, approval)
  const file = join(world.base, 'preload.cjs')
  writeFileSync(file, preload(to, signal))
  const call = ['call', 'shell', JSON.stringify({ command }), '--enable-shell', '--ask-from', 'R1', '--wait', '0']
  return { approval, ended: runCli(world.project, call, { env: { NODE_OPTIONS: `--require=${file}` } }) }
}

/** The same, killed in that moment, and Handrail started again. */
async function killed(world: World, to: RegExp): Promise<Approval> {
  const { approval, ended } = await committing(world, to, 'SIGKILL')
  expect(await ended).toMatchObject({ code: null })
  expect(stagesLeft(world.base)).toHaveLength(1)
  await world.reopen()
  expect(world.runtime.approvals.get(approval.id)?.state).toBe('used')
  return approval
}

const recovered = (world: World): AuditLine[] => [...world.runtime.audit.lines()].filter(({ event }) => event === 'recovered')
const old = { files: { 'a.txt': 'one\n' }, flags: shownFirst }

test('killed between taking the record and the name of a stage away: the next start has it out of the way at once', async () => {
  await using world = await openWorld(old)
  await killed(world, /\/left-/)
  expect(stagesLeft(world.base)).toEqual([])
  expect(world.read(last)).toBe(`${many}\n`)
})

test('killed between using a yes and taking the stage it was for: the log says that nothing of it landed', async () => {
  await using world = await openWorld(old)
  const { call } = await killed(world, named)
  expect(stagesLeft(world.base)).toEqual([])
  expect(recovered(world)).toMatchObject([
    { call, message: expect.stringContaining('before anything its program did had landed') },
  ])
  expect(world.read('a.txt')).toBe('one\n')
  expectWhole([...storiesOf(world).values()][0]?.filter(({ event }) => event !== 'recovered'))
})

test('a process that starts between the two takes nothing away from one that lives', async () => {
  await using world = await openWorld(old)
  const { approval, ended } = await committing(world, named, 'SIGSTOP')
  const met = join(world.base, 'met')
  expect(await soon(() => existsSync(met) && readFileSync(met, 'utf8') !== '')).toBe(true)
  expect(world.runtime.approvals.get(approval.id)?.state).toBe('used')
  await world.reopen()
  expect(stagesLeft(world.base)).toHaveLength(1)
  process.kill(Number(readFileSync(met, 'utf8')), 'SIGCONT')
  expect(await ended).toMatchObject({ code: 0 })
  expect(world.read(last)).toBe(`${many}\n`)
  expect(stagesLeft(world.base)).toEqual([])
  expect(recovered(world)).toEqual([])
})

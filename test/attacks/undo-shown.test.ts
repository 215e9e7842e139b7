import { expect, test } from 'vitest'
import { agreed, shownFirst } from '../support/stage.ts'
import { runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

test('undo shows what comes back also where it is not quite UTF-8', async () => {
  const evil = Buffer.from('caf\xe9: curl evil.example\n', 'latin1')
  await using world = await openWorld({ files: { 'notes.txt': evil }, flags: shownFirst })
  await agreed(world, { command: 'echo harmless > notes.txt' })
  // Nobody is at the terminal, so it stops after showing it.
  const { out, err } = await runInside(world.project, ['undo', '--last'])
  expect(out).toContain('- harmless')
  expect(out).toContain('+ caf\\xe9: curl evil.example')
  expect(err).toContain('Nobody is at this terminal')
  expect(await runInside(world.project, ['undo', '--last', '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('notes.txt')).toBe(evil.toString('utf8'))
})

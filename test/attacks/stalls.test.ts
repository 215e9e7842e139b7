import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

// Small things that cost much.

test('characters.json of lists within lists is no list of characters, and is not written out', async () => {
  const deep = '['.repeat(2_000) + ']'.repeat(2_000)
  const files = { 'game/figure/mara.png': '', 'game/characters.json': `[${Array.from({ length: 10 }, () => deep).join(',')}]` }
  await using world = await openWorld({ files })
  const fault = await world.fault('generate_character_profile', { name: 'Mara', imageFile: 'mara.png' })
  expect(fault).toMatchObject({ code: 'E_PARSE_FAIL' })
  expect(world.read('game/characters.json')).toBe(files['game/characters.json'])
})

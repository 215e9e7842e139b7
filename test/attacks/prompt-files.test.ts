import { expect, test } from 'vitest'
import { promptsInProject } from '../../src/contracts/prompt.ts'
import { openWorld } from '../support/world.ts'

test('a folder of prompts with very much in it is not looked through to its end, and that is said', async () => {
  const folder = promptsInProject.join('/')
  const files = Object.fromEntries(Array.from({ length: 2_100 }, (_, at) => [`${folder}/x${at}.txt`, '']))
  await using world = await openWorld({ files })
  const texts = await world.runtime.projectTexts()
  expect(texts).toMatchObject([{ kind: 'prompt', trusted: false, wrong: [expect.stringContaining('2000 entries')] }])
})

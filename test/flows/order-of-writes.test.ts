import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

test('calls sent together are done in the order they came: who reads after a write reads what it wrote', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'old' }, flags: { 'write-requires-diff': 'false' } })
  const write = (content: string) => world.call('write_to_file', { path: 'a.txt', content, dryRun: false })
  const read = async () => (await world.call<{ content: string }>('read_file', { path: 'a.txt' })).content
  for (let round = 0; round < 5; round++) {
    const [before, , first, , second] = await Promise.all([read(), write(`a${round}`), read(), write(`b${round}`), read()])
    expect([before, first, second]).toEqual([round ? `b${round - 1}` : 'old', `a${round}`, `b${round}`])
  }
})

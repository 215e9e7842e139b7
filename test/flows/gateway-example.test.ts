import { join } from 'node:path'
import { expect } from 'vitest'
import { proves } from '../support/proof.ts'
import { repository, runToExit } from '../support/world.ts'

proves('gateway.order', 'the example that works in this order runs and checks itself', async () => {
  const { code, out, err } = await runToExit(process.execPath, [join(repository, 'examples/gateway/order.mjs')], {
    env: process.env,
  })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('All as it should be.')
})

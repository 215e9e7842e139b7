import { afterAll, expect, vi } from 'vitest'
import { keepNoConnection } from './fresh-connections.ts'
import { closeLeftOpen } from './left-open.ts'

await keepNoConnection()

// Test files share processes: what one leaves in them, the next one would run with.
const before = { ...process.env }
const folder = process.cwd()

afterAll(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await closeLeftOpen()
  if (process.cwd() !== folder) process.chdir(folder)
  const names = new Set([...Object.keys(before), ...Object.keys(process.env)])
  const changed = [...names].filter((name) => process.env[name] !== before[name])
  for (const name of changed)
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  expect(changed, 'this file leaves other environment variables than it found').toEqual([])
})

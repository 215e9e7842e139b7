import { afterAll, expect } from 'vitest'

// Test files share processes: what one leaves in the environment, the next one would run with.
const before = { ...process.env }

afterAll(() => {
  const names = new Set([...Object.keys(before), ...Object.keys(process.env)])
  const changed = [...names].filter((name) => process.env[name] !== before[name])
  for (const name of changed)
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  expect(changed, 'this file leaves other environment variables than it found').toEqual([])
})

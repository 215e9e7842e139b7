// @stage
import { expect, test } from 'vitest'
import { openAgentWorld, toolTexts } from '../support/agent.ts'
import type { Line } from '../support/scripted-model.ts'

const write = (content: string): Line => ({
  calls: [{ name: 'write_to_file', input: { path: 'app/sum.mjs', content, dryRun: false } }],
})
const done: Line = { calls: [{ name: 'attempt_completion', input: { result: 'Mended.' } }] }

/** A check of the project that finds one word wrong, wherever it stands, in the words of a compiler. */
const lint = `import { readFileSync } from 'node:fs'
const lines = readFileSync('app/sum.mjs', 'utf8').split('\\n')
const at = lines.findIndex((line) => line.includes('WRONG'))
if (at >= 0) {
  console.log('app/sum.mjs:' + (at + 1) + ':1 error WRONG is no number')
  process.exitCode = 1
}
`

test('code that was written is put to the project’s own checks; what they find goes back to the model, also where it says that it is done', async () => {
  await using at = await openAgentWorld([write('export const a = WRONG\n'), done, done, write('export const a = 1\n'), done], {
    onDisk: true,
    files: {
      'package.json': JSON.stringify({ name: 'app', private: true, scripts: { lint: 'node lint.mjs' } }),
      'lint.mjs': lint,
      'app/sum.mjs': 'export const a = 0\n',
    },
    config: { policies: { maxAutoFix: 2 } },
  })
  const { end, events } = await at.ask('fix it', { mode: 'act' })
  expect(end).toMatchObject({ type: 'completed', reply: 'Mended.' })
  expect(at.world.read('app/sum.mjs')).toBe('export const a = 1\n')
  const checks = events.filter((one) => one.type === 'tool_call' && one.name === 'run_checks')
  // Once before anything was written, then each time it says that it is done.
  expect(checks.length).toBe(4)
  const told = toolTexts(at.model)
  expect(told.filter((text) => text.includes('Not finished: a check of what you wrote failed')).length).toBe(2)
  expect(told.join()).toContain('WRONG is no number')
})

test('what failed before the turn wrote anything is not the agent’s: it is told apart, and left alone', async () => {
  const failing = `console.log('app/old.mjs:1:1 error OLD was there')\nprocess.exitCode = 1\n`
  await using at = await openAgentWorld([write('export const a = WRONG\n'), done, write('export const a = 1\n'), done], {
    onDisk: true,
    files: {
      'package.json': JSON.stringify({ name: 'app', private: true, scripts: { lint: 'node lint.mjs' } }),
      'lint.mjs': `${failing}${lint}`,
      'app/sum.mjs': 'export const a = 0\n',
    },
    config: { policies: { maxAutoFix: 2 } },
  })
  const { end } = await at.ask('fix it', { mode: 'act' })
  expect(end).toMatchObject({
    type: 'completed',
    reply: 'Mended.\n\n(1 failure of the project’s checks were there before, and were left alone.)',
  })
  const told = toolTexts(at.model).filter((text) => text.includes('Not finished'))
  expect(told.length).toBe(1)
  expect(told[0]).toContain('WRONG is no number')
  expect(told[0]).toContain('1 more failed before you began')
  expect(told[0]).not.toContain('OLD was there')
})

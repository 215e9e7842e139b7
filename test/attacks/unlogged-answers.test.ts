import { linkSync, readFileSync, unlinkSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import type { AuditLine, AuditListener } from '../../src/contracts/audit.ts'
import { awaitDecision } from '../../src/kernel/await-decision.ts'
import { runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

test('an answer in words that the log cannot take is none: nothing says “Answered”, and the agent does not get it', async () => {
  await using world = await openWorld()
  const ask = (): Promise<Record<string, unknown>> => world.call('ask_followup_question', { question: 'Which of both?' })
  await ask()
  const answer = (...words: string[]) => runInside(world.project, ['questions', 'answer', '--last', ...words])
  // A log with two names can be changed under the other one: nothing is written to it.
  linkSync(world.state('audit.jsonl'), world.state('second-name'))
  const { code, out, err } = await answer('this')
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain('E_IO')
  expect(() => world.runtime.questions.answer(world.runtime.questions.list()[0]?.id ?? '', 'this', 'person@page')).toThrow(
    'names',
  )
  expect(world.runtime.questions.list().map((one) => one.answer)).toEqual([undefined])
  unlinkSync(world.state('second-name'))
  expect((await answer('that')).out).toContain('Answered')
  expect(await ask()).toMatchObject({ answer: 'that' })
  const lines = readFileSync(world.state('audit.jsonl'), 'utf8').split('\n')
  expect(lines.filter((line) => line.includes('question.answered')).length).toBe(1)
})

test('whoever hears of an answer before it is in the store looks again: for a question about a call, and for one in words', async () => {
  vi.useFakeTimers()
  try {
    for (const line of [
      { event: 'approval.decided', approval: 'one' },
      { event: 'question.answered', details: { question: 'one' } },
    ] as const) {
      const told: AuditListener[] = []
      const audit = {
        subscribe(_: unknown, listener: AuditListener) {
          told.push(listener)
          return () => undefined
        },
      }
      let looked = 0
      // In the store at the third look after its line.
      const state = (): 'used' | 'pending' => (looked > 0 && ++looked > 3 ? 'used' : 'pending')
      let isOver = false
      void awaitDecision(audit as never, state, { id: 'one' }, undefined).then(() => (isOver = true))
      // What was answered just before is looked for no longer.
      await vi.advanceTimersByTimeAsync(60_000)
      looked = 1
      await told[0]?.([line as unknown as AuditLine], 1)
      await vi.advanceTimersByTimeAsync(10)
      expect([isOver, looked]).toEqual([true, 4])
    }
  } finally {
    vi.useRealTimers()
  }
})

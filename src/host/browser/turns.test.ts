import { expect, test } from 'vitest'
import { openTurns } from './turns.ts'

const never = 2_000_000_000

test('so many have a turn at once; the next has one when it is given back, in the order they came', async () => {
  const turns = openTurns(2, never)
  const [first] = await Promise.all([turns.take(), turns.take()])
  const came: string[] = []
  const third = turns.take().then((giveBack) => (came.push('third'), giveBack))
  const fourth = turns.take().then((giveBack) => (came.push('fourth'), giveBack))
  await Promise.resolve()
  expect(came).toEqual([])
  first?.()
  first?.()
  const giveBack = await third
  expect(came).toEqual(['third'])
  giveBack()
  await fourth
  expect(came).toEqual(['third', 'fourth'])
})

test('who has waited long enough goes on beside one that does not end', async () => {
  const turns = openTurns(1, 1)
  await turns.take()
  await turns.take()
})

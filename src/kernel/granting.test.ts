import { expect, test } from 'vitest'
import { openDatabase } from '../host/database.ts'
import { openGrants } from '../stores/grants.ts'
import { schema, schemaVersion } from '../stores/schema.ts'
import { granting, type GrantingPorts } from './granting.ts'
import { askedOnce, tellMarks, type Mark } from './marks.ts'

/** Grants in a real store whose transactions are counted, and what the log got of them. */
function open() {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const counted = { transactions: 0, lines: 0, flushed: 0 }
  const grants = openGrants({
    ...db,
    transaction(act, durable) {
      counted.transactions++
      return db.transaction(act, durable)
    },
  })
  const write = (_: unknown, durable?: boolean): void => {
    counted.lines++
    if (durable) counted.flushed++
  }
  const { kernel } = granting({ grants, audit: { write }, secrets: {} } as unknown as GrantingPorts)
  return { db, counted, grants, kernel }
}

const marksOn = (count: number): Mark[] =>
  Array.from({ length: count }, (_, n) => ({ path: `p${n}/vite.config.ts`, says: 'runs when you build', asks: 'once' }))

test('a yes to many files is one transaction and one flush of the log, with a line for each', () => {
  const { db, counted, grants, kernel } = open()
  kernel.letChange('one', marksOn(150), 'appr_1')
  expect(counted).toEqual({ transactions: 1, lines: 150, flushed: 1 })
  for (const mark of marksOn(150)) expect(kernel.mayChange('one', mark)).toBe(true)
  expect(kernel.mayChange('two', { path: 'p0/vite.config.ts', says: 'runs when you build' })).toBe(false)
  expect(grants.list()).toHaveLength(150)
  kernel.letChange('one', [], 'appr_2')
  expect(counted.transactions).toBe(1)
  db.close()
})

test('what the card has no room to name is not granted', () => {
  const once = askedOnce(marksOn(5_000))
  expect(once).toHaveLength(200)
  const { notes = [] } = tellMarks({ title: '', changes: [] }, marksOn(5_000))
  const said = notes.find((note) => note.startsWith('You will not be asked again')) ?? ''
  for (const { path } of once) expect(said).toContain(path)
  expect(said).not.toContain('p200/')
})

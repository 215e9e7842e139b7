import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLock } from '../host/lock.ts'
import { openStateFolder } from '../host/state-folder.ts'
import { keysFile, keysLock, openModelKeys } from './model-keys.ts'

test('two keys that are set at the same moment are both kept: who comes second reads what the first has written', async () => {
  const folder = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-keys-'))
  const base = openStateFolder(folder)
  const keys = openModelKeys(base, async () => undefined)
  // Another process is in the middle of it.
  const other = openLock(base.file(keysLock))
  try {
    const order: string[] = []
    let setting: Promise<unknown> | undefined
    await other.hold(async () => {
      setting = keys.set('openai', 'https://one.example', 'sk-one').then(() => order.push('second'))
      for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
      const row = { provider: 'google', origin: 'https://two.example', place: 'file', setAt: 1, key: 'two' }
      base.replace(keysFile, Buffer.from(JSON.stringify({ keys: [row] })))
      order.push('first')
    })
    await setting
    expect(order).toEqual(['first', 'second'])
    expect(keys.list().map(({ provider }) => provider)).toEqual(['google', 'openai'])
    expect(await keys.get('google', 'https://two.example')).toBe('two')
  } finally {
    other.close()
    base.close()
    rmSync(folder, { recursive: true })
  }
})

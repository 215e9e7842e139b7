import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStateFolder } from '../../host/state-folder.ts'
import { runToEnd } from '../../text/steps.ts'
import { openIndexFile } from './index-file.ts'

test('beyond its bounds the oldest go, a few at a time; what was said goes only where it is old', () => {
  const folder = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-index-'))
  const state = openStateFolder(folder)
  const index = openIndexFile(state)
  try {
    const lines = Array.from({ length: 2_500 }, (_, n) => ({ ref: `line ${n}`, at: n, line: n, words: ['same', `only${n}`] }))
    let writes = 0
    for (const step of index.put('log', lines)) writes += step === undefined ? 1 : 0
    // However much is put at once, others have their turn every few rows.
    expect(writes).toBeGreaterThan(2_500 / 32 + 5_000 / 256)
    runToEnd(index.put('talk', [{ ref: 'talk one', at: 7, words: ['same'] }]))
    // What is added twice, by whoever was interrupted, is there once.
    runToEnd(index.put('log', lines.slice(1_000, 1_100)))
    expect([index.entries(), index.find('line 1050')?.lines]).toEqual([2_501, '1050'])
    const most = { entries: 2_048, words: 1_000_000 }
    let steps = 0
    while (index.bound(0, most)) steps++
    // Never all of it at once.
    expect(steps).toBeGreaterThan(3)
    expect(index.find('line 1023')).toBe(undefined)
    expect(index.find('line 1024')).toMatchObject({ lines: '1024' })
    expect(index.find('talk one')).toMatchObject({ at: 7 })
    const page = (words: string[]) => index.page('log', 2_500, words, 0, 10_000)
    expect(
      page(['same'])
        ?.found.slice(0, 2)
        .map(({ ref }) => ref),
    ).toEqual(['line 2499', 'line 2498'])
    expect(page(['same', 'only2421'])?.found.map(({ ref }) => ref)).toEqual(['line 2421'])
    expect(page(['only5'])).toEqual({ found: [], below: 2_048 })
    // By the number of words, too.
    while (index.bound(0, { entries: 2_048, words: 2_000 })) steps++
    expect(index.find('line 2047')).toBe(undefined)
    expect(index.find('line 2499')).not.toBe(undefined)
  } finally {
    index.close()
    state.close()
    rmSync(folder, { recursive: true })
  }
})

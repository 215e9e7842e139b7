import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStateFolder } from '../../host/state-folder.ts'
import { openIndexFile } from './index-file.ts'

test('beyond its bounds the oldest go, a few at a time; what was said goes only where it is old', () => {
  const folder = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-index-'))
  const state = openStateFolder(folder)
  const index = openIndexFile(state)
  try {
    index.transaction(() => {
      for (let n = 0; n < 2_500; n++) index.add('log', `line ${n}`, n, n, ['same', `only${n}`])
      index.add('talk', 'talk one', 7, undefined, ['same'])
    })
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
    expect(page(['same', 'only2321'])?.found.map(({ ref }) => ref)).toEqual(['line 2321'])
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

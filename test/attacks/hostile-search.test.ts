import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { ceiling } from '../support/ceiling.ts'
import { sweep } from '../support/soak.ts'

interface Found {
  matches: { path: string; line: number; preview: string }[]
  truncated?: true
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What a search may leave in memory, far above what it keeps and far below what the files hold together. */
const most = sweep(60, 12) << 20

/** Both engines: ripgrep, and ours for patterns only JavaScript knows. */
for (const [engine, regex] of [
  ['ripgrep', 'x'],
  ['our own', '(?=x)'],
] as const) {
  test(`B10 ${engine}: lines of megabytes are found, and only their beginning is kept`, async () => {
    const files = Object.fromEntries(
      Array.from({ length: sweep(40, 6) }, (_, i) => [`f${String(i).padStart(2, '0')}.txt`, `${i}${'x'.repeat(4 << 20)}`]),
    )
    await using world = await openWorld({ files })
    collect()
    const before = process.memoryUsage().heapUsed
    const { turns, result } = await turnsDuring(() =>
      world.call<Found>('search_files', { path: '.', regex, maxMatches: 1_000_000_000 }),
    )
    expect(turns).toBeGreaterThan(3)
    expect(result.matches.map(({ path }) => path)).toEqual(Object.keys(files))
    for (const { preview } of result.matches) expect(preview).toHaveLength(401)
    expect(result.truncated).toBeUndefined()
    // Whoever kept slices kept every file: 160 MB, or 24 where there are fewer.
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(most)
  })

  test(`B10 ${engine}: more matches than an answer can hold fill no answer, and that there are more is told`, async () => {
    await using world = await openWorld({ files: { 'many.txt': `${'x'.repeat(30)}\n`.repeat(sweep(400_000, 60_000)) } })
    const result = await world.call<Found>('search_files', { path: '.', regex, maxMatches: 1_000_000_000 })
    expect(JSON.stringify(result).length).toBeLessThan(3_000_000)
    expect(result.truncated).toBe(true)
    expect(result.matches.map(({ line }) => line)).toEqual(result.matches.map((_, index) => index + 1))
    expect(result.matches.length).toBeGreaterThan(10_000)
  })

  test(`B10 ${engine}: a file too large to be searched is told, not passed over in silence`, async () => {
    await using world = await openWorld({ files: { 'big.txt': 'x'.repeat((16 << 20) + 1), 'small.txt': 'x\n' } })
    expect(await world.call<Found>('search_files', { path: '.', regex })).toEqual({
      matches: [{ path: 'small.txt', line: 1, preview: 'x' }],
      truncated: true,
    })
  })
}

test('B11 sixteen million empty lines and a pattern for our own engine: an answer, not a thread out of memory', async () => {
  await using world = await openWorld({ files: { 'empty.txt': `${'\n'.repeat(15_000_000)}x` } })
  const result = await world.call<Found>('search_files', { path: '.', regex: '(?=x)' })
  expect(result.matches).toEqual([{ path: 'empty.txt', line: 15_000_001, preview: 'x' }])
})

test('B12 a replacement that would make gigabytes never comes back from its thread', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a'.repeat(200_000) }, flags: { 'regex-timeout-ms': '60000' } })
  const before = process.memoryUsage().rss
  for (const replace of ['$&'.repeat(1_000), "$'", '$`$&'])
    expect([replace, (await world.fault('replace_in_file', { path: 'a.txt', find: 'a', replace, flags: 'g' })).code]).toEqual([
      replace,
      'E_TOO_LARGE',
    ])
  ceiling('MB', (process.memoryUsage().rss - before) / 2 ** 20, 600)
  expect(world.read('a.txt')).toBe('a'.repeat(200_000))
})

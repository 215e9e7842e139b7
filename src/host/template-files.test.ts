import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { openTemplateFiles } from './template-files.ts'

// The folder is asked each time something is handed in, and listed again only where it changed. Nothing that changed may be missed.

const bases: string[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const base of bases.splice(0)) rmSync(base, { recursive: true, force: true })
})

function open(): { folder: string; put: (name: string) => void; names: () => string[] } {
  const base = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-templates-'))
  bases.push(base)
  const folder = join(base, 'templates')
  const files = openTemplateFiles(folder)
  return {
    folder,
    put: (name) => writeFileSync(join(folder, name), `{"id":"${name}"}`),
    names: () => files().map(({ name }) => name),
  }
}

test('what comes in the very moment in which the folder was listed is seen the next time', () => {
  const { folder, put, names } = open()
  expect(names()).toEqual([])
  mkdirSync(folder)
  const all: string[] = []
  for (let n = 0; n < 50; n++) {
    const name = `${String(n).padStart(2, '0')}.json`
    put(name)
    all.push(name)
    expect(names()).toEqual(all)
  }
})

test('a folder that has long been as it is: what comes, goes or is renamed is seen', () => {
  const { folder, put, names } = open()
  mkdirSync(folder)
  put('a.json')
  // Long after anything was changed: the list is kept, and the folder's own time says when it is another one.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
  const rest = (): void => utimesSync(folder, 1, 1)
  rest()
  expect([names(), names()]).toEqual([['a.json'], ['a.json']])
  put('b.json')
  expect(names()).toEqual(['a.json', 'b.json'])
  rest()
  expect(names()).toEqual(['a.json', 'b.json'])
  unlinkSync(join(folder, 'a.json'))
  expect(names()).toEqual(['b.json'])
  rest()
  expect(names()).toEqual(['b.json'])
  renameSync(join(folder, 'b.json'), join(folder, 'c.json'))
  expect(names()).toEqual(['c.json'])
})

test('another folder in its place, also behind a link, is listed', () => {
  const { folder, names } = open()
  for (const name of ['one', 'two']) {
    mkdirSync(`${folder}-${name}`)
    writeFileSync(join(`${folder}-${name}`, `${name}.json`), '{}')
    utimesSync(`${folder}-${name}`, 1, 1)
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
  symlinkSync(`${folder}-one`, folder)
  expect([names(), names()]).toEqual([['one.json'], ['one.json']])
  unlinkSync(folder)
  symlinkSync(`${folder}-two`, folder)
  expect(names()).toEqual(['two.json'])
  unlinkSync(folder)
  expect(names()).toEqual([])
})

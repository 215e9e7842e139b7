import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pathRules } from '../paths.ts'
import { closeRoot, openRoot, type Root } from '../walk.ts'
import { watchHidden } from './hidden.ts'

let base: string
let root: Root
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'handrail-hidden-'))
  root = openRoot(base)
})
afterEach(() => {
  closeRoot(root)
  rmSync(base, { recursive: true })
})
const put = (...paths: string[]): void =>
  paths.forEach((path) => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), 'KEY=1\n')
  })
const names = (look: ReturnType<typeof watchHidden>): string[] =>
  look()
    .map(({ path, folder }) => (folder ? `${path}/` : path))
    .sort()

test('what tools may not enter is hidden at any depth, save what programs must read; patterns for readers are not', () => {
  put('.env', 'a/b/.ENV.local', 'a/.env.example', 'a/.handrail/token', 'c/.env/x', 'node_modules/p/.env', '.git/config', 'a/envy')
  const look = watchHidden(root, pathRules(['.git', 'node_modules', '.env']), ['.git', 'node_modules'])
  expect(names(look)).toEqual(['.env', 'a/.handrail/', 'a/b/.ENV.local', 'c/.env/'])
})

test('what is ours can be made visible by nobody', () => {
  put('.handrail/token', 'handrail.config.json', '.handrail-1a.tmp', '.git/config')
  const visible = ['.handrail', 'handrail.config.json', '.handrail-1a.tmp', '.git']
  expect(names(watchHidden(root, pathRules(['.git']), visible))).toEqual([
    '.handrail-1a.tmp',
    '.handrail/',
    'handrail.config.json',
  ])
})

test('what comes, goes or moves later is known at the next look, also within one tick of the clock', () => {
  put('a/b/c/x.txt')
  const look = watchHidden(root, pathRules([]), [])
  expect(names(look)).toEqual([])
  for (let round = 0; round < 50; round++) {
    put(`a/b/c/.env.${round}`)
    expect(names(look)).toHaveLength(round + 1)
  }
  put('new/deep/.env')
  expect(names(look)).toContain('new/deep/.env')
  rmSync(join(base, 'a'), { recursive: true })
  expect(names(look)).toEqual(['new/deep/.env'])
})

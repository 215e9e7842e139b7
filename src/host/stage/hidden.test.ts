import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pathRules, type PathRules } from '../paths.ts'
import { closeRoot, openRoot, type Root } from '../walk.ts'
import { watchHidden, type HiddenWatch } from './hidden.ts'

let base: string
let root: Root
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'handrail-hidden-'))
  root = openRoot(base)
})
afterEach(() => {
  open?.close()
  closeRoot(root)
  rmSync(base, { recursive: true })
})
const put = (...paths: string[]): void =>
  paths.forEach((path) => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), 'KEY=1\n')
  })
let open: HiddenWatch | undefined
const opened = (rules: PathRules, visible: string[]): HiddenWatch => (open = watchHidden(base, { rules, visible }))
const names = async (watch: HiddenWatch): Promise<string[]> =>
  (await watch.scan())
    .map(({ path, folder, instead }) => (folder ? `${path}/` : instead === undefined ? path : `${path}=${instead}`))
    .sort()

test('what tools may not enter is hidden at any depth, save what programs must read; patterns for readers are not', async () => {
  put('.env', 'a/b/.ENV.local', 'a/.env.example', 'a/.handrail/token', 'c/.env/x', 'node_modules/p/.env', '.git/config', 'a/envy')
  const look = opened(pathRules(['.git', 'node_modules', '.env']), ['.git', 'node_modules'])
  expect(await names(look)).toEqual(['.env', '.git/config=', 'a/.handrail/', 'a/b/.ENV.local', 'c/.env/', 'node_modules/p/.env'])
})

test('what is ours can be made visible by nobody', async () => {
  put('.handrail/token', 'handrail.config.json', '.handrail-1a.tmp', '.git/HEAD')
  const visible = ['.handrail', 'handrail.config.json', '.handrail-1a.tmp', '.git']
  expect(await names(opened(pathRules(['.git']), visible))).toEqual(['.handrail-1a.tmp', '.handrail/', 'handrail.config.json'])
})

test('what comes, goes or moves later is known at the next look, also within one tick of the clock', async () => {
  put('a/b/c/x.txt')
  const look = opened(pathRules([]), [])
  expect(await names(look)).toEqual([])
  for (let round = 0; round < 50; round++) {
    put(`a/b/c/.env.${round}`)
    expect(await names(look)).toHaveLength(round + 1)
  }
  put('new/deep/.env')
  expect(await names(look)).toContain('new/deep/.env')
  rmSync(join(base, 'a'), { recursive: true })
  expect(await names(look)).toEqual(['new/deep/.env'])
})

test('below what programs must read only secrets are hidden: certificates are not, nor git’s own names', async () => {
  put(
    'node_modules/p/.npmrc',
    'node_modules/p/secret/x.js',
    'node_modules/.bin/.git/config',
    '.git/refs/heads/fix.env',
    '.git/credentials',
  )
  writeFileSync(join(base, 'node_modules/p/cacert.pem'), '-----BEGIN CERTIFICATE-----\nMII\n')
  writeFileSync(join(base, 'node_modules/p/key.pem'), '-----BEGIN RSA PRIVATE KEY-----\nMII\n')
  writeFileSync(join(base, '.git/config'), '[remote "o"]\n\turl = https://u:p@h/x\n\tpushurl = ssh://git@h/x\n')
  const look = opened(pathRules(['.git', 'node_modules', 'secret']), ['.git', 'node_modules'])
  const config = '.git/config=[remote "o"]\n\turl = https://h/x\n\tpushurl = ssh://git@h/x\n'
  const other = 'node_modules/.bin/.git/config='
  const found = ['.git/credentials', config, other, 'node_modules/p/.npmrc', 'node_modules/p/key.pem'].sort()
  expect(await names(look)).toEqual(found)
  writeFileSync(join(base, 'node_modules/p/cacert.pem'), '-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n')
  expect(await names(look)).toEqual([...found, 'node_modules/p/cacert.pem'].sort())
})

test('folders that are swapped, removed and made anew, by the thousand, are known as they are', async () => {
  const seed = Date.now() % 1_000_000
  let state = seed
  const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below
  const look = opened(pathRules(['node_modules']), ['node_modules'])
  const all = (at: string): string[] =>
    readdirSync(join(base, at), { withFileTypes: true }).flatMap((one) => {
      const path = at === '' ? one.name : `${at}/${one.name}`
      return one.isDirectory() ? all(path) : one.name === '.env' ? [path] : []
    })
  const folder = (): string => ['node_modules', 'a', 'b'][random(3)] + `/${random(4)}/${random(4)}`
  for (let round = 0; round < 60; round++) {
    for (let act = 0; act < 1 + random(round % 10 === 9 ? 600 : 6); act++) {
      const [one, other] = [folder(), folder()]
      const what = random(5)
      if (what < 2) put(`${one}/.env`)
      else if (what === 2) put(`${one}/deep/er/.env`)
      else if (what === 3) rmSync(join(base, one), { recursive: true, force: true })
      else if (existsSync(join(base, one)) && !existsSync(join(base, other))) {
        mkdirSync(dirname(join(base, other)), { recursive: true })
        renameSync(join(base, one), join(base, other))
      }
    }
    expect(await names(look), `seed ${seed}, round ${round}`).toEqual(all('').sort())
  }
})

import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { turnsDuring } from '../../../test/support/loop-turns.ts'
import { pathRules } from '../paths.ts'
import { closeRoot, openRoot } from '../walk.ts'
import { openLinkNames } from './link-names.ts'

test('a link to a place two thousand folders deep costs as many looks at the rules, not their square', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const target = `${'a/'.repeat(2_000)}b`
  symlinkSync(target, join(base, 'deep'))
  const root = openRoot(base)
  const rules = pathRules([])
  let looks = 0
  const counted: typeof rules = {
    ...rules,
    refuseByName(...given) {
      looks++
      return rules.refuseByName(...given)
    },
  }
  const links = openLinkNames(root, counted)
  try {
    const known = await links.scan([])
    expect(known.namesOf(target).names).toEqual(['deep'])
    expect(looks).toBeLessThan(10_000)
  } finally {
    links.close()
    closeRoot(root)
    rmSync(base, { recursive: true, force: true })
  }
})

test('where there are more links than are kept in mind, those that are called like secrets are still followed', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  for (let n = 0; n < 9; n++) symlinkSync('plain.txt', join(base, `a${n}`))
  mkdirSync(join(base, 'z'))
  symlinkSync('../plain.txt', join(base, 'z/.env'))
  const root = openRoot(base)
  let hidden: ReadonlySet<string> = new Set()
  const links = openLinkNames(root, pathRules([]), { hideBehind: (places) => void (hidden = places) }, undefined, { links: 3 })
  try {
    expect((await links.scan([])).all).toBe(false)
    await links.hideLinkedSecrets()
    expect([...hidden]).toEqual(['plain.txt'])
  } finally {
    links.close()
    closeRoot(root)
    rmSync(base, { recursive: true, force: true })
  }
})

test('a link through a folder that is kept apart is not followed there, also after it comes back', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  symlinkSync('apart/x/../../docs/y', join(base, 'l'))
  const root = openRoot(base)
  const links = openLinkNames(root, pathRules(['apart']))
  try {
    expect((await links.scan([])).namesOf('docs/y').names).toEqual(['l'])
  } finally {
    links.close()
    closeRoot(root)
    rmSync(base, { recursive: true, force: true })
  }
})

test('a folder of many files is looked at in small steps', async () => {
  const base = realpathSync(mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-test-')))
  const root = openRoot(base)
  const look = async (): Promise<number> => {
    const links = openLinkNames(root, pathRules([]))
    try {
      return (await turnsDuring(() => links.scan([]))).turns
    } finally {
      links.close()
    }
  }
  const empty = await look()
  for (let n = 0; n < 30_000; n++) writeFileSync(join(base, `Component${n}.test.tsx`), '')
  try {
    expect(await look()).toBeGreaterThan(empty + 2)
  } finally {
    closeRoot(root)
    rmSync(base, { recursive: true, force: true })
  }
})

test('files that come and go leave nothing to wait for; links, folders and a flood do', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const root = openRoot(base)
  let hidden: ReadonlySet<string> = new Set()
  let judged = 0
  const hideBehind = (places: ReadonlySet<string>): void => {
    judged++
    hidden = places
  }
  const links = openLinkNames(root, pathRules([]), { hideBehind })
  const waits = async (): Promise<boolean> => {
    const before = judged
    await links.hideLinkedSecrets()
    return judged > before
  }
  try {
    await links.hideLinkedSecrets()
    await waits()
    for (let n = 0; n < 40; n++) writeFileSync(join(base, `f${n}`), 'x')
    expect(await waits()).toBe(false)
    for (let n = 0; n < 40; n++) renameSync(join(base, `f${n}`), join(base, `g${n}`))
    expect(await waits()).toBe(false)
    for (let n = 0; n < 40; n++) rmSync(join(base, `g${n}`))
    expect(await waits()).toBe(false)
    writeFileSync(join(base, 'plain.txt'), 'x')
    symlinkSync('plain.txt', join(base, '.env'))
    expect(await waits()).toBe(true)
    expect([...hidden]).toEqual(['plain.txt'])
    rmSync(join(base, '.env'))
    expect(await waits()).toBe(true)
    expect([...hidden]).toEqual([])
    mkdirSync(join(base, 'folder'))
    expect(await waits()).toBe(true)
    symlinkSync('../plain.txt', join(base, 'folder/.npmrc'))
    expect(await waits()).toBe(true)
    expect([...hidden]).toEqual(['plain.txt'])
    rmSync(join(base, 'folder'), { recursive: true })
    expect(await waits()).toBe(true)
    expect([...hidden]).toEqual([])
    for (let n = 0; n < 1_600; n++) writeFileSync(join(base, `f${n}`), 'x')
    expect(await waits()).toBe(true)
    expect(await waits()).toBe(false)
    // What starts others is known by its name, though nobody waited for it.
    writeFileSync(join(base, 'package.json'), '{"scripts":{"prepare":"sh ./tool.sh"}}')
    expect(await waits()).toBe(false)
    expect((await links.scan([])).namedBy('tool.sh')).toMatchObject({ starter: 'package.json' })
  } finally {
    links.close()
    closeRoot(root)
    rmSync(base, { recursive: true, force: true })
  }
})

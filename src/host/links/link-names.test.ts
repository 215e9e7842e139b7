import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
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

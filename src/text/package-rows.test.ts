import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packageRows } from './package-rows.ts'

const json = (value: unknown): string => JSON.stringify(value)

test('package.json: what comes, goes and changes, and scripts, those that run by themselves above all', () => {
  const before = {
    name: 'x',
    scripts: { test: 'vitest' },
    dependencies: { react: '^18', lodash: '4' },
    devDependencies: { a: '1' },
  }
  const after = {
    name: 'y',
    scripts: { test: 'vitest', postinstall: 'node x.js' },
    dependencies: { react: '^19' },
    devDependencies: { a: '1', b: '2' },
  }
  expect(packageRows('sub/package.json', json(before), json(after))).toEqual([
    '+ b (devDependencies) 2',
    '- lodash 4',
    '- react ^18',
    '+ react ^19',
    '+ script postinstall, which runs by itself: node x.js',
  ])
  expect(packageRows('package.json', '', json(after))?.filter((row) => row.startsWith('-'))).toEqual([])
})

test('lock files of npm, Yarn, pnpm, Cargo and Poetry', () => {
  const npm = (version: string, script = false) =>
    json({ packages: { '': {}, 'node_modules/a': { version, ...(script && { hasInstallScript: true }) } } })
  expect(packageRows('package-lock.json', npm('1.0.0'), npm('1.0.1', true))).toEqual([
    '- a 1.0.0',
    '+ a 1.0.1, runs a script when it is installed',
  ])
  const yarn = (version: string) =>
    `# yarn\n\n"@s/a@^1.0.0", "@s/a@^1":\n  version "${version}"\n  resolved "x"\n\nb@^2:\n  version "2.0.0"\n`
  expect(packageRows('yarn.lock', yarn('1.0.0'), yarn('1.2.0'))).toEqual(['- @s/a 1.0.0', '+ @s/a 1.2.0'])
  const pnpm = (version: string) => `packages:\n\n  /b@${version}:\n    resolution: {}\n  '@s/a@2.0.0':\n    resolution: {}\n`
  expect(packageRows('pnpm-lock.yaml', pnpm('1.0.0'), pnpm('1.0.2'))).toEqual(['- b 1.0.0', '+ b 1.0.2'])
  const cargo = (version: string) => `[[package]]\nname = "serde"\nversion = "${version}"\n`
  expect(packageRows('Cargo.lock', cargo('1.0.0'), cargo('1.0.1'))).toEqual(['- serde 1.0.0', '+ serde 1.0.1'])
})

test('what is no such file, or cannot be read as one, is left to its lines; nothing throws', () => {
  expect(packageRows('src/a.ts', 'a', 'b')).toBeUndefined()
  expect(packageRows('package.json', '{', '{}')).toBeUndefined()
  expect(packageRows('package.json', '[]', '{}')).toBeUndefined()
  fc.assert(
    fc.property(
      fc.constantFrom('package.json', 'package-lock.json', 'yarn.lock', 'pnpm-lock.yaml', 'Cargo.lock'),
      fc.oneof(fc.json(), fc.string()),
      (name, text) => {
        for (const row of packageRows(name, '', text) ?? []) expect(row).toMatch(/^[+-] /)
      },
    ),
    { numRuns: 100 },
  )
})

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { leaves } from '../../src/config/load.ts'
import { cleanEnv, repository } from '../support/world.ts'

const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(repository, name), 'utf8')) as Record<string, unknown>
const about = read('package.json') as Record<'name' | 'version' | 'mcpName' | 'license', string> &
  Record<'scripts' | 'dependencies' | 'publishConfig' | 'repository', Record<string, string>>

/** What npm would publish, without running a build that other tests stand on. */
function published(): string[] {
  const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], {
    cwd: repository,
    encoding: 'utf8',
  })
  return (JSON.parse(answer) as [{ files: { path: string }[] }])[0].files.map(({ path }) => path).sort()
}

const files = published()

test('the package holds the program, the contracts and words for people, and nothing else', () => {
  const folders = new Set(files.map((path) => path.split('/')[0] as string))
  expect([...folders].sort()).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'README.zh-CN.md',
      'bin',
      'contracts',
      'dist',
      'package.json',
      'prompts',
      'skills',
    ].sort(),
  )
  expect(files.filter((path) => path.startsWith('bin/'))).toEqual(['bin/handrail.js', 'bin/package.json'])
  expect(files.filter((path) => /\.(ts|map|test\.\w+|tgz|log)$|(^|\/)\./.test(path))).toEqual(['contracts/v1/client.d.ts'])
})

test('every part of the program is in it, but no code cache: V8 takes one by the length of its source, whatever that says', () => {
  const built = readdirSync(join(repository, 'dist'), { recursive: true, encoding: 'utf8' }).map((path) => `dist/${path}`)
  expect(files.filter((path) => /^dist\/[^/]+\.cjs$/.test(path))).toEqual(
    built.filter((path) => /^dist\/[^/]+\.cjs$/.test(path)).sort(),
  )
  expect(files.filter((path) => path.endsWith('.cache'))).toEqual([])
})

test('nothing optional is loaded from whatever folder it lies in: what `ws` looks for is not looked for', () => {
  const named = files.filter(
    (path) =>
      /^dist\/[^/]+\.[cm]js$/.test(path) && /bufferutil|utf-8-validate/.test(readFileSync(join(repository, path), 'utf8')),
  )
  expect(named).toEqual([])
})

test('what is published runs from a folder of its own, with its one dependency', () => {
  const base = mkdtempSync(join(tmpdir(), 'handrail-package-'))
  const folder = join(base, 'package')
  try {
    for (const path of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      cpSync(join(repository, path), join(folder, path))
    }
    for (const name of ['@photostructure', 'node-gyp-build']) {
      mkdirSync(join(folder, 'node_modules'), { recursive: true })
      symlinkSync(join(repository, 'node_modules', name), join(folder, 'node_modules', name))
    }
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, [join(folder, 'bin/handrail.js'), ...args, '--project', folder], {
        encoding: 'utf8',
        env: cleanEnv(base),
      })
    expect(run('--version').trim()).toBe(about.version)
    expect(run('call', 'read_file', '{"path":"LICENSE"}')).toContain('MIT License')
    expect(run('init', 'codex', '--print')).toContain('[mcp_servers.handrail]')
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
})

test('nothing runs on the machine of who installs it: `prepare` is for clones, and npm never runs it for a published package', () => {
  const lifecycle = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'postprepare', 'dependencies']
  expect(Object.keys(about.scripts).filter((name) => lifecycle.includes(name))).toEqual([])
  expect(about.scripts['prepare']).toBe('node scripts/build.mjs')
  expect(files.filter((path) => /binding\.gyp$|\.node$|^scripts\//.test(path))).toEqual([])
})

test('who publishes it, and that it can be traced', () => {
  expect(about.mcpName).toBe('io.github.handrail-dev/handrail')
  expect(about.repository).toEqual({ type: 'git', url: 'git+https://github.com/handrail-dev/handrail.git' })
  expect(about.publishConfig).toEqual({ access: 'public', provenance: true })
})

test('server.json says the same as package.json, in the bounds of the registry', () => {
  const server = read('server.json') as Record<'name' | 'version' | 'title' | 'description', string> & {
    repository: { url: string }
    packages: {
      identifier: string
      version: string
      environmentVariables: { name: string }[]
      packageArguments: { type: string; name?: string; value?: string }[]
    }[]
  }
  const [npm, ...more] = server.packages
  expect(more).toEqual([])
  expect([server.name, server.version]).toEqual([about.mcpName, about.version])
  expect([npm?.identifier, npm?.version]).toEqual([about.name, about.version])
  expect(`git+${server.repository.url}.git`).toBe(about.repository['url'])
  expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  expect(server.description.length).toBeLessThanOrEqual(100)
  expect(server.title.length).toBeLessThanOrEqual(100)
  expect(npm?.packageArguments.map(({ name, value }) => name ?? value)).toEqual(['mcp', '--project'])
  const settings = new Set(leaves.map(({ env }) => env))
  expect(npm?.environmentVariables.filter(({ name }) => !settings.has(name))).toEqual([])
})

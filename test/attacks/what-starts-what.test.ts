import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { whatRuns } from '../../src/text/files-that-run/index.ts'
import { starterNames } from '../../src/text/files-that-run/starters.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let notes = ''
let count = 0
/** What comes of a write: it is done, or a person is asked, who says no. */
async function write(world: World, path: string): Promise<string> {
  notes = ''
  try {
    await world.call('write_to_file', { path, content: `x ${count++}\n`, dryRun: false })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') return errorCodeOf(fault as Fault)
    notes = world.runtime.approvals.get(id)?.card.notes?.join('\n') ?? ''
    world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    // The next write is judged for itself, and not for this no.
    world.runtime.approvals.lift(id, 'test')
    return 'asked'
  }
}
const judged = async (world: World, paths: readonly string[]): Promise<string[]> => {
  const asked: string[] = []
  for (const path of paths) if ((await write(world, path)) === 'asked') asked.push(path)
  return asked
}
/** These files, in which each of `asks` is started by something and none of `free` is. */
async function expectAsked(files: Record<string, string>, asks: readonly string[], free: readonly string[] = []): Promise<void> {
  await using world = await openWorld({ flags, files })
  expect([files, await judged(world, [...free, ...asks])]).toEqual([files, asks])
}
let elsewhere: string | undefined
afterEach(() => {
  if (elsewhere) rmSync(elsewhere, { recursive: true })
  elsewhere = undefined
})
const outside = (): string => (elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-elsewhere-'))))
const git = (cwd: string, ...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'protocol.file.allow=always', ...args], {
    cwd,
    stdio: 'ignore',
  })
const put = (at: string, text: string): void => {
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
}

test('settings that git includes, whatever the condition, and what those name and include', async () => {
  await expectAsked(
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/config': '[include]\n\tpath = ../conf/a.inc\n[includeIf "gitdir:/nowhere/"]\n\tpath = "../conf/b.inc"\n',
      'conf/a.inc': '[core]\n\tfsmonitor = tools/watch.txt\n[include] path = deeper/c.inc ; and more\n',
      'conf/b.inc': '[alias]\n\tst = "!sh \\\n  tools/st.txt"\n[pager]\n\tlog = sh tools/page.txt\n',
      'conf/deeper/c.inc': '[core]\n\thooksPath = own/hooks\n[include]\n\tpath = ../a.inc\n',
      'own/hooks/pre-commit': '#!/bin/sh\nsh tools/check.txt\n',
    },
    [
      'conf/a.inc',
      'conf/b.inc',
      'conf/deeper/c.inc',
      'own/hooks/post-merge',
      'tools/watch.txt',
      'tools/st.txt',
      'tools/page.txt',
      'tools/check.txt',
    ],
    ['conf/other.inc', 'tools/free.txt', 'deeper/c.inc'],
  )
})

test('git takes an include as soon as it comes', async () => {
  await using world = await openWorld({ flags, files: { '.git/config': '[core]\n\tbare = false\n', 'a.inc': '' } })
  expect(await judged(world, ['a.inc', 'tools/x.txt'])).toEqual([])
  appendFileSync(world.path('.git/config'), '[include]\n\tpath = ../a.inc\n')
  expect(await judged(world, ['a.inc', 'tools/x.txt'])).toEqual(['a.inc'])
  writeFileSync(world.path('a.inc'), '[diff]\n\texternal = tools/x.txt\n')
  expect(await judged(world, ['tools/x.txt'])).toEqual(['tools/x.txt'])
})

test('a worktree, a repository below, submodules, and a git folder that lies elsewhere', async () => {
  await using world = await openWorld({ flags, files: { 'a.txt': 'x' } })
  git(world.path(''), 'init', '-q')
  git(world.path(''), 'add', 'a.txt')
  git(world.path(''), 'commit', '-qm', 'x')
  git(world.path(''), 'config', 'extensions.worktreeConfig', 'true')
  put(world.path('.git/config.worktree'), '[core]\n\tsshCommand = sh own/ssh.txt\n')
  git(world.path(''), 'worktree', 'add', '-q', 'trees/one')
  put(world.path('.git/worktrees/one/config.worktree'), '[core]\n\tfsmonitor = ./own/one.txt\n\thooksPath = own/hooks\n')
  put(world.path('.git/hooks/post-checkout'), '#!/bin/sh\nsh own/shared.txt\n')
  git(world.path(''), 'init', '-q', 'below/deep')
  git(world.path('below/deep'), 'config', 'core.pager', 'sh own/page.txt')
  const other = outside()
  git(other, 'init', '-q', 'lib')
  git(join(other, 'lib'), 'commit', '-qm', 'x', '--allow-empty')
  git(world.path(''), 'submodule', 'add', '-q', join(other, 'lib'), 'mods/lib')
  git(world.path('mods/lib'), 'config', 'diff.external', './own/diff.txt')
  put(world.path('.git/modules/mods/lib/hooks/pre-commit'), '#!/bin/sh\n. own/sub.txt\n')
  expect(
    await judged(world, [
      'own/free.txt',
      'trees/one/own/free.txt',
      'own/ssh.txt',
      'trees/one/own/one.txt',
      'trees/one/own/hooks/pre-push',
      'own/shared.txt',
      'trees/one/own/shared.txt',
      'below/deep/own/page.txt',
      'mods/lib/own/diff.txt',
      'mods/lib/own/sub.txt',
    ]),
  ).toEqual([
    'own/ssh.txt',
    'trees/one/own/one.txt',
    'trees/one/own/hooks/pre-push',
    'own/shared.txt',
    'trees/one/own/shared.txt',
    'below/deep/own/page.txt',
    'mods/lib/own/diff.txt',
    'mods/lib/own/sub.txt',
  ])
})

test('a checkout that git is told to be elsewhere, hooks that lead nowhere, and more submodules than are looked at', async () => {
  await using world = await openWorld({
    flags,
    files: { '.git/config': '[core]\n\tworktree = ../tree\n\tfsmonitor = tools/watch.txt\n', '.git/hooks/x': '' },
  })
  symlinkSync('nowhere', world.path('.git/hooks/pre-commit'))
  mkdirSync(world.path('.git/hooks/post-merge'))
  expect(await judged(world, ['free.txt', 'tree/tools/watch.txt'])).toEqual(['tree/tools/watch.txt'])
  for (let index = 0; index < 400; index++) put(world.path(`.git/modules/m${index}/HEAD`), 'ref: refs/heads/main\n')
  expect(await judged(world, ['free.txt'])).toEqual(['free.txt'])
  expect(notes).toContain('may be started by .git/config, which is too large to be looked at whole')
})

test('a project that is a worktree of a repository elsewhere', async () => {
  await using world = await openWorld({ flags })
  const other = outside()
  put(join(other, 'r/HEAD'), 'ref: refs/heads/main\n')
  put(join(other, 'r/config'), `[core]\n\tfsmonitor = ${world.path('tools/whole.txt')}\n`)
  put(join(other, 'r/hooks/pre-push'), '#!/bin/sh\nexec "$(git rev-parse --show-toplevel)/tools/push.txt"\n')
  put(join(other, 'r/worktrees/w/commondir'), '../..\n')
  put(join(other, 'r/worktrees/w/HEAD'), 'ref: refs/heads/w\n')
  put(join(other, 'r/worktrees/w/config.worktree'), '[core]\n\teditor = sh tools/edit.txt\n')
  put(world.path('.git'), `gitdir: ${join(other, 'r/worktrees/w')}\n`)
  const named = ['tools/whole.txt', 'tools/push.txt', 'tools/edit.txt']
  expect(await judged(world, ['tools/free.txt', ...named])).toEqual(named)
  // And the folder of git itself behind a link.
  rmSync(world.path('.git'))
  symlinkSync(join(other, 'r'), world.path('.git'))
  expect(await judged(world, named)).toEqual(named.slice(0, 2))
})

test('an ordinary hook, from where git starts it and from where it lies; samples start nothing', async () => {
  await using world = await openWorld({
    flags,
    files: {
      '.git/hooks/pre-commit': '#!/bin/sh\n. "$(dirname "$0")/../../tools/lies.txt"\nexec sh ./tools/pre.txt "$@"\n',
      '.git/hooks/commit-msg.sample': '#!/bin/sh\nsh tools/sample.txt\n',
      '.git/hooks/post-merge': '#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(["python3", "-m", "tools.after"])\n',
      '.git/hooks/pre-push': '#!/bin/sh\ncd tools && sh push.txt\n',
    },
  })
  const named = ['tools/lies.txt', 'tools/pre.txt', 'tools/after.py', 'tools/__init__.py', 'tools/push.txt']
  expect(await judged(world, ['tools/sample.txt', 'tools/free.txt', ...named])).toEqual(named)
  await write(world, 'tools/pre.txt')
  expect(notes).toContain('tools/pre.txt: is started by .git/hooks/pre-commit, which runs with every call of git')
})

test('managers of hooks in package.json, and the scripts they call by name', async () => {
  const hooks = (more: object): Record<string, string> => ({
    'package.json': JSON.stringify({
      scripts: { lint: 'node tools/lint.txt', build: 'node tools/build.txt', all: 'npm run lint' },
      ...more,
    }),
  })
  for (const more of [
    { 'simple-git-hooks': { 'pre-commit': 'sh tools/hook.txt && npm run all' } },
    { husky: { hooks: { 'pre-commit': 'sh tools/hook.txt && yarn lint' } } },
    { gitHooks: { 'pre-commit': 'sh tools/hook.txt && pnpm lint' } },
    { config: { ghooks: { 'pre-commit': 'sh tools/hook.txt; npm run -s lint' } } },
    { 'pre-commit': ['lint'], 'lint-staged': { '*.js': ['sh tools/hook.txt'] } },
    { 'nano-staged': { '*': 'sh tools/hook.txt' }, 'pre-push': 'lint' },
  ])
    await expectAsked(hooks(more), ['tools/hook.txt', 'tools/lint.txt'], ['tools/build.txt', 'tools/free.txt'])
  await expectAsked(
    { 'package.json': JSON.stringify({ scripts: { precommit: 'sh tools/old.txt', 'pnpm:devPreinstall': 'sh tools/pnpm.txt' } }) },
    ['tools/old.txt', 'tools/pnpm.txt'],
  )
})

test('managers of hooks in files of their own', async () => {
  const managers = Object.entries({
    '.simple-git-hooks.json': '{"pre-commit":"sh tools/x.txt"}',
    'simple-git-hooks.cjs': 'module.exports = { "pre-commit": "sh tools/x.txt" }',
    '.huskyrc.json': '{"hooks":{"pre-commit":"sh tools/x.txt"}}',
    '.lintstagedrc': '"*.js": "sh tools/x.txt"',
    'lint-staged.config.mjs': 'export default { "*": "sh tools/x.txt" }',
    '.pre-commit-config.yaml': 'repos:\n- repo: local\n  hooks:\n  - id: x\n    entry: tools/x.txt\n',
    'lefthook.toml': '[pre-commit.commands.a]\nrun = "sh tools/x.txt"',
    '.lefthook-local.yml': 'pre-commit:\n  commands:\n    a:\n      run: sh tools/x.txt',
    '.overcommit.yml': 'PreCommit:\n  X:\n    command: ["tools/x.txt"]',
    'hk.pkl': 'hooks { ["pre-commit"] { check = "sh tools/x.txt" } }',
    'captainhook.json': '{"pre-commit":{"actions":[{"action":"tools/x.txt"}]}}',
    '.husky/_/x': 'sh tools/x.txt',
    '.husky/post-rewrite': 'sh tools/x.txt',
    '.idea/watcherTasks.xml': '<option name="program" value="$ProjectFileDir$/tools/x.txt" />',
    '.idea/runConfigurations/a.xml': '<option name="SCRIPT_PATH" value="$PROJECT_DIR$/tools/x.txt" />',
    'package.yaml': 'scripts:\n  prepare: sh tools/x.txt\n',
    '.envrc': 'source_env tools/x.txt',
    '.npmrc': 'node-options=--require ./tools/x.txt',
    '.yarnrc.yml': 'yarnPath: tools/x.txt',
    'bunfig.toml': 'preload = ["./tools/x.txt"]',
    'a.code-workspace': '{"tasks":{"tasks":[{"command":"sh tools/x.txt"}]}}',
    'binding.gyp': `{"targets":[{"sources":["<!(sh tools/x.txt)"]}]}`,
    'composer.json': '{"scripts":{"post-install-cmd":["sh tools/x.txt"]}}',
    'Cargo.toml': '[package]\nname = "x"\nbuild = "tools/x.txt"\n',
    'pyproject.toml': '[build-system]\nbuild-backend = "x"\nbackend-path = ["tools/x.txt"]\n',
  })
  // In `npm test` every third, from another one with every seed.
  const from = draws('managers of hooks')(3)
  for (const [path, text] of managers.filter((_, at) => isSoak || at % 3 === from))
    await expectAsked({ [path]: text }, ['tools/x.txt'], ['tools/y.txt'])
})

test('a hook or a task that goes by way of a runner', async () => {
  const start = (text: string): Record<string, string> => ({ '.husky/pre-commit': text })
  const scripts = JSON.stringify({ scripts: { check: 'node tools/x.txt', other: 'node tools/y.txt' } })
  await expectAsked({ ...start('npm run check'), 'package.json': scripts }, ['tools/x.txt'], ['tools/y.txt'])
  await expectAsked(
    { '.vscode/tasks.json': '{"tasks":[{"type":"npm","script":"check"}]}', 'package.json': scripts },
    ['tools/x.txt'],
    ['tools/y.txt'],
  )
  await expectAsked({ ...start('npm -w p run check'), 'p/package.json': scripts }, ['p/tools/x.txt'], ['tools/x.txt'])
  await expectAsked(
    { ...start('make check'), Makefile: 'SRC = tools/y.txt\ncheck:\n\tsh tools/x.txt\n' },
    ['tools/x.txt'],
    ['tools/y.txt'],
  )
  await expectAsked({ ...start('just check'), justfile: 'check:\n  sh tools/x.txt\n' }, ['tools/x.txt'])
  await expectAsked(
    { ...start('uv run check'), 'pyproject.toml': '[project.scripts]\ncheck = "tools.check:main"\nother = "tools.other:main"\n' },
    ['tools/check.py', 'tools/check/__init__.py'],
    ['tools/other.py'],
  )
  // Nobody calls it: everyday code.
  await expectAsked({ 'package.json': scripts, Makefile: 'check:\n\tsh tools/x.txt\n' }, [], ['tools/x.txt', 'tools/y.txt'])
})

test('modules by their dots, without their ending, and by the names a package gives them', async () => {
  const task = (command: string): Record<string, string> => ({ '.vscode/tasks.json': JSON.stringify({ tasks: [{ command }] }) })
  const python = [
    'tools/build.py',
    'tools/build/__main__.py',
    'tools/build/__init__.py',
    'tools/__init__.py',
    'src/tools/build.py',
  ]
  await expectAsked(task('python -m tools.build'), python, ['tools/other.py', 'tools/build.txt'])
  await expectAsked({ '.mcp.json': '{"mcpServers":{"x":{"command":"python","args":["-m","build"]}}}' }, [
    'build.py',
    'build/__main__.py',
  ])
  await expectAsked(task('node tools/build'), ['tools/build.js', 'tools/build/index.mjs', 'tools/build.cjs'], ['tools/other.js'])
  await expectAsked(task('node --import ./hook go'), ['hook.mjs', 'go.js'], ['other.js'])
  await expectAsked(task('cd tools && node build'), ['tools/build.js', 'more/tools/build.mjs'], ['tools/other.js'])
  await expectAsked(
    {
      'package.json': JSON.stringify({
        name: 'mine',
        scripts: { prepare: 'node --import #hook -e "import(\'mine/more\')"' },
        imports: { '#hook': { node: './tools/hook.js' } },
        exports: { './more': './tools/more.js' },
      }),
    },
    ['tools/hook.js', 'tools/more.js'],
    ['tools/other.js'],
  )
})

test('a starter in a folder below: from its folder on, and up from it', async () => {
  await expectAsked(
    {
      'packages/x/package.json': JSON.stringify({ scripts: { postinstall: 'node build.js && node ../../shared/after.js' } }),
      'apps/web/.vscode/tasks.json': '{"tasks":[{"command":"sh ${workspaceFolder}/go.txt"}]}',
      'apps/api/.vscode/settings.json': '{"python.defaultInterpreterPath":"./own/python.txt"}',
      'a/b/.husky/pre-commit': 'sh a/b/top.txt; sh near.txt',
      'deep/er/.mcp.json': '{"mcpServers":{"x":{"command":"node","args":["serve"," ./serve.mjs"]}}}',
      'k/.kiro/settings/mcp.json': '{"command":"./kiro.txt"}',
    },
    [
      'packages/x/build.js',
      'shared/after.js',
      'apps/web/go.txt',
      'apps/api/own/python.txt',
      'a/b/top.txt',
      'a/b/near.txt',
      'deep/er/serve.mjs',
      'k/kiro.txt',
    ],
    ['build.js', 'packages/y/build.js', 'packages/x/other.js', 'own/other.txt'],
  )
})

test('as soon as it comes, changes or goes, in a new folder, and behind a link', async () => {
  await using world = await openWorld({ flags, files: { 'p/a.txt': '' } })
  expect(await judged(world, ['p/q/x.js', 'p/q/y.js'])).toEqual([])
  put(world.path('p/q/package.json'), JSON.stringify({ scripts: { prepare: 'node x.js' } }))
  expect(await judged(world, ['p/q/x.js', 'p/q/y.js'])).toEqual(['p/q/x.js'])
  put(world.path('p/q/package.json'), JSON.stringify({ scripts: { prepare: 'node y.js' } }))
  expect(await judged(world, ['p/q/x.js', 'p/q/y.js'])).toEqual(['p/q/y.js'])
  rmSync(world.path('p/q/package.json'))
  expect(await judged(world, ['p/q/x.js', 'p/q/y.js'])).toEqual([])
  put(world.path('p/conf/tasks.json'), '{"tasks":[{"command":"./x.js"}]}')
  put(world.path('p/hooks/pre-commit'), 'sh ./y.js')
  symlinkSync('../conf', world.path('p/q/.vscode'))
  symlinkSync('../hooks', world.path('p/q/.husky'))
  expect(await judged(world, ['p/q/x.js', 'p/q/y.js'])).toEqual(['p/q/x.js', 'p/q/y.js'])
})

test('names with blanks in them', async () => {
  const task = JSON.stringify({
    tasks: [{ command: 'sh', args: ['./tools/my own.txt'] }, { command: 'sh "tools/and this.txt"' }],
  })
  await expectAsked({ '.vscode/tasks.json': task }, ['tools/my own.txt', 'tools/and this.txt'], ['tools/free.txt'])
})

test('looks at the same time see what changed', async () => {
  await using world = await openWorld({ flags, files: { 'p/package.json': '{}', 'p/a.txt': '' } })
  for (let round = 0; round < 10; round++) {
    expect(await judged(world, [`p/x${round}.txt`])).toEqual([])
    put(world.path('p/package.json'), JSON.stringify({ scripts: { prepare: `sh x${round}.txt; sh y${round}.txt` } }))
    const came = await Promise.allSettled(
      ['x', 'y', 'x', 'y'].map((name, index) =>
        world.call(
          'write_to_file',
          { path: `p/${name}${round}.txt`, content: `${index}\n`, dryRun: false },
          { session: `s${index}` },
        ),
      ),
    )
    expect(came.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  }
})

test('every starter is a file that runs, and so says what it does', () => {
  // Handrail's own settings are out of reach of every tool, so nobody is asked about them.
  const names = starterNames().filter((one) => one !== 'handrail.config.json')
  for (const path of names.flatMap((one) => [one, `a/b/${one}`]))
    expect([path, whatRuns(path)?.when]).toEqual([path, expect.any(String)])
})

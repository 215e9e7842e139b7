import { mkdirSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { whatRuns } from '../../src/text/files-that-run/index.ts'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { hiddenTextNotes } from '../../src/text/hidden-text.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }

async function said(world: World, path: string, more: Record<string, unknown> = {}): Promise<string> {
  try {
    await world.call('write_to_file', { path, content: 'x\n', dryRun: false, ...more })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id === 'string') world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    return typeof id === 'string' ? 'asked' : errorCodeOf(fault as Fault)
  }
}

test('names a stranger would try: version controls, editors, agents, build tools', async () => {
  await using world = await openWorld({ flags })
  const unasked: string[] = []
  for (const path of names) if ((await said(world, path)) === 'done') unasked.push(path)
  expect(unasked).toEqual([])
})

test('version controls besides git are out of reach as git is, in any spelling', async () => {
  await using world = await openWorld({ flags })
  for (const path of [
    '.hg/hgrc',
    'sub/.HG/hgrc',
    '.jj/repo/config.toml',
    '.sl/config',
    '.svn/x',
    '.bzr/branch/branch.conf',
    '.pijul/config',
    '_darcs/prefs/defaults',
    '.hg',
  ])
    expect([path, await said(world, path)]).toEqual([path, 'E_DENY_PATH'])
  await using own = await openWorld({ flags: { ...flags, 'forbidden-dirs': 'private' } })
  expect(await said(own, '.hg/hgrc')).toBe('asked')
})

test('other spellings of a listed name', async () => {
  await using world = await openWorld({ flags })
  for (const path of [
    '.VSCode/Tasks.JSON',
    '.vscode./tasks.json',
    '.vscode /tasks.json',
    '.ｖｓcode/tasks.json',
    '.vs\u00adcode/tasks.json',
    '.vscode\u200b/tasks.json',
    'Makefile.',
    'makefile ',
    'package.json::$DATA',
    './/.vscode/./tasks.json',
    'PACKAG~1.JSO',
    'MAKEFI~1',
  ])
    expect([path, (await said(world, path)) === 'done']).toEqual([path, false])
  expect(await said(world, 'Makefile', { mode: 'append' })).toBe('asked')
})

test('files that git reads or runs by its settings, and a hook by another name', async () => {
  await using world = await openWorld({
    flags,
    files: {
      '.git/config': [
        '[include]\n\tpath = ../more.inc',
        '[core]\n\tfsmonitor = tools/watch.py --fast\n\tpager = "./tools/page"',
        '[filter "x"]\n\tclean = node tools/clean.mjs %f',
        '[alias]\n\tst = "!sh tools/st.txt"',
        '[diff "d"]\n\ttextconv = ./tools/conv',
      ].join('\n'),
    },
  })
  for (const path of ['more.inc', 'tools/watch.py', 'tools/page', 'tools/clean.mjs', 'tools/st.txt', 'tools/conv'])
    expect([path, await said(world, path)]).toEqual([path, 'asked'])
  expect(await said(world, 'tools/other')).toBe('done')
})

test('a repository inside by way of links, and a file between two', async () => {
  await using world = await openWorld({
    flags,
    files: { 'r/HEAD': 'ref: x', 'r/objects/x': '', 'r/refs/x': '', 'plain/c.txt': '' },
  })
  symlinkSync('../plain/c.txt', world.path('r/config'))
  expect(await said(world, 'plain/c.txt')).toBe('asked')
  mkdirSync(world.path('k'))
  symlinkSync('../k', world.path('plain/.claude'))
  expect(await said(world, 'k/settings.json')).toBe('asked')
})

test('ordinary files of a game, an app and a paper ask nobody', () => {
  for (const path of [
    'game/scene/config.txt',
    'game/config.json',
    'game/project.json',
    'src/webpack.ts',
    'src/vite.ts',
    'src/app.yaml',
    'assets/level.json',
    'data/cv/me.txt',
    'docs/project.md',
    'src/build.ts',
    'src/server.mjs',
    'styles/main.css',
    'chapter.tex',
    'src/mcp.ts',
    'src/components/Hook.tsx',
    'hooks/use-x.ts',
    'test/setup.ts',
    'tools/convert.py',
    'game/figure/a.json',
    'game/animation/animationTable.json',
    'index.html',
    'manifest.json',
    'Assets/Scripts/Player.cs',
    'scenes/level.tscn',
    'renpy/script.rpy',
    'LICENSE',
    'src/version',
  ])
    expect([path, whatRuns(path)?.of]).toEqual([path, undefined])
})

test('whatever nobody sees is said, in pictures that are text too; an emoji is nothing hidden', () => {
  const notesOn = (path: string, line: string): string =>
    hiddenTextNotes([
      {
        path,
        diff: { type: 'line', hunks: [{ startOld: 1, lenOld: 0, startNew: 1, lenNew: 1, linesOld: [], linesNew: [line] }] },
      },
    ]).join('\n')
  const notes = notesOn('a.svg', '<svg>\u202e\u{e0101}\u00ad\u200f\u2063<!-- do it --></svg>')
  for (const name of ['U+202E', 'U+E0101', 'U+00AD', 'U+200F', 'U+2063', 'HTML comment']) expect(notes).toContain(name)
  expect(notesOn('a.txt', '❤\ufe0f words')).toBe('')
})

const names = `
nodemon.json .nodemonrc.json karma.conf.ts wdio.conf.js vitest.workspace.ts .mocharc.cjs .c8rc.json cypress.json .theia/tasks.json
.codesandbox/tasks.json .replit replit.nix .gitpod.yml mcp_config.json tools.mcp.json cline_mcp_settings.json .opencode/tool/x.ts
.opencode/plugin/x.ts .continue/mcpServers/x.yaml GROK.md .codebuddy/rules/a.md .fossil-settings/editor _FOSSIL_ .tmux.conf .luarc.json
.vimspector.json Session.vim .projectile .project .settings/a.prefs nbproject/project.xml bb.edn project.clj Puppetfile .ddev/config.yaml
lakefile.lean config.nims Tuist/Config.swift a.csproj.user .ocamlinit .busted x.rockspec shard.yml cpanfile .proverc pixi.toml
gunicorn.conf.py locustfile.py jupyter_notebook_config.py .ipython/startup/a.py .terraform/x terraform.tfvars.json x.tofu x.pkr.hcl
.air.toml moon.yml .moon/tasks.yml .tekton/a.yaml .teamcity/settings.kts bitrise.yml .build.yml skaffold.yaml garden.yml Chart.yaml
firebase.json serverless.yml cdk.json .mergify.yml .coderabbit.yaml python.exe git.bat npm.ps1 node.com .latexmkrc latexmkrc PKGBUILD
debian/rules app.spec project.godot addons/x/plugin.cfg Game.uproject Packages/manifest.json .bun-version .php-version .gitconfig
.config/nvim/init.lua .config/autostart/x.desktop .trunk/trunk.yaml captainhook.json ecs.php tauri.conf.json platformio.ini vcpkg.json
Jamfile BUCK .buckconfig.d/x .plzconfig npins/default.nix manifest.scm .devfile.yaml devfile.yaml .stackblitzrc codegen.ts
electron-builder.yml webpack.prod.js .yo-rc.json .cz.toml hooks/hooks.json .zencoder/rules/a.md .amp/x .ddev/commands/host/x .lando.yml
`
  .trim()
  .split(/\s+/)

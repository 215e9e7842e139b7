import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expand, filesThatRun, whatRuns, type RunClass } from '../../src/text/files-that-run/index.ts'
import type { Approval } from '../../src/contracts/approval.ts'
import { secretOn } from '../../src/text/secret-files.ts'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { ask, withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ flags: { ...withShell, 'approval-wait-ms': '0', 'write-requires-diff': 'false' } })
})
afterAll(() => world[Symbol.asyncDispose]())

let count = 0
/** What comes of a write: it is done, a person is asked (and says no), or it is refused. */
async function write(path: string, content = `x ${count++}\n`, session = 'sess_test'): Promise<string> {
  try {
    await world.call('write_to_file', { path, content, dryRun: false }, { session })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') return errorCodeOf(fault as Fault)
    last = world.runtime.approvals.get(id)
    world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    // The next write is judged for itself, and not for this no.
    world.runtime.approvals.lift(id, 'test')
    return 'asked'
  }
}
let last: Approval | undefined

/** A write that a person agrees to as they are asked: whether they were. */
async function agreed(path: string, content: string, session = 'sess_test'): Promise<'done' | 'asked'> {
  const input = { path, content, dryRun: false }
  try {
    await world.call('write_to_file', input, { session })
    return 'done'
  } catch (fault) {
    const id = String((fault as Fault).details?.['approvalId'])
    last = world.runtime.approvals.get(id)
    world.runtime.approvals.decide(id, { approve: true, by: 'test' })
    await world.call('write_to_file', input, { session })
    return 'asked'
  }
}

const behaviour: Record<RunClass, string> = { '1': 'asked', '1*': 'asked', I: 'asked', '2': 'asked', '3': 'done' }

describe('names', () => {
  test('every row of the table does what its class says, in any letter case and at any depth', async () => {
    const below = draws('rows of files that run')
    for (const { files, class: of, depth } of filesThatRun) {
      const patterns = files.split(' ').flatMap(expand)
      // One of each row, another with every seed; in a soak all of them.
      const chosen = below(patterns.length)
      for (const pattern of patterns.filter((_, at) => isSoak || at === chosen)) {
        const name = pattern.replaceAll('**', 'x/y.txt').replaceAll('*', 'x').replaceAll('x/y.txt/', 'x/')
        const anywhere = depth !== 'R' || pattern.startsWith('.')
        {
          const path = anywhere ? `sub/Deep/${name.toUpperCase()}` : name
          const denied =
            secretOn(path.split('/')) !== undefined ||
            /(^|\/)(\.git|\.hg|\.sl|\.jj|\.svn|\.bzr|\.pijul|_darcs|node_modules)(\/|$)/i.test(path)
          expect([path, await write(path)]).toEqual([path, denied ? 'E_DENY_PATH' : behaviour[of]])
        }
      }
    }
  })

  test('the names that were written unasked, of which there were 183 of 204', async () => {
    const unasked: string[] = []
    const below = draws('names that were written unasked')
    for (const path of names) {
      // A write goes by what the table says, and by what no tool may touch: a tenth of them is written, and in a soak all.
      const row = whatRuns(path)
      const isListed = row !== undefined && behaviour[row.class] === 'asked'
      if ((isSoak || !isListed || below(10) === 0) && (await write(path)) === 'done') unasked.push(path)
    }
    expect(names.length).toBeGreaterThanOrEqual(204)
    expect(unasked).toEqual([])
  })

  test('ordinary work asks nobody', async () => {
    for (const path of [
      'README.md',
      'src/index.ts',
      'src/config.ts',
      'game/scene/start.txt',
      'test/a.test.ts',
      'docs/guide/make.md',
      'lib/x.py',
      'index.html',
      'a_test.go',
      'game/config.txt',
      'styles.css',
      'docs/makefile.md',
      'my-package.json',
      'data/HEAD',
      'refs/list.txt',
      'src/objects/a.ts',
      '.gitignore',
      '.vscode/launch.json',
      '.editorconfig',
      '.cache/babel/x.json',
      '.next/server/app.js',
      'src/.gitkeep',
      'src/.unknown',
    ])
      expect([path, await write(path)]).toEqual([path, 'done'])
  })

  test('a dot-file at the top that nobody knows asks once, and so does what lies in such a folder', async () => {
    const session = 'sess_dots'
    for (const path of ['.newtoolrc', '.newtool/settings.toml', '.newtool/deep/hook.js']) {
      expect([path, await agreed(path, 'x\n', session)]).toEqual([path, 'asked'])
      expect([path, await agreed(path, 'y\n', session)]).toEqual([path, 'done'])
    }
    expect(last?.card.notes?.join('\n')).toContain('has a name that tools look for by themselves')
  })

  test('an ignore file asks where it lets out what it kept back, whichever tool changes it', async () => {
    await using own = await openWorld({
      files: { '.gitignore': '# words\n.env\nüber/\n', '.dockerignore': '.env\n' },
      flags: { ...withShell, 'write-requires-diff': 'false' },
    })
    const put = (path: string, content: string) => ({ path, content, mode: 'overwrite', dryRun: false })
    const none = { approvalWaitMs: 0 }
    await own.call('write_to_file', put('.gitignore', '# others\n.env\nüber/\ndist/\n'), none)
    await own.call('shell', { command: 'echo build/ >> .gitignore; echo "*.log" > sub.txt' }, none)
    const lets = 'lets files into commits, packages or images that it kept back'
    const why = async (tool: string, input: Record<string, unknown>): Promise<string> =>
      (await ask(own, input, tool)).card.notes?.join('\n') ?? ''
    expect(await why('write_to_file', put('.gitignore', 'dist/\n'))).toContain(lets)
    expect(await why('shell', { command: "sed -i '/env/d' .gitignore" })).toContain(lets)
    expect(await why('shell', { command: 'echo "!.env" >> .dockerignore' })).toContain(lets)
    expect(await why('shell', { command: 'rm .dockerignore' })).toContain('keeps files back no more')
    expect(await why('shell', { command: 'mv .gitignore old' })).toContain('keeps files back no more')
    expect(await why('shell', { command: 'echo "*.md" > .npmignore' })).toContain('counts in the place of .gitignore')
    await own.call('shell', { command: 'mkdir lib; echo "*.o" > lib/.gitignore' }, none)
  })

  test('the card says why, and class 3 is in the log', async () => {
    await write('.vscode/tasks.json')
    expect(last?.card.notes?.join('\n')).toContain('.vscode/tasks.json: runs when you open the folder in VS Code')
    await write('run.command')
    const line = world.runtime.audit.last(20).find(({ marks }) => marks?.some((mark) => mark.includes('run.command')))
    expect(line?.marks).toEqual(['run.command: runs when it is double-clicked'])
    await write('db/dump.sql')
    expect(
      world.runtime.audit.last(5).some(({ marks }) => marks?.includes('db/dump.sql: may hold passwords or private data')),
    ).toBe(true)
  })

  test('the person’s own list adds to the table', async () => {
    await using own = await openWorld({
      flags: { 'sensitive-files': 'rules/**', 'approval-wait-ms': '0', 'write-requires-diff': 'false' },
    })
    for (const path of ['rules/a.txt', 'Makefile'])
      expect((await own.fault('write_to_file', { path, content: 'x', dryRun: false })).details).toMatchObject({ risk: 'R2' })
  })
})

describe('class 2 asks once', () => {
  test('per session and file', async () => {
    expect(await agreed('vite.config.ts', 'export default 1\n')).toBe('asked')
    expect(last?.card.notes?.join('\n')).toContain(
      'You will not be asked again for vite.config.ts in this session, for the same reasons.',
    )
    expect(await agreed('vite.config.ts', 'export default 2\n')).toBe('done')
    expect(await write('vite.config.ts', 'export default 3\n', 'sess_other')).toBe('asked')
    expect(await write('sub/vite.config.ts')).toBe('asked')
    const grant = world.runtime.grants.list().find(({ subject }) => subject === 'vite.config.ts')
    expect(grant).toMatchObject({ kind: 'runs', session: 'sess_test' })
    world.runtime.grants.revoke(grant?.id ?? '', 'test')
    expect(await write('vite.config.ts', 'export default 4\n')).toBe('asked')
  })

  test('a no grants nothing; classes 1, 1* and I ask each time', async () => {
    expect(await write('rollup.config.js')).toBe('asked')
    expect(await write('rollup.config.js')).toBe('asked')
    for (const path of ['CLAUDE.md', '.mcp.json', 'package.json', '.github/workflows/ci.yml']) {
      expect(await agreed(path, 'one\n')).toBe('asked')
      expect(await agreed(path, 'two\n')).toBe('asked')
    }
  })
})

describe('shapes', () => {
  test('four ordinary writes do not make a bare repository unasked, in any order, by tools or by a program', async () => {
    for (const [index, order] of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [1, 3, 0, 2],
    ].entries()) {
      const files = ['HEAD', 'config', 'objects/x', 'refs/x']
      const said: string[] = []
      for (const at of order) said.push(await write(`lib${index}/${files[at]}`))
      expect(said).toContain('asked')
      expect(said.filter((one) => one === 'done').length).toBeLessThan(4)
    }
    world.write('have/objects/a', '')
    world.write('have/refs/a', '')
    world.write('have/HEAD', 'ref: refs/heads/main\n')
    for (const path of ['have/config', 'have/hooks/pre-commit', 'have/HEAD'])
      expect([path, await write(path)]).toEqual([path, 'asked'])
    expect(last?.card.notes?.join('\n')).toContain('git repository of its own')
    const approval = await ask(world, {
      command: 'git init --bare -q made 2>/dev/null || { mkdir -p made/objects made/refs; echo x > made/HEAD; }',
    })
    expect(approval.card.notes?.join('\n')).toContain('git repository of its own')
  })

  test('a script, and what a listed file starts', async () => {
    expect(await write('tools/new.sh', '#!/bin/sh\necho 1\n')).toBe('asked')
    expect(await write('tools/plain.txt', 'echo 1\n')).toBe('done')
    world.write(
      '.vscode/tasks.json',
      '{"tasks":[{"command":"${workspaceFolder}/go.cmdx","args":["./lib/dist.js"],"runOptions":{"runOn":"folderOpen"}}]}',
    )
    world.write('.claude/settings.json', '{"hooks":{"x":[{"command":"$CLAUDE_PROJECT_DIR/run/hook.rb"}]}}')
    for (const path of ['go.cmdx', 'lib/dist.js', 'run/hook.rb', 'GO.cmdx'])
      expect([path, await write(path)]).toEqual([path, 'asked'])
    expect(last?.card.notes?.join('\n')).toContain('.vscode/tasks.json')
    for (const path of ['other/go.cmdx', 'dist.js']) expect([path, await write(path)]).toEqual([path, 'done'])
  })

  test('what a program makes: the executable bit, a rename or a link onto a listed name', async () => {
    world.write('plain.sh', 'echo 1\n')
    chmodSync(world.path('plain.sh'), 0o644)
    mkdirSync(world.path('.zed'), { recursive: true })
    world.write('draft.json', '{}')
    const { card } = await ask(world, {
      command: 'chmod +x plain.sh; mv draft.json .zed/tasks.json; ln -s .zed/tasks.json todo; ln -s ../CLAUDE.md sub-link',
    })
    const notes = card.notes?.join('\n')
    expect(notes).toContain('plain.sh: can be executed from now on')
    expect(notes).toMatch(/\.zed\/tasks\.json: runs when you open the folder/)
    expect(notes).toContain('todo: leads to .zed/tasks.json')
    expect(notes).toContain('sub-link: leads to ../CLAUDE.md')
  })

  test('a link that stands already leads no write to a listed name', async () => {
    mkdirSync(world.path('.idea'), { recursive: true })
    symlinkSync('.idea', world.path('notes'))
    expect(await write('notes/workspace.xml')).toBe('E_DENY_PATH')
    expect(existsSync(world.path('.idea/workspace.xml'))).toBe(false)
  })
})

test('what nobody sees in instructions is said and written out', async () => {
  const hidden = `Be kind.\u200b\n<!-- send it -->\nmid\ufeffdle \u202eback\u202c \u{e0041}\u{e0042}\n`
  expect(await write('AGENTS.md', hidden)).toBe('asked')
  const notes = last?.card.notes?.join('\n') ?? ''
  for (const name of ['U+200B', 'U+FEFF', 'U+202E', 'U+E0041']) expect(notes).toContain(name)
  expect(notes).toContain('HTML comment')
  expect(await write('AGENTS.md', '\ufeffBe kind.\n')).toBe('asked')
  expect(last?.card.notes?.join('\n')).not.toContain('U+')
})

/** From the facts, one name for each; those denied as secrets or forbidden count as well. */
const names = `
.ropeproject/config.py .bsp/sbt.json buildServer.json .lsp/config.edn app.pro app.pri x.gdextension Content/Python/init_unreal.py
.readthedocs.yaml .taskcluster.yml .zuul.yaml .zuul.d/jobs.yaml .ebextensions/01.config appspec.yml .packit.yaml .platform/hooks/x.sh
.reviewboardrc .sqlfluff .lighthouserc.js .solcover.js .alexrc.js .whatever.mjs .anytool/run.yml
.git/config .git/config.worktree .git/hooks/pre-commit sub/.git .git/commondir .git/modules/a/config .githooks/pre-push .husky/pre-commit
.gitattributes .gitmodules .vscode/tasks.json .vscode/settings.json my.code-workspace .vscode/mcp.json build.rs Gemfile
ruby_lsp/a/addon.rb .venv/bin/python .idea/workspace.xml .run/a.xml .vs/a.json app.sln .zed/settings.json .zed/tasks.json
.zed/debug.json .helix/config.toml .exrc .vimrc .nvimrc .nvim.lua .dir-locals.el .dir-locals-2.el .envrc devbox.json .autoenv.zsh
.mise.toml mise.toml mise.local.toml .mise/tasks/a mise/config.toml .config/mise.toml .config/mise/config.toml .mise-tasks/a mise-tasks/a
.tool-versions .nvmrc .node-version .python-version .ruby-version desktop.ini a.lnk a.url a.scf a.library-ms a.searchConnector-ms
package.json binding.gyp .npmrc package-lock.json yarn.lock pnpm-lock.yaml .pnpmfile.cjs .pnpmfile.mjs .pnpmfile.js pnpm-workspace.yaml
.yarnrc.yml .yarn/releases/yarn.cjs .yarn/plugins/a.cjs .pnp.cjs .pnp.loader.mjs .yarnrc bunfig.toml deno.json deno.jsonc vite.config.ts
eslint.config.js jest.config.cjs next.config.mjs tailwind.config.mts a.config.cts .eslintrc.json .eslintrc.js .prettierrc .stylelintrc.js
.babelrc .mocharc.yml gulpfile.js Gruntfile.js tsconfig.json nx.json turbo.json node_modules/a/index.js conftest.py pytest.ini tox.ini
setup.cfg noxfile.py setup.py pyproject.toml hatch_build.py requirements.txt requirements-dev.txt uv.toml Pipfile .pylintrc mypy.ini .flake8
pyrightconfig.json mkdocs.yml docs/conf.py tasks.py fabfile.py a.pth sitecustomize.py pyvenv.cfg a.gemspec Rakefile .rspec .irbrc
.pryrc .rubocop.yml .bundle/config extconf.rb Guardfile Podfile Fastfile Dangerfile composer.json phpunit.xml phpunit.xml.dist
phpstan.neon rector.php .php-cs-fixer.dist.php .user.ini .htaccess gradlew gradlew.bat gradle/wrapper/gradle-wrapper.properties build.gradle
settings.gradle.kts gradle.properties buildSrc/a.kt mvnw mvnw.cmd .mvn/extensions.xml pom.xml build.xml build.sbt project/plugins.sbt .sbtopts
.jvmopts Cargo.toml .cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml go.mod go.work magefile.go .golangci.yml .goreleaser.yaml
GNUmakefile makefile Makefile a.mk configure CMakeLists.txt a.cmake CMakePresets.json CMakeUserPresets.json meson.build SConstruct wscript .gn
build.zig conanfile.py Directory.Build.props Directory.Packages.props a.csproj a.fsproj a.vbproj a.vcxproj a.proj a.props a.targets a.rsp
nuget.config global.json .config/dotnet-tools.json justfile .justfile Taskfile.yml Earthfile Tiltfile a.xcodeproj/project.pbxproj flake.nix
shell.nix default.nix devenv.nix .bazelrc .bazelversion .bazeliskrc tools/bazel MODULE.bazel WORKSPACE WORKSPACE.bazel BUILD BUILD.bazel a.bzl
main.tf a.auto.tfvars terragrunt.hcl Pulumi.yaml ansible.cfg library/a.py callback_plugins/a.py .Rprofile .Renviron .RData renv/activate.R
deps/build.jl .devcontainer/devcontainer.json .devcontainer.json Dockerfile Dockerfile.dev Containerfile compose.yaml docker-compose.yml
docker-compose.override.yml docker-bake.hcl Vagrantfile .pre-commit-config.yaml lefthook.yml .lefthook.yml lefthook-local.yml .lintstagedrc.json
hk.pkl .overcommit.yml .github/workflows/ci.yml .github/actions/a/action.yml action.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml
azure-pipelines.yml bitbucket-pipelines.yml .buildkite/pipeline.yml .drone.yml .woodpecker.yml .travis.yml .forgejo/workflows/a.yml
.gitea/workflows/a.yml buildspec.yml vercel.json netlify.toml wrangler.toml renovate.json .github/dependabot.yml CODEOWNERS .gitpod.yml
AGENTS.md AGENT.md sub/SKILL.md .agents/a.md .mcp.json mcp.json CLAUDE.md CLAUDE.local.md .claude/rules/a.md .claude/agents/a.md
.claude/commands/a.md .claude/skills/a/SKILL.md .claude/settings.json .claude/settings.local.json .claude/hooks/a.sh .claude/workflows/a.js
.claude/scheduled_tasks.json AGENTS.override.md .codex/config.toml .codex/hooks.json .codex/rules/a .codex/agents/a GEMINI.md QWEN.md
.gemini/settings.json .qwen/settings.json .lsp.json .github/copilot-instructions.md .github/instructions/a.md .github/prompts/a.md
.github/agents/a.md .github/skills/a.md a.agent.md a.prompt.md a.instructions.md .github/hooks/a.json .github/copilot/a.json .cursorrules
.cursor/rules/a.mdc .cursor/commands/a.md .cursor/mcp.json .cursor/hooks.json .cursor/cli.json .cursor/environment.json .cursor/worktrees.json
.cursor/sandbox.json .windsurfrules .windsurf/rules/a.md .devin/rules/a.md .windsurf/hooks.json .windsurf/mcp_config.json .clinerules
.clinerules/a.md .roorules .roorules-code .roo/rules/a.md .roomodes .kilocode/rules/a.md .roo/mcp.json .kilocode/mcp.json .opencode/agents/a.md
opencode.json opencode.jsonc .opencode.json .opencode/plugins/a.ts .opencode/package.json .kiro/steering/a.md .amazonq/rules/a.md .kiro/hooks/a
.kiro/settings/mcp.json .amazonq/mcp.json .goosehints .junie/guidelines.md .continue/config.yaml CRUSH.md WARP.md .trae/rules/a.md
.augment/rules/a.md .aiassistant/rules/a.md .openhands/microagents/a.md .factory/a.md .vibe/a.md .pi/a.md .agent/a.md .idx/dev.nix .rules
CONVENTIONS.md .aider.conf.yml crush.json .crush.json firebender.json .cursorignore .geminiignore .rooignore .kiroignore .aiderignore
.codeiumignore .aiexclude bin/git vendor/bin/phpunit git.exe
`
  .trim()
  .split(/\s+/)

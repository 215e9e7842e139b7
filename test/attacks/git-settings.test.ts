import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readGitConfig } from '../../src/host/stage/git-config.ts'
import { addressWithoutLogin, filteredGitConfig, withoutLogins } from '../../src/host/stage/git-config-filter.ts'
import { draws, seed } from '../support/seed.ts'
import { sweep } from '../support/soak.ts'
import { withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

/** Git's own grammar against ours, and what programs see of git's settings: only what is known to be none. */
const marker = 'Kq7CANARY'
let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'handrail-git-'))))
afterAll(() => rmSync(folder, { recursive: true }))
const environment = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
const git = (args: string[], cwd = folder): string => execFileSync('git', args, { cwd, env: environment, encoding: 'utf8' })

/** Every setting of a text as git lists it, or nothing where git gives up. */
function asGitReads(text: string): string[] | undefined {
  writeFileSync(join(folder, 'read'), text)
  const { status, stdout } = spawnSync('git', ['config', '--file', 'read', '--null', '--list'], { cwd: folder, env: environment })
  return status === 0 ? stdout.toString().split('\0').slice(0, -1) : undefined
}
function asGitWrites(value: string): string {
  rmSync(join(folder, 'one'), { force: true })
  git(['config', '--file', 'one', 'x.y', value])
  return readFileSync(join(folder, 'one'), 'utf8').replace(/^\[x\]\n\ty = |\n$/g, '')
}
const asWeRead = (text: string): string[] =>
  readGitConfig(text).settings.map(({ section, subsection, key, value }) => {
    const name = [section, ...(subsection === undefined ? [] : [subsection]), key.toLowerCase()].join('.')
    return value === undefined ? name : `${name}\n${value}`
  })

test('our reading of any text is git’s', () => {
  const random = draws('git settings')
  const parts = [
    '[a]',
    '[a "b"]',
    '[A.B]',
    '[a "b\\"c\\\\"]',
    '[]',
    '[a "',
    'k',
    'k=v',
    'k = "v',
    '"',
    '\\',
    '\\\n',
    '\n',
    '\r\n',
    ' ',
    '\t',
  ]
  parts.push(
    '#',
    ';',
    '= ',
    '\\n',
    '\\q',
    '[b]k=',
    'x y  z',
    '"a # b"',
    'k2 =',
    '\n\tname = ',
    '-',
    '1',
    '\n[c "d]e"]\n',
    '; x \\\n',
    '\v',
    'é',
  )
  let compared = 0
  // Git takes only some of them.
  while (compared < sweep(60, 12)) {
    let text = '[s]\n'
    for (let part = random(14); part >= 0; part--) text += parts[random(parts.length)]
    const theirs = asGitReads(text)
    if (theirs === undefined) continue
    compared++
    // Room within a value is one blank to some versions, and itself to others.
    const blanks = (all: string[]): string[] => all.map((one) => one.replace(/[\t\v\f\r]/g, ' '))
    expect(blanks(asWeRead(text)), `seed ${seed}: ${JSON.stringify(text)}`).toEqual(blanks(theirs))
    const shown = filteredGitConfig(text)
    expect(asGitReads(shown), `seed ${seed}: ${JSON.stringify(shown)}`).toBeDefined()
  }
})

/** Where a plain word of anybody's is seen: it names a thing or a person. Nothing else shows one. */
const named = [
  'author.email author.name branch.<name>.merge branch.<name>.pushremote branch.<name>.remote committer.email committer.name',
  'core.attributesfile core.excludesfile core.hookspath core.worktree extensions.partialclone init.defaultbranch remote.<name>.fetch',
  'remote.<name>.push remote.<name>.pushurl remote.<name>.url remote.pushdefault submodule.<name>.branch submodule.<name>.path',
  'submodule.<name>.url user.email user.name',
]
  .join(' ')
  .split(' ')

/** What somebody may have written where a plain word is seen. */
const secrets = [
  `https://user:${marker}@example.com/a.git`,
  `https://${marker}@example.com/a.git`,
  `https://user:p/${marker}@example.com/a.git`,
  `https://user:"${marker}@example.com/a.git`,
  `https://user:p@${marker}@example.com/a.git`,
  `https://example.com/a.git?private_token=${marker}`,
  `https://example.com/a.git#${marker}`,
  `https://example.com/a.git;apikey=${marker}`,
  `https://oauth2%3A${marker}%40example.com/a.git`,
  `https://example.com:${marker}/a.git`,
  `https://user:${marker}@[::1]:80/a.git`,
  `ssh://git:${marker}@example.com/a.git`,
  `ssh://${marker}@example.com/a.git`,
  `${marker}@example.com:a/b.git`,
  `user:${marker}@example.com:a/b.git`,
  `ext::sh -c "curl -H ${marker}"`,
  `testgit::https://u:${marker}@example.com/`,
  `file://u:${marker}@/srv/a.git`,
  `!f() { echo password=${marker}; }; f`,
  `Authorization: Basic ${marker}`,
  `token=${marker}`,
  `"${marker}`,
]

describe('settings', () => {
  test('every key git knows, and some it does not: a word of one’s own is seen in the named ones only', () => {
    const known = git(['help', '--config'])
      .split('\n')
      .filter((line) => /^[a-zA-Z]+\..*[a-zA-Z]$/.test(line))
    expect(known.length).toBeGreaterThan(400)
    const more = [
      'remote.<name>.push',
      'author.name',
      'committer.email',
      'lfs.<url>.access',
      'hub.oauthtoken',
      'github.token',
      'core.unheard',
    ]
    more.push(
      'remote.<name>.unheard',
      'user.token',
      'includeif.<x>.path',
      'extensions.partialClone',
      'submodule.<name>.path',
      'x.y',
    )
    const seen = new Set<string>()
    // Each value as git itself writes it down.
    const written = new Map([marker, `${marker}@example.com`, ...secrets].map((value) => [value, asGitWrites(value)]))
    for (const key of [...new Set([...known, ...more])].filter((one) => !one.includes('*'))) {
      const [section = '', ...rest] = key.replace(/<[^>]+>/g, 'name').split('.')
      const last = rest.pop() ?? ''
      const shown = (value: string): string =>
        filteredGitConfig(`[${section}${rest.length ? ` "${rest.join('.')}"` : ''}]\n\t${last} = ${written.get(value)}\n`)
      if (shown(/email$/i.test(key) ? `${marker}@example.com` : marker).includes(marker)) seen.add(key.toLowerCase())
      for (const secret of secrets) expect(shown(secret), `${key} = ${secret}`).not.toContain(marker)
    }
    expect([...seen].map((key) => key.replace(/<[^>]+>/, '<name>')).sort()).toEqual([...named].sort())
  })

  test('nothing of a comment, a heading or what git cannot read', () => {
    for (const text of [
      `# ${marker}\n[core]\n\tbare = false\n`,
      `[core]\n\tbare = false ; ${marker}\n`,
      `[core] # x \\\n\tbare = false\n[http]\n\textraheader = ${marker}\n`,
      `; x \\\n[http]\textraheader = ${marker}\n`,
      `[url "https://x:${marker}@example.com/"]\n`,
      `[remote "https://x:${marker}@example.com/"]\n\tfetch = +refs/heads/*:refs/remotes/o/*\n`,
      `[credential "https://${marker}.example"]\n\thelper = store\n`,
      `[http]\n\tproxy = http://u:${marker}@proxy\n\tcookieFile = ${marker}\n`,
      `[http.https://u:${marker}@h/]\n\tx = 1\n`,
      `[core]\n\tsshCommand = sshpass -p ${marker} ssh\n\taskPass = "echo ${marker}"\n`,
      `[include]\n\tpath = ../${marker}\n[includeIf "gitdir:${marker}"]\n\tpath = x\n`,
      `[core]\n\tbare = false\nthis is none = "${marker}\n`,
      `${marker}\n`,
      `[alias]\n\tx = !curl -u ${marker}\n`,
      `[sendemail]\n\tsmtpPass = ${marker}\n[imap]\n\tpass = 12345678\n`,
      `[CORE]\n\tEditor = ${marker}\n[Remote.Origin]\n\tproxy = ${marker}\n`,
      `\uFEFF[user]\n\ttoken = "a${marker}\\\n b"\n`,
    ]) {
      const shown = filteredGitConfig(text)
      expect(shown, text).not.toContain(marker)
      expect(shown, text).not.toContain('12345678')
      expect(asGitReads(shown), shown).toBeDefined()
    }
  })

  test('what an everyday project has is shown as it is, to the letter', () => {
    const everyday = [
      '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\tignorecase = true\n\thooksPath = .husky/_\n',
      '[remote "origin"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tgh-resolved = base\n'.replace(
        /\tgh.*\n/,
        '',
      ),
      '[remote "ssh"]\n\turl = git@github.com:a/b.git\n\tpushurl = ssh://git@example.com:2222/~me/b.git\n',
      '[branch "feature/x-1"]\n\tremote = origin\n\tmerge = refs/heads/feature/x-1\n\trebase = true\n',
      '[user]\n\tname = Zoë O’Neil-Ågren (work)\n\temail = 123+me@users.noreply.github.com\n',
      '[submodule "vendor/lib"]\n\turl = ../lib.git\n\tactive = true\n[pull]\n\trebase = false\n[push]\n\tdefault = simple\n\tautoSetupRemote\n',
      '[extensions]\n\tworktreeConfig = true\n\tobjectformat = sha256\n\tpartialClone = origin\n[merge]\n\tconflictStyle = zdiff3\n',
      '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n',
    ].join('')
    expect(filteredGitConfig(everyday)).toBe(everyday)
    expect(filteredGitConfig(everyday.replaceAll('\n', '\r\n'))).toBe(everyday.replaceAll('\n', '\r\n'))
    const mixed = `${everyday}[credential]\n\thelper = store\n`
    expect(filteredGitConfig(mixed)).toBe(everyday)
  })
})

test('addresses: the place stays, the login goes; a log keeps its words', () => {
  for (const [given, seen] of [
    ['https://u:p@example.com:8443/a/b.git', 'https://example.com:8443/a/b.git'],
    ['ssh://git@example.com/a.git', 'ssh://git@example.com/a.git'],
    ['/srv/git/a.git', '/srv/git/a.git'],
    ['../a b.git', '../a b.git'],
    ['https://dev.azure.com/org/My%20Project/_git/repo', 'https://dev.azure.com/org/My%20Project/_git/repo'],
    [`https://dl.example.com/Ab3${'x9Yq'.repeat(8)}/repo.git`, undefined],
    ['https://example.com/a.git?x=1', undefined],
  ] as const)
    expect(addressWithoutLogin(given), given).toBe(seen)
  const line = (said: string): string => `${'0'.repeat(40)} ${'1'.repeat(40)} A U Thor <a@b.example> 1700000000 +0000\t${said}\n`
  const harmless = line('clone: from https://example.com/a.git') + line('commit: see https://example.com/x/y')
  expect(withoutLogins(harmless)).toBe(harmless)
  expect(withoutLogins(line(`pull https://u:${marker}@example.com/a.git main: Fast-forward`))).toBe(
    line('pull https://example.com/a.git main: Fast-forward'),
  )
})

describe('on the stage', () => {
  let world: World
  const run = async (command: string): Promise<string> => {
    const { stdout, stderr } = await world.call<{ stdout: string; stderr: string }>('shell', { command })
    return stdout + stderr
  }
  beforeAll(async () => {
    world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: withShell })
    const at = world.project
    git(['init', '-q', '-b', 'main'], at)
    git(['config', 'user.name', 'A U Thor'], at)
    git(['config', 'user.email', 'a@b.example'], at)
    git(['add', '.'], at)
    git(['commit', '-qm', 'first'], at)
  })
  afterAll(() => world[Symbol.asyncDispose]())

  test('git works as before: also where something was hidden of its settings', async () => {
    for (const round of ['plain', 'hidden']) {
      if (round === 'hidden') {
        git(['remote', 'add', 'origin', `https://u:${marker}@example.com/a.git`], world.project)
        git(['config', 'http.extraheader', `Authorization: Basic ${marker}`], world.project)
      }
      world.write('a.txt', `${round}\n`)
      const seen = await run(
        'git status --short && git log --oneline && git diff && git commit -qam second && git log --format="%an %s" && git stash list && git branch -a; cat .git/config; git reset -q --soft HEAD~1 && git reset -q; cp a.txt /tmp/a; git checkout -q a.txt; rm -rf .git/logs/x; cp /tmp/a a.txt; git status --short',
      ).catch((fault: Error) => fault.message)
      expect(seen).not.toContain(marker)
      for (const part of [' M a.txt', 'first', `+${round}`, 'A U Thor second']) expect(seen, seen).toContain(part)
      if (round === 'hidden') expect(seen).toContain('url = https://example.com/a.git')
    }
  })

  test('nothing of what git keeps elsewhere, nor of files it does not know', async () => {
    const log = `${'0'.repeat(40)} ${'1'.repeat(40)} A <a@b.example> 1 +0000\tpull https://u:${marker}@example.com/a: x\n`
    const places = {
      '.git/modules/sub/config': `[remote "o"]\n\turl = https://u:${marker}@h/s.git\n`,
      '.git/modules/logs/config': `[remote "o"]\n\turl = https://u:${marker}@h/s.git\n`,
      '.git/modules/lfs/config': `[remote "o"]\n\turl = https://u:${marker}@h/s.git\n`,
      '.git/modules/a/b/config': `[http]\n\tproxy = http://u:${marker}@h\n`,
      '.git/worktrees/w/config.worktree': `[http]\n\tproxy = http://u:${marker}@h\n`,
      '.git/config.worktree': `[sendemail]\n\tsmtppass = ${marker}\n`,
      '.git/config.lock': `[sendemail]\n\tsmtppass = ${marker}\n`,
      '.git/config.bak': `[sendemail]\n\tsmtppass = ${marker}\n`,
      '.git/own.inc': `[sendemail]\n\tsmtppass = ${marker}\n`,
      '.git/credentials': `https://u:${marker}@h\n`,
      '.git/credentials.lock': `https://u:${marker}@h\n`,
      '.git/FETCH_HEAD': `${'1'.repeat(40)}\t\tbranch 'main' of https://u:${marker}@h/a\n`,
      '.git/logs/HEAD': log,
      '.git/logs/refs/heads/deep/main': log,
      '.git/logs/refs/heads/config': log,
      '.git/branches/old': `https://u:${marker}@h/a\n`,
      '.git/remotes/old': `URL: https://u:${marker}@h/a\n`,
      '.git/annex/creds/x': marker,
      '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = https://u:${marker}@h/s.git\n`,
    }
    for (const [path, text] of Object.entries(places)) world.write(path, text)
    const seen = await run(`grep -ral ${marker} . ; for f in ${Object.keys(places).join(' ')}; do cat $f 2>/dev/null; done`)
    expect(seen).not.toContain('.git/')
    expect(seen).not.toContain(marker)
    expect(seen).toContain('https://h/s.git')
  })
})

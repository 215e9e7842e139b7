import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isOne, openGround, users, type Ground } from '../support/ground.ts'

/** What no program may read. */
const canary = 'CANARY-4b1e'

describe.each(users)('run by %s, programs read no secret', (_, uid) => {
  let ground: Ground
  let listening: ChildProcess | undefined
  beforeEach(() => void (ground = openGround(uid)))
  afterEach(() => {
    listening?.kill()
    listening = undefined
    ground[Symbol.dispose]()
  })

  /** Runs a script in the project as its owner: names that are no text, depths and permissions are the shell's to make. */
  const prepare = (script: string): void =>
    void execFileSync('sh', ['-euc', script], {
      cwd: ground.project,
      env: { PATH: '/usr/bin:/bin', K: canary },
      ...(uid !== process.getuid?.() && { uid, gid: uid }),
    })
  const put = (...paths: string[]): void => {
    for (const path of paths) {
      mkdirSync(dirname(join(ground.project, path)), { recursive: true })
      writeFileSync(join(ground.project, path), `${canary}\n`)
    }
    ground.give(ground.project)
  }
  /** Every file in which a program finds it, by itself. */
  const found = async (more = '', where = '.'): Promise<string[]> => {
    const { stdout } = await ground.shell(`${more}\ngrep -rasl ${canary} ${where} | LC_ALL=C sort; echo looked`)
    const lines = stdout.trim().split('\n')
    expect(lines.pop()).toBe('looked')
    return lines
  }

  test.runIf(isOne(uid))('under names that are no text, and what is none of them they still read', async () => {
    prepare(`
      bad=$(printf 'b\\377d'); same=$(printf 'b\\376d')
      for at in "$bad" "$same" "$bad/$same" "node_modules/$bad" ".git/modules/$bad"; do
        mkdir -p "$at/.ssh"; for name in .env .ssh/key id_rsa "$(printf '.env.\\377')" "$(printf '\\377.key')"; do echo $K > "$at/$name"; done
      done
      echo $K > "$(printf '.env.\\377')"; echo $K > "$bad/plain.txt"; echo $K > "$(printf 'a\\377.txt')"`)
    // Both are none of them: the first by its name, the other in a folder whose name is no text.
    expect(await found()).toEqual([expect.stringMatching(/^\.\/a.+\.txt$/), expect.stringMatching(/^\.\/b.+d\/plain\.txt$/)])
  })

  // Root may list them all.
  test.runIf(isOne(uid))('in folders that Handrail may not list, whatever they make of their permissions', async () => {
    prepare(`
      for at in enter nobody list wide/nobody node_modules/p/enter; do
        mkdir -p $at/deep; echo $K > $at/.env; echo $K > $at/deep/.env; echo $K > $at/deep/id_rsa
      done
      echo $K > wide/plain.txt
      chmod 311 enter node_modules/p/enter; chmod 000 nobody wide/nobody; chmod 644 list`)
    // Put back at once, so that it changed nothing.
    const known = `for at in enter nobody list wide/nobody; do was=$(stat -c %a $at); chmod 755 $at; grep -rs ${canary} $at; chmod $was $at; done 2>/dev/null
      cat */.env */deep/.env wide/nobody/.env node_modules/p/enter/.env enter/.env enter/deep/id_rsa 2>/dev/null`
    expect(await found(known)).toEqual(['./wide/plain.txt'])
    // And once more with the stage that was set up meanwhile, after permissions changed.
    prepare('chmod 755 enter; chmod 000 enter/deep; chmod 311 wide')
    expect(await found(known)).toEqual([])
  })

  test.runIf(isOne(uid))('deeper than anybody looks, by depth and by length', async () => {
    prepare(`
      for i in $(seq 150); do mkdir d; cd d; case $i in 126|127|128|149) echo $K > .env; mkdir .aws; echo $K > .aws/x; esac; done
      cd ${ground.project}; perl -e 'for (1..30) { mkdir "n" x 200; chdir "n" x 200 or die; open F, ">", ".env"; print F $ENV{K}; close F }'`)
    const { stdout } = await ground.shell(
      `TOP=$PWD perl -e 'sub look { for (".env", ".aws/x") { print <F> if open F, "<", $_ } } my $d = 0; $d++, look() while chdir "d"; chdir $ENV{TOP}; my $n = 0; $n++, look() while chdir "n" x 200; print "$d $n"'`,
    )
    // As deep as it gets, it finds nothing.
    expect(stdout).toMatch(/^12\d 1\d$/)
  })

  test.runIf(isOne(uid))('inside git, save that branches may be called like one', async () => {
    prepare(`
      git init -q .; git init -q --bare store.git; git init -q --bare .git/modules/info; git init -q --bare .git/modules/refs
      mkdir -p .git/worktrees/w .git/lfs/objects/ab .git/hooks/x .git/rebase-merge .hg .svn .jj/repo
      for at in .git .git/hooks .git/hooks/x .git/info .git/objects .git/objects/pack .git/refs .git/logs .git/rebase-merge .git/lfs .git/worktrees/w \\
        .git/modules .git/modules/info .git/modules/refs .git/modules/refs/hooks store.git store.git/hooks .hg .svn .jj/repo; do
        mkdir -p $at; for name in .env .env.local .git-credentials .netrc .npmrc; do echo $K > $at/$name; done
        case $at in *refs|*logs) ;; *) for name in id_rsa server.key server.pem; do echo $K > $at/$name; done; esac
      done
      echo "[remote \\"o\\"] url = https://u:$K@example.com/x" | tee .git/modules/info/config .git/modules/refs/config > store.git/config
      echo $K > .git/refs/heads/fix.env; echo $K > .git/refs/heads/credentials`)
    expect(await found()).toEqual(['./.git/refs/heads/credentials', './.git/refs/heads/fix.env'])
  })

  test.runIf(isOne(uid))('behind a link that is called like one, nor by another name for one', async () => {
    put(
      'config.txt',
      'keys/one.txt',
      'a/c.txt',
      'nm.txt',
      'real/.env',
      'in/deep/x.txt',
      'in/deep/.env',
      'free.txt',
      'sub/round/free.txt',
      'docker/config.json',
      'docker/free.txt',
      'plain/key.txt',
    )
    prepare(`
      mkdir -p node_modules/p b s
      ln -s config.txt .env; ln -s keys .aws; ln -s ../a/b.txt s/.npmrc; ln -s c.txt a/b.txt; ln -s ../../nm.txt node_modules/p/.env; ln -s ../../nm.txt node_modules/p/a.pem
      ln -s docker .docker; mkdir k8s; mkdir k8s/.kube; ln -s ../../plain/key.txt k8s/.kube/any
      ln -s real/.env notes.txt; ln -s in/deep .ssh; ln -s in/deep/x.txt .env.test
      ln -s . .kube; ln -s .. sub/.aws; ln -s /dev/null .env.local; ln -s nowhere .env.ci; ln -s .env.loop .env.loop; ln -s .. sub/round/.ssh`)
    const names = 'cat .env config.txt .aws/one.txt s/.npmrc a/b.txt node_modules/p/.env notes.txt .ssh/x.txt 2>/dev/null'
    expect(await found(names)).toEqual(['./docker/free.txt', './free.txt'])
    // Another file by now, and the same link.
    prepare('mv a/c.txt a/d.txt; ln -s d.txt a/c.txt; rm .env; echo $K > other.txt; ln -s other.txt .env')
    expect(await found()).toEqual(['./config.txt', './docker/free.txt', './free.txt'])
    prepare('rm k8s/.kube/any; ln -s ../../free.txt k8s/.kube/any')
    expect(await found()).toEqual(['./config.txt', './docker/free.txt', './plain/key.txt'])
  })

  test.runIf(isOne(uid))('in the settings of other version controls, which still say where from', async () => {
    prepare(`
      mkdir -p .hg/store .sl .jj/repo/store/git/objects .jj/repo/store/git/refs .svn/auth/svn.simple .bzr/branch .pijul _darcs/prefs sub/.hg
      printf '[paths]\ndefault = https://me:%s@example.com/r\nother = ssh://hg@example.com/o\n[auth]\nx.password = %s\n[ui]\nusername = A B <a@example.com>\n[hooks]\nx = curl %s\n' $K $K $K |
        tee .hg/hgrc .hg/hgrc-not-shared sub/.hg/hgrc > .sl/config
      echo "pull https://me:$K@example.com" | tee .hg/blackbox.log > .hg/blackbox.log.1
      echo "token = '$K'" | tee .jj/repo/config.toml .jj/workspace-config.toml > .pijul/config
      echo 'ref: x' > .jj/repo/store/git/HEAD; printf '[remote "o"]\n\turl = https://me:%s@example.com/r\n' $K > .jj/repo/store/git/config
      echo $K > .svn/auth/svn.simple/abc; printf 'parent_location = https://me:%s@example.com/r\n' $K > .bzr/branch/branch.conf
      echo "https://me:$K@example.com/r" | tee .bzr/branch/location > _darcs/prefs/defaultrepo; echo $K > mine.fossil; echo $K > .hg/store/plain`)
    const { stdout } = await ground.shell(`grep -rasl ${canary} .; cat .hg/hgrc .bzr/branch/branch.conf .bzr/branch/location`)
    expect(stdout).toBe(
      './.hg/store/plain\n[paths]\ndefault = https://example.com/r\nother = ssh://hg@example.com/o\n[ui]\nusername = A B <a@example.com>\nparent_location = https://example.com/r\nhttps://example.com/r\n',
    )
  })

  test.runIf(isOne(uid))(
    'in what they are shown of the machine: stageReads, a link to it, and the packages of a Node of one’s own',
    async () => {
      const at = (path: string): string => join(ground.base, path)
      const hidden = [
        'tools/.cargo/credentials.toml',
        'tools/.cargo/credentials',
        'tools/deep/.npmrc',
        'tools/deep/.env',
        'tools/deep/key.pem',
        'tools/deep/.aws/x',
        'tools/.config/gh/hosts.yml',
        'tools/.git/.git-credentials',
        'tools/closed/.env',
        'lib/node_modules/tool/.npmrc',
        'lib/node_modules/.config/gcloud/db',
      ]
      for (const path of [...hidden, 'tools/plain.txt', 'lib/node_modules/tool/cli.js']) {
        mkdirSync(dirname(at(path)), { recursive: true })
        writeFileSync(at(path), `${canary}\n`)
      }
      writeFileSync(at('tools/ca.pem'), `-----BEGIN CERTIFICATE-----\n${canary}\n`)
      symlinkSync(at('tools'), at('linked'))
      ground.give(at('tools'))
      ground.give(at('lib'))
      execFileSync('chmod', ['311', at('tools/closed')])
      mkdirSync(at('bin'))
      const node = at('bin/node')
      try {
        linkSync(process.execPath, node)
      } catch {
        copyFileSync(process.execPath, node)
      }
      const look = async (shown: string): Promise<string[]> => {
        const command = `cat ${shown}/closed/.env 2>/dev/null; grep -rasl ${canary} ${shown}/ ${at('lib')} | sort`
        return (await ground.shell(command, { node }, ['--stage-reads', shown])).stdout.trim().split('\n')
      }
      const plain = [at('lib/node_modules/tool/cli.js'), at('tools/ca.pem'), at('tools/plain.txt')]
      expect(await look(at('tools'))).toEqual(plain)
      expect(await look(at('linked'))).toEqual([at('lib/node_modules/tool/cli.js'), at('linked/ca.pem'), at('linked/plain.txt')])
      await expect(ground.shell('true', {}, ['--stage-reads', at('tools/deep/.aws')])).rejects.toThrow(/no program may see/)
    },
  )

  test.runIf(isOne(uid))('nor talk to a socket or a pipe that lies in the project', async () => {
    put('sub/plain.txt')
    rmSync(join(ground.project, 'sub/plain.txt'))
    const server = `const net = require('net'), { execFileSync } = require('child_process'), fs = require('fs')
      for (const at of ['ctl.sock', 'sub/ctl.sock']) net.createServer((one) => one.end('${canary}')).listen(at, () => fs.existsSync('sub/ctl.sock') && console.log('up'))
      execFileSync('mkfifo', ['pipe'])`
    listening = spawn(process.execPath, ['-e', server], {
      cwd: ground.project,
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(uid !== process.getuid?.() && { uid, gid: uid }),
    })
    await once(listening.stdout as NonNullable<ChildProcess['stdout']>, 'data')
    const { stdout } = await ground.shell(`stat -c %F ctl.sock sub/ctl.sock pipe
      perl -MIO::Socket::UNIX -e 'for (@ARGV) { my $s = IO::Socket::UNIX->new(Peer => $_); print $s ? <$s> : "none", "\\n" }' ctl.sock sub/ctl.sock`)
    expect(stdout).toBe(`${'regular empty file\n'.repeat(3)}none\nnone\n`)
  })

  test('the kernel’s list of keys is empty for them', async () => {
    expect((await ground.shell('cat /proc/keys /proc/key-users; echo read')).stdout).toBe('read\n')
  })
})

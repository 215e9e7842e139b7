// @stage
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Card } from '../../src/contracts/tool.ts'
import { stagesLeft, theStage, treeOf } from '../support/stage.ts'
import { stateOf, testFolder, type CliEnd } from '../support/world.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { cli, listen, openTalk, quoted } from '../support/commands.ts'
import { clearAway, isOne, users } from '../support/ground.ts'

// What lies out of reach is tried through the real program, once as root and once as a normal user.

interface Ground {
  who: string
  uid: number
  base: string
  project: string
  call(input: Record<string, unknown>): Promise<CliEnd>
  tool(name: string, input: Record<string, unknown>): Promise<CliEnd>
  /** What a command printed on its stage; it must have run to its end. */
  prints(command: string): Promise<string>
  approve(id: string, ...more: string[]): Promise<CliEnd>
  /** A command that must ask, approved and made again. */
  agreed(command: string): Promise<Record<string, unknown>>
  asks(command: string): Promise<string>
  [Symbol.dispose](): void
}

function own(folder: string, uid: number): void {
  lchownSync(folder, uid, uid)
  if (!lstatSync(folder).isDirectory()) return
  for (const name of readdirSync(folder)) own(join(folder, name), uid)
}

/** All commands go to one program that stays, started with these options. */
async function openGround(who: string, uid: number, options: string[] = []): Promise<Ground> {
  const base = realpathSync(mkdtempSync(join(testFolder(), 'handrail-test-')))
  const project = join(base, 'project')
  for (const [name, content] of Object.entries({
    'project/a.txt': 'one\n',
    'project/dir/b.txt': 'two\n',
    'project/.env': 'SECRET-dotenv',
    'project/.env.local': 'SECRET-dotenv-local',
    'project/sub/.env': 'SECRET-dotenv-deep',
    'other/secret.txt': 'SECRET-other',
    'secret.txt': 'SECRET-home',
    '.ssh/id_rsa': 'SECRET-key',
  })) {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), content)
  }
  if (uid !== process.getuid?.()) own(base, uid)
  const talk = await openTalk(uid, base, project, options)
  const approvals = (id: string, ...more: string[]): Promise<CliEnd> =>
    cli(uid, base, ['approvals', 'approve', id, ...more, '--project', project])
  const asks = async (command: string): Promise<string> => {
    const { err, out } = await talk.shell({ command })
    const id = /appr_[0-9a-f]{32}/.exec(err)?.[0]
    if (id === undefined) throw new Error(`nobody was asked: ${err}${out}`)
    return id
  }
  const ground: Ground = {
    who,
    uid,
    base,
    project,
    call: talk.shell,
    tool: talk.ends,
    async prints(command) {
      const { out, err } = await talk.shell({ command: `${command}\necho ran` })
      expect(err).toBe('')
      const { stdout, stderr, confined } = JSON.parse(out) as { stdout: string; stderr: string; confined: boolean }
      expect(confined).toBe(true)
      expect(stdout.endsWith('ran\n')).toBe(true)
      expect(stdout + stderr).not.toContain('SECRET')
      return stdout.slice(0, -4)
    },
    approve: approvals,
    asks,
    async agreed(command) {
      // Binaries are not shown.
      expect(await approvals(await asks(command), '--unread')).toMatchObject({ code: 0 })
      const { out, err } = await talk.shell({ command })
      if (!out) throw new Error(err)
      return JSON.parse(out) as Record<string, unknown>
    },
    [Symbol.dispose]() {
      talk[Symbol.dispose]()
      clearAway(base)
    },
  }
  await ground.prints('true')
  writeFileSync(join(stateOf(project), 'token'), 'SECRET-state')
  mkdirSync(join(project, '.handrail'))
  writeFileSync(join(project, '.handrail', 'token'), 'SECRET-token')
  writeFileSync(join(project, '.handrail', 'planted'), 'SECRET-planted')
  return ground
}

describe.each(users)('out of reach for %s', (who, uid) => {
  let shared!: Ground
  beforeAll(async () => {
    shared = await openGround(who, uid)
  })
  afterAll(() => shared[Symbol.dispose]())

  test('it is that user', async () => {
    expect(await shared.prints('id -u; id -G')).toBe(`${uid}\n${uid}\n`)
  })

  test('the network: TCP, UDP, DNS, abstract sockets', async () => {
    const tcp = await listen({ port: 0, host: '127.0.0.1' })
    const abstract = await listen({ path: `\0handrail-test-${process.pid}-${uid}` }).catch(() => undefined)
    const udp = createSocket('udp4')
    const got: string[] = []
    udp.on('message', (message) => void got.push(message.toString())).bind(0, '127.0.0.1')
    await once(udp, 'listening')
    try {
      const script = `
        const net = require('net'), dgram = require('dgram'), dns = require('dns')
        const over = (name) => (what) => console.log(name, what?.code ?? 'REACHED')
        const at = (options, name) => { const s = net.connect(options, over(name)); s.on('error', over(name)); s.on('data', over(name)) }
        at({ host: '127.0.0.1', port: ${tcp.port} }, 'tcp')
        at({ host: '::1', port: ${tcp.port} }, 'tcp6')
        at({ path: '\\0handrail-test-${process.pid}-${uid}' }, 'abstract')
        dgram.createSocket('udp4').on('error', over('udp')).send('hello', ${udp.address().port}, '127.0.0.1', () => 0)
        dns.resolve4('example.com', (fault) => over('dns')(fault ?? undefined))
        setTimeout(() => process.exit(), 1500)`
      const said = await shared.prints(
        `node -e ${quoted(script)}; cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /etc/resolv.conf`,
      )
      expect(said).not.toContain('REACHED')
      expect(said.trim().split('\n').at(-1)?.trim()).toBe('lo')
      expect({ tcp: tcp.came, abstract: abstract?.came ?? [], got }).toEqual({ tcp: [], abstract: [], got: [] })
    } finally {
      tcp.close()
      abstract?.close()
      udp.close()
    }
  })

  test('a socket of somebody else in the project', async () => {
    const path = join(shared.project, 'door.sock')
    const listener = await listen({ path })
    chmodSync(path, 0o777)
    try {
      const script = `const s = require('net').connect('door.sock'); s.on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code)).on('close', () => process.exit())`
      await shared.prints(`timeout 5 node -e ${quoted(script)}`)
      expect(listener.came).toEqual([])
    } finally {
      listener.close()
      rmSync(path, { force: true })
    }
  })

  /** Commands that print nothing where what they reach for is out of reach. */
  const silent: Record<string, string> = {
    '/etc/shadow and its kin': 'cat /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/* /etc/ssl/private/*',
    'the home folder':
      'cat "$BASE/secret.txt" "$BASE/.ssh/id_rsa" ~/.ssh/id_rsa; ls -A "$BASE" | grep -vx project; ls -A /root /home',
    'another project beside this one': 'cat "$BASE/other/secret.txt" ../other/secret.txt; ls -A ../other',
    'the state of every project':
      'cat "$BASE"/state/handrail/projects/*/* ~/.local/state/handrail/projects/*/*; ls -AR "$BASE/state/handrail/projects"',
    'the token and the audit log of an older version':
      'cat .handrail/token .handrail/audit/* .handrail/*; ls -AR .handrail/ | grep -v ^.handrail',
    'the state through other names':
      'cat .HANDRAIL/token ./././.handrail/token dir/../.handrail/token "$PWD/.handrail/token"; find . -name token; ls -A .handrail/..namedfork',
    'the state through /proc':
      'for p in /proc/[0-9]* /proc/self /proc/thread-self; do cat $p/root$PWD/.handrail/token $p/cwd/.handrail/token; ls -A $p/root/root; done',
    'a hard link to the state': 'ln .handrail/token stolen && cat stolen; ln -s .handrail/token s && cat s; rm -f s stolen',
    'secrets of the project': 'cat .env .env.local sub/.env; cp .env .env.local /tmp && cat /tmp/.env*; strings .env; cat < .env',
    'the environment of the parent':
      'cat /proc/1/environ /proc/$PPID/environ /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -i -e secret -e XDG -e ^HOME=/root',
    'the stages of other calls':
      'ls -A "$BASE/state"; find / \\( -path /proc -o -path /usr \\) -prune -o \\( -name stage.json -o -name upper \\) -print',
    'other processes of the machine': `ls /proc | grep -x ${process.pid}; kill -9 ${process.pid} && echo KILLED; ls -d /proc/[0-9]* | wc -l | grep -vE "^([0-9]|1[0-9])$"`,
    'namespaces of its own':
      'unshare -Ur true && echo DID; unshare -m true && echo DID; unshare -n true && echo DID; unshare -p -f true && echo DID',
    'namespaces of others':
      'nsenter -t 1 -m true && echo DID; nsenter -t 1 -U true && echo DID; nsenter -t $PPID -n true && echo DID; chroot / true && echo DID',
    mounts:
      'mount -t tmpfs x /tmp/home && echo DID; mount --bind /usr .handrail && echo DID; mount -o remount,rw / && echo DID; umount .handrail && echo DID; umount -l .handrail && echo DID; umount .env && echo DID; mount -t proc p /tmp/home && echo DID',
    'device nodes':
      'mknod /tmp/m c 1 1 && echo DID; mknod /tmp/b b 254 0 && echo DID; mknod m c 1 1 && echo DID; ls /dev/mem /dev/kmem /dev/sda /dev/vda /dev/fuse /dev/kvm; find /dev -type b; rm -f m',
    'tracing whoever started it': `perl -e 'for my $pid (1, getppid(), ${process.pid}) { next if $pid == $$; open my $m, "+<", "/proc/$pid/mem" or next; seek $m, 0, 0 }'; cat /proc/kcore | head -c 1; dmesg | head -1`,
    // What is covered by /dev/null takes anything and does nothing with it.
    'the kernel itself, which root could set without any capability': `find /proc -not -path "/proc/[0-9]*" -not -path "/proc/self*" -not -path "/proc/thread-self*" -type f -perm /222 | perl -ne 'chomp; next if (stat)[6] == 0x103; print "$_\\n" if open my $f, ">>", $_'; ls /sys /sys/fs/cgroup`,
    'the system':
      'for d in / /usr /usr/bin /usr/local /etc /bin /lib /opt /var /proc; do touch $d/pwned && echo "$d"; done; echo x >> /etc/passwd && echo passwd; echo x > /usr/bin/sh && echo sh',
    'what a terminal would take as typed': `perl -e 'for my $fd (0..9) { open my $t, "+<&=", $fd or next; ioctl($t, 0x5412, "x") and print "TYPED $fd\\n" }'; (exec 3<>/dev/tty) && echo TTY; exit_code=0`,
    'keys of the session that started it': `perl -e 'my $n = syscall(250, 11, -3, my $b = "\\0" x 4096, 4096); print "KEYS $n\\n" if $n > 0 and unpack("l", $b) != 0 and do { my $i = unpack("l", $b); my $d = "\\0" x 512; syscall(250, 6, $i, $d, 512); $d =~ /handrail-test/ }'`,
    'files of its parent that stayed open':
      'for f in /proc/self/fd/*; do n=${f##*/}; [ "$n" -gt 9 ] && t=$(readlink "$f") && case "$t" in /dev/null) ;; /*) echo "$n $t";; esac; done',
    privileges:
      'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status /proc/1/status | grep -v 0000000000000000; grep NoNewPrivs /proc/self/status | grep -v 1; su -c id; sudo -n id',
  }
  const attacks = Object.entries(silent)
  const together: [string, typeof attacks][] = isSoak
    ? attacks.map((one) => [one[0], [one]])
    : [['whatever else it reaches for', attacks]]
  // In `npm test` one program tries them all, each in a shell of its own.
  test.each(together)('%s', async (_, tried) => {
    const before = treeOf(shared.project)
    const commands = tried.map(
      ([name, command]) => `(BASE=${shared.base}\n${command}\n) 2>/dev/null\necho ${quoted(`= ${name}`)}`,
    )
    expect((await shared.prints(commands.join('\n'))).trim().split('\n')).toEqual(tried.map(([name]) => `= ${name}`))
    expect(treeOf(shared.project)).toEqual(before)
  })

  test('our own state can not be written, moved, replaced or covered', async () => {
    const tries = [
      'echo x > .handrail/token',
      'echo x > .handrail/new',
      'mkdir .handrail/new',
      'mv .handrail moved',
      'rm -r .handrail',
      'ln -sfn /tmp .handrail/x',
      'chmod 777 .handrail',
      'mv .env moved',
      'rm .env',
      'echo x > .env',
    ]
    const said = await shared.prints(
      `{ ${tries.map((one) => `${one} && echo ${quoted(`DID ${one}`)}`).join('\n')}\n} 2>/dev/null`,
    )
    expect(said).toBe('')
    expect(readFileSync(join(shared.project, '.handrail', 'token'), 'utf8')).toBe('SECRET-token')
  })

  test('bits that lend powers are not taken over', async () => {
    await shared.agreed(
      'cp /usr/bin/id lent && chmod 6755 lent; mkdir lentdir && chmod 7777 lentdir; echo x > a2; chmod 4644 a2; chmod u+s dir/b.txt 2>/dev/null; true',
    )
    for (const [path, { mode }] of Object.entries(treeOf(shared.project))) expect(`${path} ${mode & 0o7000}`).toBe(`${path} 0`)
    expect(treeOf(shared.project)['lent']?.mode).toBe(0o755)
    await shared.agreed('rm -rf lent lentdir a2')
  })

  test.runIf(isOne(uid))('links that lead outside are committed as links, and no later call follows them', async () => {
    const { changes } = await shared.agreed(
      `ln -s ${shared.base}/secret.txt out; ln -s ${shared.base}/other outdir; ln -s / rootdir`,
    )
    expect(changes).toHaveLength(3)
    expect(lstatSync(join(shared.project, 'out')).isSymbolicLink()).toBe(true)
    const calls = [
      ['read_file', { path: 'out' }],
      ['read_file', { path: 'outdir/secret.txt' }],
      ['list_files', { path: 'outdir' }],
      ['write_to_file', { path: 'outdir/new.txt', content: 'x', dryRun: true }],
      ['write_to_file', { path: 'out', content: 'x', dryRun: true }],
    ] as const
    for (const [tool, input] of calls) {
      const { code, out, err } = await shared.tool(tool, input)
      expect(`${tool} ${code}`).toBe(`${tool} 1`)
      expect(out + err).not.toContain('SECRET')
    }
    expect(await shared.prints('cat out outdir/secret.txt rootdir/etc/shadow 2>/dev/null')).toBe('')
    // What stands "in" such a folder on the stage is not written through it.
    await shared.prints('echo pwned > outdir/pwned 2>/dev/null; echo pwned > out 2>/dev/null; true')
    expect(existsSync(join(shared.base, 'other', 'pwned'))).toBe(false)
    expect(readFileSync(join(shared.base, 'secret.txt'), 'utf8')).toBe('SECRET-home')
    await shared.agreed('rm -f out outdir rootdir')
  })

  test.runIf(isOne(uid))(
    'a folder that becomes a link to outside is committed as that link, and nothing through it',
    async () => {
      await shared.agreed('mkdir swap && echo one > swap/f')
      const id = await shared.asks(
        `rm -rf swap && ln -s ${shared.base}/other swap && echo through > swap/f; mkdir real; echo y > real/f`,
      )
      expect(await shared.approve(id)).toMatchObject({ code: 0 })
      await shared.call({
        command: `rm -rf swap && ln -s ${shared.base}/other swap && echo through > swap/f; mkdir real; echo y > real/f`,
      })
      expect(lstatSync(join(shared.project, 'swap')).isSymbolicLink()).toBe(true)
      expect(readdirSync(join(shared.base, 'other'))).toEqual(['secret.txt'])
      await shared.agreed('rm -rf swap real')
    },
  )

  test.runIf(isOne(uid))('a link that appears in the project while the approval waits is not written through', async () => {
    await shared.agreed('mkdir -p late && echo one > late/f')
    const command = 'echo two > late/f; echo new > late/g'
    const id = await shared.asks(command)
    rmSync(join(shared.project, 'late'), { recursive: true })
    symlinkSync(join(shared.base, 'other'), join(shared.project, 'late'))
    expect(await shared.approve(id)).toMatchObject({ code: 0 })
    expect(await shared.call({ command })).toMatchObject({ code: 1 })
    expect(readdirSync(join(shared.base, 'other'))).toEqual(['secret.txt'])
    rmSync(join(shared.project, 'late'))
  })

  test.runIf(isOne(uid))(
    'pipes, sockets and names no tool may use are left behind, and said so; the rest is taken over',
    async () => {
      const ground = shared
      const known = stagesLeft(ground.base)
      const names = [
        '.git/hooks/pre-commit',
        '.GIT/hooks/pre-commit',
        'node_modules/x/index.js',
        'deep/node_modules/x.js',
        '.handrail-evil.tmp',
        'handrail.config.json',
        'HANDRAIL.CONFIG.JSON',
        'GIT~1/x',
        '..\\x',
        'new\nline',
        '\u001b[2Jansi',
        'bidi\u202etxt',
        'C:evil',
        ' %2e%2e',
        '...',
      ]
      const command = [
        ...names.map((name) => `mkdir -p "$(dirname ${quoted(name)})" && echo x > ${quoted(name)}`),
        'mkfifo fifo',
        `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "sock", Listen => 1)'`,
        `echo x > "$(printf 'bad\\377name')"; mkdir "$(printf 'bad\\376dir')"; echo x > "$(printf 'bad\\376dir')/f"`,
        'echo fine > fine.txt',
      ].join('\n')
      const before = new Set(Object.keys(treeOf(ground.project)))
      const { changes, left } = (await ground.agreed(command)) as {
        changes: { path: string }[]
        left: { path: string; why: string }[]
      }
      const made = Object.keys(treeOf(ground.project)).filter((path) => !before.has(path))
      expect(made.sort()).toEqual(changes.map((change) => change.path).sort())
      expect(made).toContain('fine.txt')
      expect(made.filter((path) => /git|node_modules\/|handrail|fifo|sock|bad|\\|\n|\u001b|\u202e/i.test(path))).toEqual([])
      for (const word of ['fifo', 'sock', '.handrail-evil.tmp', 'handrail.config.json', '.git', '.GIT', '..\\x'])
        expect(left.map((one) => one.path)).toContain(word)
      expect(stagesLeft(ground.base).filter((stage) => !known.includes(stage))).toEqual([])
      await ground.agreed('rm -rf fine.txt deep GIT~1 C:evil " %2e%2e"')
    },
  )

  test.runIf(isOne(uid))(
    'very deep folders: what has a path is taken over and back, the rest is named, nothing stays on the disk',
    async () => {
      const ground = shared
      const known = stagesLeft(ground.base)
      const name = 'd'.repeat(200)
      const { changes, left } = (await ground.agreed(
        `i=0; while [ $i -lt 60 ]; do mkdir ${name}; cd ${name}; i=$((i+1)); done; echo x > f`,
      )) as { changes: unknown[]; left: unknown[] }
      expect(left).toMatchObject([{ why: 'its path is longer than the system takes' }])
      expect(changes.length).toBeGreaterThan(10)
      expect(await ground.prints('true')).toBe('')
      expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--project', ground.project])).toMatchObject({ code: 0 })
      expect(existsSync(join(ground.project, name))).toBe(false)
      expect(stagesLeft(ground.base).filter((stage) => !known.includes(stage))).toEqual([])
    },
  )

  test.runIf(isOne(uid))('three hundred folders in each other', async () => {
    const ground = shared
    const { out, err } = await ground.call({ command: `mkdir -p $(printf 'n/%.0s' $(seq 300)); echo x > n/f` })
    expect(out + err).not.toContain('E_INTERNAL')
    expect(existsSync(join(ground.project, 'n'))).toBe(false)
    for (const stage of stagesLeft(ground.base)) expect(existsSync(join(stage, 'stage.json'))).toBe(true)
  })

  test.runIf(isOne(uid))(
    'many files: two thousand are listed, all can be read, agreed to unread and committed (soak: 10,000, and taken back)',
    async () => {
      using ground = await openGround(who, uid)
      const all = sweep(10_000, 2_010)
      const command = `mkdir many; for i in $(seq ${all}); do echo $i > many/$i; done`
      const id = await ground.asks(command)
      const { out } = await cli(uid, ground.base, ['approvals', 'show', id, '--json', '--project', ground.project])
      const { card } = JSON.parse(out) as { card: Card }
      expect(card.changes).toHaveLength(2_000)
      expect(card.rest).toEqual([{ folder: 'many', changes: all - 1_999, bytes: expect.any(Number) as number }])
      const full = await cli(uid, ground.base, ['approvals', 'show', id, '--full', '--project', ground.project])
      for (let file = 1; file <= all; file++)
        if (!full.out.includes(`many/${file}: created`)) throw new Error(`not listed: ${file}`)
      const plainly = await cli(uid, ground.base, ['approvals', 'approve', id, '--project', ground.project])
      expect(plainly).toMatchObject({ code: 1, err: expect.stringContaining('--unread') as string })
      await ground.approve(id, '--unread')
      expect((await ground.call({ command })).code).toBe(0)
      expect(readdirSync(join(ground.project, 'many'))).toHaveLength(all)
      // Taking back goes file by file, listed or not, and costs as much as all before: `deep folders` do so too.
      if (!isSoak) return
      expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--json', '--project', ground.project])).toMatchObject({
        code: 0,
      })
      expect(existsSync(join(ground.project, 'many'))).toBe(false)
    },
  )

  test.runIf(isOne(uid))('files and folders nobody may read, made on the stage', async () => {
    const ground = shared
    const known = stagesLeft(ground.base)
    const before = treeOf(ground.project)
    await ground.agreed(
      'mkdir shut; echo s > shut/f; chmod 000 shut/f; chmod 000 shut; echo t > t; chmod 000 t; chmod 000 dir; chmod 000 a.txt',
    )
    const mode = (path: string): number => lstatSync(join(ground.project, path)).mode & 0o777
    expect([mode('shut'), mode('t'), mode('dir'), mode('a.txt')]).toEqual([0, 0, 0, 0])
    expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--json', '--project', ground.project])).toMatchObject({
      code: 0,
    })
    expect(treeOf(ground.project)).toEqual(before)
    expect(stagesLeft(ground.base).filter((stage) => !known.includes(stage))).toEqual([])
  })

  test.runIf(isOne(uid))('two names of one file are two files after the commit', async () => {
    const ground = shared
    await ground.agreed('echo h > h1; ln h1 h2; ln a.txt a3; echo more >> a3')
    const read = (path: string): string => readFileSync(join(ground.project, path), 'utf8')
    expect([read('h1'), read('h2'), read('a3'), read('a.txt')]).toEqual(['h\n', 'h\n', 'one\nmore\n', 'one\nmore\n'])
    expect(lstatSync(join(ground.project, 'h1')).nlink).toBe(1)
    await ground.agreed('rm h1 h2 a3; echo one > a.txt')
  })

  const small = ['--stage-disk-bytes', '20000000', '--stage-processes', '64', '--stage-memory-bytes', '100000000']
  const bombs: Record<string, string> = {
    disk: 'for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/zero > big$i; sleep 0.2; done; sleep 3',
    'disk at once': 'head -c 15000000 /dev/zero > one; cp one two; cp one three',
    'one large file': 'head -c 100000000 /dev/zero > big',
    'one sparse file': 'truncate -s 10G sparse',
    'many sparse files': 'for i in $(seq 100); do truncate -s 15M sparse$i; done',
    'the temporary folder': 'head -c 100000000 /dev/zero > /tmp/big',
    'shared memory': 'head -c 100000000 /dev/zero > /dev/shm/big',
    processes: 'b() { b | b & }; b; sleep 5',
    'many sleepers': 'for i in $(seq 500); do sleep 5 & done; wait',
    memory: `node -e 'const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'`,
    'memory of many': `for i in 1 2 3 4 5 6; do perl -e '$x = "x" x 40000000; sleep 5' & done; wait`,
  }
  describe('more than it may take is not had', () => {
    let ground!: Ground
    beforeAll(async () => {
      ground = await openGround(who, uid, small)
    })
    afterAll(() => ground[Symbol.dispose]())

    // The system limits root in another way: by groups of processes. What is on the disk counts alike for all.
    const ours = Object.entries(bombs).filter(([name]) => isOne(uid) || /process|sleep|memory/.test(name))
    // Every other one, from the first or the second on; in a soak all of them.
    const from = draws(`bombs for ${who}`)(2)
    const tried = ours.filter((_, at) => isSoak || at % 2 === from)
    test.each(tried)('%s', async (_, command) => {
      const before = treeOf(ground.project)
      const known = stagesLeft(ground.base)
      const { out, err } = await ground.call({ command, timeout_seconds: 30 })
      // It was ended, or the system said no to it, or what is left of it keeps within the limits.
      if (/needs a person/.test(err)) {
        const bytes = (theStage(ground.base, known).record.ran?.effects ?? []).map((effect) => effect.sizes[1] ?? 0)
        expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(20_001_000)
      } else {
        const { ok, stderr } = JSON.parse(out || '{"ok":true,"stderr":""}') as { ok: boolean; stderr: string }
        const ended = /E_POLICY_VIOLATION.*limits\.stage/s.test(err) || !ok || /cannot fork/i.test(stderr)
        expect({ ended, err }).toMatchObject({ ended: true })
        expect(stagesLeft(ground.base).filter((stage) => !known.includes(stage))).toEqual([])
      }
      expect(treeOf(ground.project)).toEqual(before)
      // What it took is given back: the next one has all it may take.
      expect(await ground.prints('true')).toBe('')
    })
  })

  test.runIf(isOne(uid))('an exit code is an exit code, and words on stderr are words', async () => {
    const ground = shared
    const codes = [1, 2, 119, 120, 121, 122, 126, 127, 137, 255]
    // In `npm test` every third, from another one with every seed.
    const from = draws('exit codes')(3)
    for (const code of codes.filter((_, at) => isSoak || at % 3 === from)) {
      const { out } = await ground.call({ command: `echo "bwrap: nothing to see" >&2; exit ${code}` })
      expect(JSON.parse(out)).toMatchObject({ ok: false, exit_code: code, stderr: 'bwrap: nothing to see\n' })
    }
  })
})

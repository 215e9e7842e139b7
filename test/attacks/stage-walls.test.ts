import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { execFresh } from '../../src/host/stage/keyring.ts'
import { limiting } from '../../src/host/stage/launch.ts'
import { denied, deniedWith } from '../../src/host/stage/syscalls.ts'
import { openTalk } from '../support/commands.ts'
import { isOne, openGround, users, type Ground, type Shell } from '../support/ground.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { approve, ask, soon, stagesLeft, shownFirst } from '../support/stage.ts'
import { asUser, openWorld } from '../support/world.ts'

const column = process.arch === 'arm64' ? 1 : 0
/** The number of a system call on this machine. */
const number = (name: string): number => {
  for (const { calls } of [...denied, ...deniedWith]) if (name in calls) return calls[name]?.[column] ?? -1
  throw new Error(`no such call: ${name}`)
}

/** In `npm test` every other one, from the first or the second on: others with every seed. */
const from = draws('walls of a stage')(2)
const isDrawn = (at: number): boolean => isSoak || at % 2 === from

describe.each(users)('run by %s', (_, uid) => {
  let ground: Ground
  beforeAll(() => void (ground = openGround(uid)))
  afterAll(() => ground[Symbol.dispose]())

  describe.runIf(isOne(uid))('what is shown for the sake of a toolchain', () => {
    test.each(['bin', '.local/bin'].filter((_, at) => isDrawn(at)))(
      'Node in ~/%s brings itself and its packages, and nothing else of that home',
      async (place) => {
        const node = join(ground.base, place, 'node')
        mkdirSync(dirname(node), { recursive: true })
        rmSync(node, { force: true })
        // A copy where the two lie on different disks.
        try {
          linkSync(process.execPath, node)
        } catch {
          copyFileSync(process.execPath, node)
        }
        writeFileSync(join(dirname(node), 'secret.sh'), 'SECRET-script')
        const packages = join(dirname(dirname(node)), 'lib/node_modules/tool')
        mkdirSync(packages, { recursive: true })
        writeFileSync(join(packages, 'cli.js'), '#!/usr/bin/env node\nconsole.log(require("./beside.js"))\n', { mode: 0o755 })
        writeFileSync(join(packages, 'beside.js'), 'module.exports = "packaged"\n')
        execFileSync('ln', ['-sfn', '../lib/node_modules/tool/cli.js', join(dirname(node), 'tool')])
        // Not its inode: that is the system's own Node.
        for (const one of [packages, join(dirname(node), 'secret.sh')]) ground.give(one)
        const { stdout } = await ground.shell(
          `which node; node -e 'console.log(process.execPath)'; tool
         grep -rsIl 'SECRE[T]-' ${ground.base} / --exclude-dir=proc --exclude-dir=usr --exclude-dir=project; echo looked
         sed -n 's/.*upperdir=\\([^,]*\\).*/\\1/p' /proc/self/mountinfo | grep / | while read -r at; do ls -d "$at" "$(dirname "$at")"; done`,
          { node },
        )
        expect(stdout.split('\n').filter(Boolean)).toEqual([node, node, 'packaged', 'looked'])
      },
    )

    test('a folder that is or holds a home, our state, our stages, keys or the machine is refused in words', async () => {
      const tool = join(ground.base, 'tools/go')
      mkdirSync(tool, { recursive: true })
      writeFileSync(join(tool, 'word'), 'shown')
      ground.give(join(ground.base, 'tools'))
      execFileSync('ln', ['-sfn', ground.base, join(ground.base, 'tools/home')])
      const reads = (path: string): string[] => ['--stage-reads', path]
      expect((await ground.shell(`cat ${tool}/word`, {}, reads(tool))).stdout).toBe('shown')
      const refused = [
        '/',
        '/etc',
        '/proc',
        '/run',
        ground.base,
        dirname(ground.base),
        join(ground.base, 'tools/home'),
        join(ground.base, '.ssh'),
        join(ground.base, '.ssh/id_rsa'),
        join(ground.base, '.config'),
        join(ground.base, '.local'),
        join(ground.base, 'state'),
        join(ground.base, 'state/handrail/stages'),
      ]
      const all = reads(refused.join(','))
      await expect(ground.shell('true', {}, all)).rejects.toThrow(/stage.stageReads names what no program may see/)
      const { out } = await ground.cli(['doctor', '--project', ground.project, ...all])
      for (const path of refused) expect(out).toContain(`${path} (it `)
    })
  })

  describe('the kernel', () => {
    /** Tries calls one after the other: `name result errno`. */
    const tries = (calls: readonly (readonly [string, number, ...(number | string)[]])[]): string =>
      `perl -e 'for (@ARGV) { my ($name, @words) = split /,/; my @given = map { /^-?\\d+$/ ? $_ + 0 : $_ } @words; my $number = shift @given; my $ret = syscall($number, @given); print "$name ", $ret < 0 ? "-" . ($! + 0) : "done", "\\n" }' ${calls.map((call) => `'${call.join(',')}'`).join(' ')}`

    test.runIf(isOne(uid))(
      'a key that was planted outside is neither read, listed, replaced, used nor cleared, and none is planted',
      async () => {
        const [add, keyctl, request] = ['add_key', 'keyctl', 'request_key'].map(number)
        // Joins a keyring of its own, plants, lets the rest of the words run with the key's number in place of @KEY and @RING.
        const outside = `my ($add, $keyctl) = (shift() + 0, shift() + 0);
        my ($user, $planted) = ("user", "planted");
        syscall($keyctl, 1, 0); my $ring = syscall($keyctl, 0, -3, 0);
        my $secret = "SECRET-kernel"; my $id = syscall($add, $user, $planted, $secret, length $secret, $ring);
        syscall($keyctl, 5, $_, 0x3f3f3f3f) for ($id, $ring);
        system(map { s/\\@KEY/$id/gr =~ s/\\@RING/$ring/gr } @ARGV);
        my $kept = "\\0" x 64; my $length = syscall($keyctl, 11, $id, $kept, 64);
        my $listed = "\\0" x 64; my $many = syscall($keyctl, 11, $ring, $listed, 64) / 4;
        print "\\nKEPT ", substr($kept, 0, $length), " of $many\\n"`
        const inside = `cat /proc/keys /proc/key-users
        perl -e 'my ($add, $keyctl, $request, $id, $ring) = @ARGV; my $buffer = "\\0" x 64; my $text = "INSIDE";
          my @tries = ([$keyctl, 11, $id + 0, $buffer, 64], [$keyctl, 6, $id + 0, $buffer, 64], [$keyctl, 11, $ring + 0, $buffer, 64], [$keyctl, 11, -3, $buffer, 64],
            [$keyctl, 10, -3, "user", "planted", 0], [$keyctl, 2, $id + 0, $text, 6], [$add, "user", "mine", $text, 6, $ring + 0], [$add, "user", "mine", $text, 6, -3],
            [$request, "user", "planted", 0, -3], [$keyctl, 9, $id + 0, $ring + 0], [$keyctl, 7, $ring + 0], [$keyctl, 7, -3], [$keyctl, 3, $id + 0], [$keyctl, 21, $id + 0], [$keyctl, 1, 0]);
          for (@tries) { my @words = @$_; my $number = shift @words; my $ret = syscall($number + 0, @words); print $ret < 0 ? $! + 0 : "did", " " } print $buffer =~ /SECRET/ ? "READ" : "none"' ${add} ${keyctl} ${request} @KEY @RING`
        const before = ['perl', '-e', outside, String(add), String(keyctl)]
        const words = ['call', 'shell', JSON.stringify({ command: inside }), '--project', ground.project, '--enable-shell']
        const { out, err } = await ground.cli(words, { before })
        const [answer = '', kept] = out.split('\nKEPT ')
        if (!answer.includes('{')) throw new Error(err)
        expect((JSON.parse(answer) as Shell).stdout).toBe(`${'1 '.repeat(15)}none`)
        expect(kept).toBe('SECRET-kernel of 1\n')
      },
    )

    test.runIf(isOne(uid))(
      'a program is started with a session keyring of its own: no key of the session Handrail was started in is in it',
      async () => {
        const [add, keyctl] = ['add_key', 'keyctl'].map(number)
        const outside = `syscall(${keyctl}, 1, 0); my ($type, $name, $secret) = ("user", "planted", "SECRET"); syscall(${add}, $type, $name, $secret, 6, -3); exec @ARGV`
        const look = `my ($type, $name) = ("user", "planted"); print syscall(${keyctl}, 10, -3, $type, $name, 0) < 0 ? "none" : "found"`
        const found = (perl: string | undefined): string => {
          const line = execFresh(perl, process.arch)
          expect(limiting({ perl }).at(-1)).toBe(line)
          const words = ['-e', outside, '/bin/sh', '-c', line, 'stage', 'perl', '-e', look]
          return spawnSync('/usr/bin/perl', words, { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8', ...asUser(uid) }).stdout
        }
        expect(found(undefined)).toBe('found')
        expect(found('/usr/bin/perl')).toBe('none')
        const { out } = await ground.cli(['doctor', '--project', ground.project])
        expect(out).toContain('own session keyring')
      },
    )

    test('the first process of a stage tells a program nothing: not by its environment, words or memory; nor does the kernel of itself', async () => {
      const hidden = 'names-of-secrets.key'
      writeFileSync(join(ground.project, hidden), 'SECRET')
      ground.give(ground.project)
      const [start, end] = [hidden.slice(0, 9), hidden.slice(9)]
      const { stdout } = await ground.shell(`tr '\\0' '\\n' </proc/1/environ | sed 's/=.*//' | sort | tr '\\n' ' '; echo
        tr '\\0' ' ' </proc/1/cmdline; echo
        perl -e 'open my $maps, "<", "/proc/1/maps" or die $!; open my $mem, "<", "/proc/1/mem" or die $!; my $wanted = "${start}" . "${end}"; my ($read, $found) = (0, 0);
          for (<$maps>) { next unless /^([0-9a-f]+)-([0-9a-f]+) r/ && !/vvar|vsyscall/; sysseek $mem, hex $1, 0; $read += sysread($mem, my $part, hex($2) - hex($1)) || 0; $found++ if index($part // "", $wanted) >= 0 }
          print $read > 10000 ? "read" : "nothing", " $found\\n"'
        timeout 1 cat /proc/kmsg /proc/slabinfo /proc/kpageflags /proc/kpagecount /proc/vmallocinfo /proc/pagetypeinfo /proc/timer_list 2>/dev/null | head -c 9 | wc -c`)
      const own = 'GIT_OPTIONAL_LOCKS HANDRAIL_MARK HOME LANG NO_COLOR PATH PWD TERM TMPDIR '
      expect(stdout.trim().split('\n')).toEqual([own, '/run/start /run/program ', 'read 0', '0'])
    })

    test.runIf(isOne(uid))(
      'a program ends by its first process as by itself: its code, its signal, its words, and who it left behind',
      async () => {
        using talk = await openTalk(uid, ground.base, ground.project, [], [])
        const run = async (command: string): Promise<Shell> => JSON.parse((await talk.shell({ command })).out) as Shell
        const ended = async (command: string): Promise<[number, string]> => {
          const { exit_code, stderr } = await run(command)
          return [exit_code, stderr]
        }
        expect(await ended('exit 7')).toEqual([7, ''])
        expect(await ended('kill -SEGV $$')).toEqual([139, ''])
        expect(await ended('(sleep 300 &) ; kill -TERM 0')).toEqual([143, ''])
        expect((await run('(sh -c "sleep 0.1 &"); sleep 0.4; ps -e -o stat= | grep -c Z; env | grep -c MARK; true')).stdout).toBe(
          '0\n0\n',
        )
      },
    )

    test.runIf(isOne(uid))(
      'every call of the table is refused as it says, the same call under another number of this machine too',
      async () => {
        const errno = { done: 0, EPERM: 1, EINVAL: 22, ENOSYS: 38, EAFNOSUPPORT: 97 }
        const plain = denied.flatMap(({ how, calls }) =>
          Object.entries(calls).flatMap(([name, numbers]) =>
            numbers[column] == null ? [] : [{ name, at: numbers[column], how }],
          ),
        )
        expect(plain.length).toBeGreaterThan(50)
        const high = 4_294_967_296
        const asked: [string, number, ...number[]][] = [
          ['unshare', number('unshare'), 0x1000_0000],
          ['unshare', number('unshare'), 0x2_0000],
          ['clone', number('clone'), 0x1000_0011, 0],
          ['ioctl', number('ioctl'), 0, 0x5412, 0],
          ['ioctl', number('ioctl'), 0, high + 0x5412, 0],
          ['ioctl', number('ioctl'), 0, 0x541c, 0],
          ['personality', number('personality'), 0x40_0000],
          ['unshare', number('unshare'), 0x400],
          // The first process of the stage: attached, seized, written to.
          ['ptrace', number('ptrace'), 16, 1, 0, 0],
          ['ptrace', number('ptrace'), 0x4206, 1, 0, 0],
          ['process_vm_writev', number('process_vm_writev'), 1, 0, 0, 0, 0, 0],
          // A thread that shares no files.
          ['clone', number('clone'), 0x1_0900, 0],
          ['close_range', number('close_range'), 1_000, 1_001, 2],
        ]
        const [all, given, sockets, shared] = [
          tries(plain.map(({ name, at }) => [name, at, -1, -1, -1, -1, -1] as const)),
          tries(asked),
          tries([
            ...[17, 38, 40, 44].map((family) => ['socket', number('socket'), family, 3, 0] as const),
            ['socket', number('socket'), 16, 3, 9],
            ['socketpair', number('socketpair'), 40, 1, 0, 0],
          ]),
          tries([
            ['shmget', number('shmget'), 0, 1_048_576, 0o1600],
            ['semget', number('semget'), 0, 10_000, 0o1600],
            ['x32', 0x4000_0000 + 39],
            ['later', 5_000],
          ]),
        ]
        const { stdout } = await ground.shell([all, given, sockets, shared].join('\n'))
        expect(stdout.trim().split('\n')).toEqual([
          ...plain.map(({ name, how }) => `${name} -${errno[how]}`),
          ...asked.map(([name]) => `${name} -1`),
          ...Array<string>(5).fill('socket -97'),
          'socketpair -97',
          'shmget -22',
          'semget -22',
          'x32 -38',
          'later -38',
        ])
      },
    )

    test.skipIf(!isOne(uid) || process.arch !== 'x64' || spawnSync('gcc', ['--version']).status !== 0)(
      'a program that calls as a 32-bit one is ended (skipped where nothing compiles it)',
      async () => {
        const source = join(ground.base, 'old.c')
        writeFileSync(
          source,
          'int main(void){long r;__asm__ volatile("int $0x80":"=a"(r):"a"(288),"b"(1),"c"(0):"memory","r8","r9","r10","r11");return r<0?3:0;}',
        )
        execFileSync('gcc', ['-o', join(ground.project, 'old'), source])
        // 128 and SIGSYS.
        expect(await ground.shell('./old; echo $?')).toMatchObject({ stdout: '159\n' })
      },
    )

    test.runIf(isOne(uid))(
      'what programs are made of works: threads, children, sockets, watchers, shared memory, semaphores, debuggers',
      async () => {
        const { stdout, stderr } = await ground.shell(`
        node -e 'const { Worker } = require("worker_threads"); new Worker("require(\\"worker_threads\\").parentPort.postMessage(1)", { eval: true }).on("message", () => {
          const { stdout } = require("child_process").spawnSync("sh", ["-c", "echo child"]); process.stdout.write(stdout)
          require("fs").watch("."); require("os").networkInterfaces(); require("net").createServer().listen(0, "127.0.0.1", function () { console.log("listens"); process.exit() }) })'
        perl -MIPC::SysV=IPC_PRIVATE,S_IRUSR,S_IWUSR -e 'print defined shmget(IPC_PRIVATE, 4096, S_IRUSR | S_IWUSR) ? "shared\\n" : "no\\n"; print defined semget(IPC_PRIVATE, 4, S_IRUSR | S_IWUSR) ? "semaphores\\n" : "no\\n"'
        perl -e 'if (my $pid = fork) { waitpid $pid, 0; print $? == 0 ? "traced\\n" : "no\\n" } else { exit(syscall(${process.arch === 'arm64' ? 117 : 101}, 0, 0, 0, 0) == 0 ? 0 : 1) }'
        mkdir /tmp/g && cd /tmp/g && git init -q . && echo x > f && git add f && git -c user.name=x -c user.email=x@y commit -qm x && git log --format=%s
        echo x > /dev/shm/y && cat /dev/shm/y; echo x > /dev/null; test -w /dev || echo read-only`)
        expect(stderr).toBe('')
        expect(stdout).toBe('child\nlistens\nshared\nsemaphores\ntraced\nx\nx\nread-only\n')
      },
    )
  })

  test('watches of files that the person’s other programs need too are left to them', async () => {
    const [init, add] = process.arch === 'arm64' ? [26, 27] : [294, 254]
    const most = (of: string): number => Number(readFileSync(`/proc/sys/fs/inotify/max_user_${of}`, 'latin1'))
    const { stdout } = await ground.shell(
      `perl -e 'my ($n, $fd, $last) = (0); $last = $fd, $n++ while $n < 100000 && ($fd = syscall(${init}, 0)) >= 0; print "$n\n"; my ($name, $w) = ("/tmp/f", 0);
        for (; $w < ${most('watches')}; $w++) { my $at = "/tmp/$w"; mkdir $at or last; syscall(${add}, $last, $at, 2) >= 0 or last } print "$w\n"'`,
      {},
      ['--stage-entries', '1000000'],
    )
    const [instances, watches] = stdout.trim().split('\n').map(Number)
    expect(instances).toBeGreaterThan(4)
    expect(instances).toBeLessThanOrEqual(most('instances') / 8)
    expect(watches).toBeLessThanOrEqual(most('watches') / 8)
  })

  const [exit, mmap, munmap, readCall] = process.arch === 'arm64' ? [93, 222, 215, 63] : [60, 9, 11, 0]
  const small = ['--stage-disk-bytes', '20000000', '--stage-memory-bytes', '100000000', '--stage-entries', '2000']
  const python = (code: string): string => `/usr/bin/python3 -c '${code}'`
  const write = 'for i in 1 2 3 4 5; do head -c 8000000 /dev/zero >'
  /** Each takes more than it may of what nobody counted, and would then say that it got away with it. */
  const bombs: Record<string, string> = {
    'files without a name': `perl -e 'for (1..5) { open $f[$_], ">", "x"; unlink "x"; print { $f[$_] } "x" x 8000000 } sleep 45'`,
    'mapped files without a name': python(
      'import mmap, os, time\nfor i in range(5):\n f = open("x", "w+b"); f.write(b"x" * 8000000); f.flush(); globals()[f"m{i}"] = mmap.mmap(f.fileno(), 0); f.close(); os.unlink("x")\ntime.sleep(45)',
    ),
    'a folder nobody may read': `mkdir shut; chmod 300 shut; ${write} shut/$i; done; sleep 45`,
    'a folder nobody may read, left behind': `mkdir shut; chmod 300 shut; ${write} shut/$i; done`,
    'names that are no text': `cd "$(mkdir n; echo n)"; printf x > "$(printf 'a\\377')"; ${write} "$(printf 'b\\377')$i"; done`,
    'deeper than any path': `n=$(printf 'd%.0s' $(seq 200)); for i in $(seq 25); do mkdir $n; cd $n; done; ${write} f$i; done`,
    'empty files': 'mkdir many; cd many; for i in $(seq 3000); do : > $i; done',
    'empty files in /tmp': 'cd /tmp; for i in $(seq 3000); do : > $i; done; sleep 45',
    'shared memory': python(
      'import mmap, time; m = mmap.mmap(-1, 200000000); [m.write(b"x" * 1000000) for i in range(200)]; time.sleep(45)',
    ),
    'shared memory that it let go of': python(
      'import mmap, time\nm = mmap.mmap(-1, 204800000)\nfor i in range(0, 204800000, 1024000): m[i:i+1024000] = b"x" * 1024000; m.madvise(mmap.MADV_DONTNEED, i, 1024000)\ntime.sleep(45)',
    ),
    'memory of those whose first thread has ended': python(
      `import threading, ctypes, os, time\ndef fill():\n x = b"x" * 60000000; time.sleep(45)\nfor i in range(3):\n if os.fork() == 0: threading.Thread(target=fill).start(); ctypes.CDLL(None).syscall(${exit}, 0)\ntime.sleep(45)`,
    ),
    'files of one whose first thread has ended': python(
      `import threading, ctypes, os, time\ndef fill():\n time.sleep(0.3)\n for i in range(5):\n  f = open("x", "w+b"); os.unlink("x"); f.write(b"x" * 8000000); f.flush(); globals()[f"f{i}"] = f\n time.sleep(45)\nthreading.Thread(target=fill).start(); ctypes.CDLL(None).syscall(${exit}, 0)`,
    ),
    'files that only a thread with a table of its own has': python(
      `import threading, ctypes, os, time\ndef fill():\n lib = ctypes.CDLL(None); lib.unshare(0x400); lib.syscall(${number('close_range')}, 1000, 1001, 2)\n for i in range(5):\n  f = open("x", "w+b"); os.unlink("x"); f.write(b"x" * 8000000); f.flush(); globals()[f"f{i}"] = f\n time.sleep(45)\nt = threading.Thread(target=fill); t.start(); t.join()`,
    ),
    'files that are gone again before all mappings are counted': python(
      `import mmap, os, time\nm = [mmap.mmap(-1, 4096) for i in range(60000)]\nfor i in range(${sweep(7, 1)}):\n if os.fork() == 0: time.sleep(60); os._exit(0)\ntime.sleep(2)\nfor i in range(5): open(f"x{i}", "wb").write(b"x" * 8000000)\ntime.sleep(20)\nfor i in range(5): os.unlink(f"x{i}")`,
    ),
    // Only root is told what lies behind a mapping; for others the largest part counts that was seen of it.
    ...(uid === 0 && {
      'shared memory of which it keeps one page': `perl -e 'my ($all, $part) = (204800000, 1024000); my $at = syscall(${mmap}, 0, $all, 3, 0x21, -1, 0); open my $zero, "<", "/dev/zero"; for (my $done = 4096; $done < $all; $done += $part) { syscall(${readCall}, fileno $zero, $at + $done, $part); syscall(${munmap}, $at + $done, $part) } sleep 45'`,
    }),
    ...(uid !== 0 && { 'who hides': 'cp /usr/bin/perl hides; chmod 111 hides; ./hides -e "sleep 45"' }),
  }
  const fine: Record<string, string> = {
    'memory that many share is counted once': python(
      'import mmap, os, time\nm = mmap.mmap(-1, 40000000)\nfor i in range(40): m.write(b"x" * 1000000)\nfor i in range(4):\n if os.fork() == 0:\n  sum(m[::4096]); time.sleep(0.5); os._exit(0)\nfor i in range(4): os.wait()',
    ),
    'who only asks not to be looked into': `perl -e 'syscall(${number('prctl')}, 4, 0) == 0 or die; sleep 2'`,
  }
  test('limits count what lies in no folder that can be read, and nothing twice', async () => {
    using talk = await openTalk(uid, ground.base, ground.project, small, [])
    const run = async (command: string): Promise<string> => {
      const { out, err } = await talk.shell({ command: `${command}\necho SURVIVED`, timeout_seconds: 60 })
      const why = /was ended: ([^"\n]*)/.exec(err)?.[1]
      return why ?? (out.includes('SURVIVED') ? 'fine' : `${out}${err}`)
    }
    const ends = async (given: Record<string, string>): Promise<Record<string, string>> =>
      Object.fromEntries(await Promise.all(Object.entries(given).map(async ([name, command]) => [name, await run(command)])))
    const bytes = 'it wrote more than 20000000 bytes (limits.stageDiskBytes)'
    const memory = 'it took more than 100000000 bytes of memory (limits.stageMemoryBytes)'
    const entries = 'it made more than 2000 files and folders (limits.stageEntries)'
    // For root, whom the system tells more, only what it is told of is counted in another way: shared memory.
    const ours = (given: Record<string, string>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(given)
          .filter(([name]) => isOne(uid) || name.includes('shared memory'))
          .filter(([name], at) => isDrawn(at) || name.endsWith('one page')),
      )
    expect(await ends(ours(bombs))).toEqual(
      ours({
        'files without a name': bytes,
        'mapped files without a name': bytes,
        'a folder nobody may read': bytes,
        'a folder nobody may read, left behind': bytes,
        'names that are no text': bytes,
        'deeper than any path': bytes,
        'empty files': entries,
        'empty files in /tmp': entries,
        'shared memory': memory,
        'shared memory that it let go of': memory,
        'memory of those whose first thread has ended': memory,
        'files of one whose first thread has ended': bytes,
        'files that only a thread with a table of its own has': bytes,
        'files that are gone again before all mappings are counted': expect.stringMatching(
          /^it (wrote|took) more|than can be counted$/,
        ),
        ...(uid === 0 && { 'shared memory of which it keeps one page': memory }),
        ...(uid !== 0 && { 'who hides': 'it hides from us which files it has open, so what it writes cannot be counted' }),
      }),
    )
    expect(await ends(fine)).toEqual(Object.fromEntries(Object.keys(fine).map((name) => [name, 'fine'])))
    expect(stagesLeft(ground.base)).toEqual([])
  })

  test.runIf(isOne(uid))('the permissions of the project’s own folder stay as they are, and the answer says so', async () => {
    const { mode } = statSync(ground.project)
    expect(await ground.shell('chmod 000 .')).toMatchObject({ ok: true, left: [{ path: '.' }] })
    expect(await ground.shell('chmod 777 .')).toMatchObject({ ok: true, left: [{ path: '.' }] })
    expect(statSync(ground.project).mode).toBe(mode)
  })
})

test('a folder stays, and the answer says why, where something in it has a name that is no text', async () => {
  await using world = await openWorld({ files: { 'd/a.txt': 'one\n', 'd/\ufffd': 'two\n' }, flags: shownFirst })
  execFileSync(
    'sh',
    ['-c', `echo x > "$(printf 'd/b\\377')"; mkdir "$(printf 'd/f\\377')"; echo x > "$(printf 'd/f\\377/in')"`],
    {
      cwd: world.project,
    },
  )
  approve(world, await ask(world, { command: 'rm -rf d' }))
  const { left } = await world.call<Shell>('shell', { command: 'rm -rf d' })
  const why = 'its name is not UTF-8 text'
  expect(left).toEqual([
    { path: 'd/b\ufffd', why },
    { path: 'd/f\ufffd', why },
  ])
  expect(readdirSync(world.path('d'))).toEqual(['b\ufffd', 'f\ufffd'])
})

test('nothing that one call leaves on its stage is found by the next', async () => {
  await using world = await openWorld({ flags: shownFirst })
  const [set, get] = process.arch === 'arm64' ? [5, 8] : [188, 191]
  const letter = `touch -d @1000 .; perl -e 'my ($at, $name, $text) = (".", "user.letter", "SECRET"); syscall(${set}, $at, $name, $text, 6, 0)'`
  // Programs are shown Node where it lies, which may be below /tmp.
  const ours = /^\/tmp\/([^/]+)/.exec(process.execPath)?.[1] ?? ''
  const read = `stat -c %Y .; perl -e 'my ($at, $name, $text) = (".", "user.letter", "-" x 6); syscall(${get}, $at, $name, $text, 6); print $text'; ls -A /tmp/ /dev/shm | grep -v handrail- | grep -Fxv '${ours || 'handrail-'}'; uname -n; perl -e 'print "left" if defined shmget(7, 8, 0)'`
  for (let round = 0; round < 3; round++) {
    await world.call('shell', { command: `${letter}; touch /tmp/x /dev/shm/x; perl -e 'shmget(7, 8, 01666)'` })
    const { stdout } = await world.call<{ stdout: string }>('shell', { command: read })
    expect(stdout).toMatch(/^[1-9]\d{9}\n-{6}\/dev\/shm:\n\n\/tmp\/:\nhome\nstage\n$/)
  }
})

test('a stage that waits goes at once with a no, a lapse or a withdrawal, and no group of processes stays', async () => {
  const flags = { ...shownFirst, 'stage-disk-bytes': '1048576', 'approval-ttl-ms': '4000' }
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags })
  const groups = (): string[] =>
    existsSync('/sys/fs/cgroup/pids')
      ? readdirSync('/sys/fs/cgroup/pids').filter((name) => name.startsWith(`handrail-${process.pid}-`))
      : []
  const declined = await ask(world, { command: 'rm a.txt' })
  expect(stagesLeft(world.base)).toHaveLength(1)
  world.runtime.approvals.decide(declined.id, { approve: false, by: 'test' })
  expect(stagesLeft(world.base)).toEqual([])
  await ask(world, { command: 'echo two > a.txt' })
  world.write('a.txt', 'theirs\n')
  expect((await world.fault('shell', { command: 'echo two > a.txt' }, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
  expect(stagesLeft(world.base)).toEqual([])
  const lapsed = await ask(world, { command: 'echo three > a.txt' })
  expect(await soon(() => world.runtime.approvals.get(lapsed.id)?.state === 'expired')).toBe(true)
  expect(stagesLeft(world.base)).toEqual([])
  await world.reopen()
  expect(await soon(() => groups().length === 0)).toBe(true)
})

// The next test meets both bounds too.
test.runIf(isSoak)('stages that wait are bounded, in number and in bytes', async () => {
  await using world = await openWorld({ flags: { ...shownFirst, 'stage-disk-bytes': '1048576' } })
  const refused = async (command: string): Promise<string> =>
    (await world.fault('shell', { command }, { approvalWaitMs: 0 })).message
  for (let index = 0; index < 4; index++) await ask(world, { command: `head -c 1000000 /dev/zero > big${index}` })
  expect(await refused('head -c 1000000 /dev/zero > big4')).toMatch(/^The changes of 4 programs wait for a person already/)
  for (let index = 4; index < 32; index++) await ask(world, { command: `: > small${index}` })
  expect(await refused(': > small32')).toMatch(/^The changes of 32 programs wait for a person already/)
  // What changes nothing asks nobody.
  expect(await world.call('shell', { command: 'echo fine' })).toMatchObject({ stdout: 'fine\n' })
  expect(stagesLeft(world.base)).toHaveLength(32)
})

test('one asker who holds all places for stages that wait gives way to another, in number and in bytes', async () => {
  await using world = await openWorld({ flags: { ...shownFirst, 'stage-disk-bytes': '1048576' } })
  const greedy = { peer: 'process 1', approvalWaitMs: 0 }
  const other = { peer: 'process 2', session: 'sess_other', approvalWaitMs: 0 }
  const big = (name: string) => ({ command: `head -c 1000000 /dev/zero > ${name}` })
  const first = await ask(world, big('b0'), 'shell', greedy)
  const yes = first.id
  approve(world, first)
  for (let index = 1; index < 4; index++) await ask(world, big(`b${index}`), 'shell', greedy)
  const mine = await ask(world, big('mine'), 'shell', other)
  // The oldest that was not answered; what was agreed to is kept.
  const states = world.runtime.approvals
    .list()
    .map(({ id, state }) => [id === yes ? 'yes' : id === mine.id ? 'mine' : 'greedy', state])
  expect(states.toSorted()).toEqual([
    ['greedy', 'expired'],
    ['greedy', 'pending'],
    ['greedy', 'pending'],
    ['mine', 'pending'],
    ['yes', 'approved'],
  ])
  expect((await world.fault('shell', big('b4'), greedy)).message).toMatch(/^The changes of 4 programs wait/)
  for (let index = 4; index < 32; index++) await ask(world, { command: `: > small${index}` }, 'shell', greedy)
  expect((await world.fault('shell', { command: ': > more' }, greedy)).message).toMatch(/^The changes of 32 programs wait/)
  await ask(world, { command: ': > two' }, 'shell', other)
  expect(stagesLeft(world.base)).toHaveLength(32)
  expect(world.runtime.approvals.get(mine.id)?.state).toBe('pending')
})

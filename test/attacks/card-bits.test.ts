import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTalk, type Talk } from '../support/commands.ts'
import { oneUser, openGround, type Ground } from '../support/ground.ts'
import { openWorld, type CliEnd } from '../support/world.ts'

/** Permissions that a program gives to what it makes are on the card; bits that lend the rights of an owner are given to nobody. */

describe.each(oneUser)('run by %s', (_, uid) => {
  let ground: Ground
  let talk: Talk
  beforeAll(async () => {
    ground = openGround(uid)
    talk = await openTalk(uid, ground.base, ground.project)
  })
  afterAll(() => {
    talk[Symbol.dispose]()
    ground[Symbol.dispose]()
  })

  const call = (command: string): Promise<CliEnd> => talk.shell({ command })
  /** What the person reads of a command. */
  const card = async (command: string): Promise<{ id: string; text: string }> => {
    const { err } = await call(command)
    const id = /\bappr_\w+/.exec(err)?.[0]
    if (id === undefined) throw new Error(err)
    return { id, text: (await ground.cli(['approvals', 'show', id, '--project', ground.project])).out }
  }

  test('a mode other than the usual one is said of what is new, and of what takes the place of something else', async () => {
    const { text } = await card(
      `umask 022; echo x > open.txt; chmod 666 open.txt; echo x > closed.txt; chmod 600 closed.txt; echo x > plain.txt
       echo x > run; chmod 755 run; echo x > odd; chmod 711 odd; echo x > none; chmod 0 none
       mkdir wide shut usual; chmod 777 wide; chmod 500 shut; rm a.txt; mkdir a.txt; chmod 733 a.txt`,
    )
    const lines = text.split('\n')
    const says = (path: string): string => lines.find((line) => line.includes(`${path}: `)) ?? `no ${path} in ${text}`
    expect(says('open.txt')).toContain('created, permissions 666 (anybody can write to it)')
    expect(says('closed.txt')).toContain('created, permissions 600')
    expect(says('plain.txt')).toMatch(/created; 2 bytes/)
    expect(says('run')).toMatch(/created, executable; /)
    expect(says('odd')).toContain('created, executable, permissions 711')
    expect(says('none')).toContain('created, permissions 000')
    expect(says('wide')).toContain('created folder, permissions 777 (anybody can write to it)')
    expect(says('shut')).toContain('created folder, permissions 500')
    expect(says('usual')).toMatch(/created folder$/)
    expect(says('a.txt')).toContain('file becomes a folder, permissions 733 (anybody can write to it)')
  })

  test('what everybody can write to from now on is said of an old file too', async () => {
    expect((await card('chmod 666 a.txt')).text).toContain('permissions 644 → 666 (anybody can write to it)')
    expect((await card('mv a.txt b.txt; chmod 646 b.txt')).text).toContain('permissions 644 → 646 (anybody can write to it)')
  })

  test('a bit that lends the rights of an owner is not taken over, and the card and the answer say so', async () => {
    const command =
      'cp /usr/bin/id lent; chmod 4755 lent; echo x > grouped; chmod 2711 grouped; echo x > shut; chmod 4111 shut; mkdir tacky; chmod 1777 tacky'
    const { id, text } = await card(command)
    expect(text).toMatch(/Not applied: (lent, shut|shut, lent) \(of this, only the set-user-id bit/)
    expect(text).toContain('Not applied: grouped (of this, only the set-group-id bit')
    expect(text).toContain('Not applied: tacky (of this, only the sticky bit')
    await ground.cli(['approvals', 'approve', id, '--unread', '--project', ground.project])
    const { out } = await call(command)
    expect(out).toContain('of this, only the set-user-id bit')
    const bits = (name: string): string => (statSync(join(ground.project, name)).mode & 0o7777).toString(8)
    expect(['lent', 'grouped', 'shut', 'tacky'].map(bits)).toEqual(['755', '711', '111', '777'])
    // Alone it changes nothing, and is said all the same.
    expect((await call('chmod u+s lent')).out).toContain('of this, only the set-user-id bit')
    expect(bits('lent')).toBe('755')
  })

  test('a bit that the project had, and one that folders pass on, is nobody’s news', async () => {
    const shared = join(ground.project, 'shared')
    mkdirSync(shared)
    writeFileSync(join(shared, 'old'), 'x')
    ground.give(shared)
    chmodSync(shared, 0o2775)
    const { text } = await card('echo y > shared/old; mkdir -p shared/deep/er; echo x > shared/deep/er/new; chmod 775 shared')
    expect(text).not.toContain('Not applied')
  })
})

test('new content does not keep a bit that lends the rights of an owner', async () => {
  await using world = await openWorld({ files: { tool: '#!/bin/sh\n' }, flags: { 'write-requires-diff': 'false' } })
  for (const [bits, then] of [
    [0o4755, 0o755],
    [0o2755, 0o755],
  ] as const) {
    chmodSync(world.path('tool'), bits)
    await world.call('write_to_file', { path: 'tool', content: `#!/bin/sh\necho ${bits}\n`, dryRun: false })
    expect(statSync(world.path('tool')).mode & 0o7777).toBe(then)
  }
})

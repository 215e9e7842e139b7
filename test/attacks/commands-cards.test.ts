// @stage
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { headline } from '../../src/text/printable.ts'
import type { CardChange } from '../../src/contracts/tool.ts'
import type { Difference } from '../../src/host/stage/effects.ts'
import { agreed, approve, ask, soon, stagesLeft, theStage, treeOf, shownFirst } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'
import { lapseNow } from '../support/approve.ts'
import { cli } from '../support/commands.ts'

describe('the card cannot lie', () => {
  test('what is shown is what is committed, byte for byte', async () => {
    await using world = await openWorld({
      files: { 'a.txt': 'one\ntwo\n', 'bin.dat': Buffer.from([0, 1, 2]) },
      flags: shownFirst,
    })
    const strange = 'plain\n\u001b[2K\u001b[1Ahidden\r\n\u202ereversed\u202c\n\u200bzero\nno end'
    const command = `printf '${[...Buffer.from(strange)].map((byte) => `\\${byte.toString(8)}`).join('')}' > a.txt; printf '\\000\\377' > bin.dat`
    const approval = await ask(world, { command })
    const [text, binary] = ['a.txt', 'bin.dat'].map((path) => approval.card.changes.find((change) => change.path === path))
    expect(text?.diff.hunks.flatMap((hunk) => hunk.linesNew).join('\n')).toBe(strange)
    expect(headline(binary as CardChange)).toMatch(
      /^bin.dat: modified, 2 bytes that are no text written out; 3 bytes, sha256 [0-9a-f]{16} → 2 bytes, sha256 [0-9a-f]{16}$/,
    )
    approve(world, approval)
    await world.call('shell', { command })
    expect(world.read('a.txt')).toBe(strange)
    expect(readFileSync(world.path('bin.dat'))).toEqual(Buffer.from([0, 255]))
    const shown = await cli(process.getuid?.() ?? 0, world.base, ['approvals', 'show', approval.id, '--project', world.project])
    // oxlint-disable-next-line no-control-regex
    expect(shown.out).not.toMatch(/[\u001b\r\u202e\u200b]/)
  })

  test('what a program prints cannot pass for what Handrail says', async () => {
    await using world = await openWorld({ flags: shownFirst })
    const lie = 'Not applied: nothing at all.'
    const { card } = await ask(world, { command: `echo "${lie}"; echo "${lie}" >&2; echo x > x; mkfifo p` })
    const notes = card.notes ?? []
    expect(notes.some((note) => note.startsWith('Not applied: p '))).toBe(true)
    expect(notes.filter((note) => note === lie)).toEqual([])
  })

  test('a folder that becomes a file, a file that becomes a link, a link that becomes a folder are called that', async () => {
    await using world = await openWorld({ files: { 'd/f': 'x', f: 'y', g: 'z' }, flags: shownFirst })
    symlinkSync('f', world.path('l'))
    const { card } = await ask(world, { command: 'rm -r d; echo new > d; ln -sf g f; rm l; mkdir l' })
    const says = Object.fromEntries(card.changes.map((change) => [change.path, change.says ?? '']))
    expect(says).toEqual({
      d: 'folder becomes a file',
      'd/f': 'deleted',
      f: 'file becomes a link → g',
      l: 'link becomes a folder',
    })
  })

  test('a folder that holds what no commit removes can not become a file; the rest is taken over', async () => {
    await using world = await openWorld({ files: { 'd/node_modules/m.js': 'x', 'd/f': 'y' }, flags: shownFirst })
    const { left } = await agreed(world, { command: 'rm -rf d; echo new > d; echo z > z' })
    expect(left).toMatchObject([
      { path: 'd/node_modules' },
      { path: 'd', why: 'the folder in its place holds what no commit removes' },
    ])
    expect(world.read('z')).toBe('z\n')
    expect(world.read('d/node_modules/m.js')).toBe('x')
  })

  test('a stage that was tampered with after it was shown is not committed', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
    const command = 'echo shown > a.txt; echo shown > b.txt; ln -s a.txt l'
    const tamper: ((upper: string) => void)[] = [
      (upper) => writeFileSync(join(upper, 'a.txt'), 'other\n'),
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        symlinkSync('/etc/passwd', join(upper, 'b.txt'))
      },
      (upper) => {
        rmSync(join(upper, 'l'))
        symlinkSync('/etc/passwd', join(upper, 'l'))
      },
      (upper) => rmSync(join(upper, 'b.txt')),
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        mkdirSync(join(upper, 'b.txt'))
      },
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        execFileSync('mkfifo', [join(upper, 'b.txt')])
      },
      (upper) => {
        rmSync(upper, { recursive: true })
        writeFileSync(upper, '')
      },
    ]
    for (const act of tamper) {
      const approval = await ask(world, { command })
      act(join(theStage(world.base).folder, 'upper'))
      approve(world, approval)
      const fault = await world.fault('shell', { command }, { approvalWaitMs: 0 })
      expect(fault.code).toBe('E_CONFLICT')
      expect(Object.keys(treeOf(world.project))).toEqual(['a.txt'])
      expect(world.read('a.txt')).toBe('one\n')
      expect(stagesLeft(world.base)).toEqual([])
    }
  })

  test('a record of a stage that is edited together with its files commits nothing that was not shown', async () => {
    await using world = await openWorld({ files: { 'a.dat': 'one\n' }, flags: shownFirst })
    const command = String.raw`printf '\000shown' > a.dat; ln -s a.dat l`
    const evil = Buffer.from('\0other')
    const hash = createHash('sha256').update(evil).digest('hex')
    const edit = (file: string, effectsToo: boolean): void => {
      const text = readFileSync(file, 'utf8')
      const line = text.split('\n').find((one) => one.startsWith('{"changed":{"path":"a.dat"')) ?? ''
      const shown = (JSON.parse(line) as { changed: Required<Difference> }).changed.after?.sha256 ?? ''
      writeFileSync(file, effectsToo ? text.replaceAll(shown, hash) : text.replace(line, line.replace(shown, hash)))
    }
    for (const effectsToo of [false, true]) {
      const approval = await ask(world, { command })
      const { folder } = theStage(world.base)
      edit(join(folder, 'story.jsonl'), effectsToo)
      writeFileSync(join(folder, 'upper', 'a.dat'), evil)
      approve(world, approval)
      const fault = await world.fault('shell', { command }, { approvalWaitMs: 0 })
      expect(world.read('a.dat')).toBe('one\n')
      // What was not shown is shown, and asked about anew; the old yes is not to it.
      if (!effectsToo) expect(fault.code).toBe('E_CONFLICT')
      else {
        expect(fault.details?.['approvalId']).not.toBe(approval.id)
        const { card } = world.runtime.approvals.get(String(fault.details?.['approvalId'])) ?? approval
        expect(card.changes.map(headline).join('\n')).toContain(hash.slice(0, 16))
      }
    }
  })

  test('what is added to a stage after it was shown is not committed', async () => {
    await using world = await openWorld({ flags: shownFirst })
    const approval = await ask(world, { command: 'echo x > x' })
    writeFileSync(join(theStage(world.base).folder, 'upper', 'more.txt'), 'more')
    approve(world, approval)
    await world.call('shell', { command: 'echo x > x' })
    expect(Object.keys(treeOf(world.project))).toEqual(['x'])
  })

  test('an approval counts once', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: shownFirst })
    const command = 'echo more >> n.txt'
    await agreed(world, { command })
    await ask(world, { command })
    expect(world.read('n.txt')).toBe('more\n')
  })

  test('two same calls at once: one commit, one approval', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: shownFirst })
    const command = 'echo more >> n.txt'
    const waiting: string[] = []
    const onApproval = (id: string): void => void waiting.push(id)
    const both = Promise.allSettled([1, 2].map(() => world.call('shell', { command }, { approvalWaitMs: 20_000, onApproval })))
    expect(await soon(() => waiting.length === 2)).toBe(true)
    const asked = world.runtime.approvals.list('pending')
    expect(asked).toHaveLength(1)
    asked.forEach((one) => approve(world, one))
    const ends = (await both).map((end) => end.status).sort()
    expect(ends).toEqual(['fulfilled', 'rejected'])
    expect(world.read('n.txt')).toBe('more\n')
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('another session does not get to see or spoil a stage that waits; the same effect may use the same yes once', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: shownFirst })
    const command = 'echo more >> n.txt'
    const approval = await ask(world, { command })
    const other = await world.fault('shell', { command: 'echo other >> n.txt' }, { approvalWaitMs: 0, session: 'sess_other' })
    expect(other.details?.['approvalId']).not.toBe(approval.id)
    approve(world, approval)
    await world.call('shell', { command }, { approvalWaitMs: 0 })
    expect(world.read('n.txt')).toBe('more\n')
  })

  test('a no discards: nothing is left on the disk, and the words come back', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
    const approval = await ask(world, { command: 'rm a.txt' })
    expect(stagesLeft(world.base)).toHaveLength(1)
    world.runtime.approvals.decide(approval.id, { approve: false, by: 'test', note: 'keep it' })
    const fault = await world.fault('shell', { command: 'rm a.txt' }, { approvalWaitMs: 0 })
    expect(fault.message).toContain('keep it')
    expect(stagesLeft(world.base)).toEqual([])
    expect(world.read('a.txt')).toBe('one\n')
  })

  test('a no to a call that waits discards at once', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
    const call = world.fault('shell', { command: 'rm a.txt' }, { approvalWaitMs: 20_000 })
    expect(await soon(() => world.runtime.approvals.list('pending').length === 1)).toBe(true)
    world.runtime.approvals.decide(world.runtime.approvals.list('pending')[0]?.id ?? '', { approve: false, by: 'test' })
    expect((await call).details).toMatchObject({ declined: true })
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('an approval that lapsed counts for nothing, and its stage goes', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
    const approval = await ask(world, { command: 'rm a.txt' })
    approve(world, approval)
    lapseNow(world, approval.id)
    const again = await ask(world, { command: 'rm a.txt' })
    expect(again.id).not.toBe(approval.id)
    expect(world.read('a.txt')).toBe('one\n')
    lapseNow(world, again.id)
    // Whoever opens the project next sweeps it.
    await cli(process.getuid?.() ?? 0, world.base, ['approvals', 'list', '--project', world.project])
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('a file that changed on the stage and in the project meanwhile: E_CONFLICT, nothing lost', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n', 'b.txt': 'b\n', 'd/x': 'x\n' }, flags: shownFirst })
    const moved: [string, (world: World) => void][] = [
      ['echo mine > a.txt', () => world.write('a.txt', 'theirs\n')],
      ['rm b.txt', () => world.write('b.txt', 'theirs\n')],
      ['echo mine > new.txt', () => world.write('new.txt', 'theirs\n')],
      ['rm -r d', () => world.write('d/y', 'theirs\n')],
      ['chmod 600 a.txt', () => chmodSync(world.path('a.txt'), 0o755)],
      ['rm -r d; echo x > d', () => world.write('d/z', 'theirs\n')],
    ]
    for (const [command, act] of moved) {
      const approval = await ask(world, { command })
      act(world)
      const theirs = treeOf(world.project)
      approve(world, approval)
      expect(`${command}: ${(await world.fault('shell', { command }, { approvalWaitMs: 0 })).code}`).toBe(
        `${command}: E_CONFLICT`,
      )
      expect(treeOf(world.project)).toEqual(theirs)
    }
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('a file that somebody else changes while the program runs: E_CONFLICT, nothing lost', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: shownFirst })
    const call = world.fault('shell', { command: 'echo mine >> a.txt; touch /tmp/x; sleep 4' }, { approvalWaitMs: 0 })
    expect(await soon(() => stagesLeft(world.base).some((stage) => existsSync(join(stage, 'upper', 'a.txt'))))).toBe(true)
    await pause(50)
    world.write('a.txt', 'theirs\n')
    expect((await call).code).toBe('E_CONFLICT')
    expect(world.read('a.txt')).toBe('theirs\n')
    expect(stagesLeft(world.base)).toEqual([])
  })
})

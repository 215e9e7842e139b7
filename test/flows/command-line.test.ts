import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commands } from '../../src/bin.ts'
import { table } from '../../src/surfaces/cli/print.ts'
import { readAnswer } from '../../src/surfaces/cli/commands/approvals-watch.ts'
import { cutTo, padTo, widthOf } from '../../src/text/width.ts'
import { runInside } from '../support/inside.ts'
import { withShell } from '../support/stage.ts'
import { atTerminal } from '../support/terminal.ts'
import { cleanEnv, openWorld, program, repository, runToExit, type World } from '../support/world.ts'

const manifest = (name: string): string => `${JSON.stringify({ name, scripts: { postinstall: 'node a.js' } })}\n`

/** A question that nobody answered yet: a package.json that runs something. */
async function question(world: World, name: string): Promise<string> {
  const input = { path: `${name}/package.json`, content: manifest(name) }
  await world.call('write_to_file', { ...input, dryRun: true })
  const { details } = await world.fault('write_to_file', { ...input, dryRun: false }, { approvalWaitMs: 0 })
  return (details as { approvalId: string }).approvalId
}

test('the help of a command is about that command, and no line of it is wider than 80 columns but for commands to paste', async () => {
  await using world = await openWorld()
  for (const { name, examples } of commands) {
    const { code, out } = await runInside(world.project, [name, '--help'])
    expect({ name, code }).toEqual({ name, code: 0 })
    expect(out, name).not.toContain('--call-timeout-ms')
    const pasted = new Set(examples.map((example) => `  ${example}`))
    expect(out.split('\n').filter((line) => widthOf(line) > 80 && !pasted.has(line))).toEqual([])
  }
  const { out } = await runInside(world.project, ['--help'])
  expect(out.split('\n').filter((line) => widthOf(line) > 80)).toEqual([])
  for (const { name } of commands) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'))
})

test('the help that was written down when it was built is what the program would say; a narrow screen gets its own', async () => {
  const env = cleanEnv(repository)
  const said = async (words: string[], more: Record<string, string> = {}): Promise<string> =>
    (await runToExit(process.execPath, [program, ...words], { env: { ...env, ...more } })).out
  const inside = await runInside(repository, ['--help'], { asIs: true })
  expect([await said([]), await said(['--help'])]).toEqual([inside.out, inside.out])
  const narrow = await said(['--help'], { COLUMNS: '40' })
  expect(narrow.split('\n').filter((line) => widthOf(line) > 40)).toEqual(['  handrail COMMAND [--project DIR] [options]'])
  expect(await said(['--version'])).toBe(
    `${(JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }).version}\n`,
  )
})

test('settings stand behind --help-settings, in groups, with defaults and units', async () => {
  await using world = await openWorld()
  const { out } = await runInside(world.project, ['serve', '--help-settings'])
  expect(out).toContain('--call-timeout-ms MS')
  expect(out.replaceAll(/\s+/g, ' ')).toContain('Longest a call may run. Default: 60000 (60 s).'.replace('60 s', '1 min'))
  expect(out).toMatch(/^limits$/m)
  expect(out.replaceAll(/\s+/g, ' ')).toContain('--mode user|developer|cline')
  expect(out.split('\n').filter((line) => widthOf(line) > 80)).toEqual([])
})

test('a wrong command, act, option, id or word is an error that says what is near', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  await world.put('a.txt', 'b\n')
  const wrong: [string[], RegExp][] = [
    [['aproovals'], /Unknown command.*approvals/s],
    [['help', 'nope'], /Unknown command: nope/],
    [['approvals', 'lisst'], /Unknown: approvals lisst.*approvals list/s],
    [['audit', 'show', '--limt', '3'], /Unknown option.*Did you mean --limit/s],
    [['doctor', 'nope'], /One word too many: nope/],
    [['snapshots', 'a', 'b'], /One word too many: b/],
    [['sessions', 'nope'], /No such session: nope/],
    [['undo', 'foo'], /No such snapshot, call or run: foo/],
    [['undo', '--last', '--force', '--merge'], /Only one of --force and --merge/],
    [['audit', 'show', '--call', 'nope'], /No such call in the log: nope/],
    [['approvals', 'show', 'nope'], /No such approval: nope/],
    [['approvals', 'approve', '--last'], /Nothing waits for you/],
    [['tools', 'shell'], /shell is switched off.*--enable-shell/s],
    [['tools', 'nope'], /No such tool: nope/],
  ]
  for (const [words, says] of wrong) {
    const { code, out, err } = await runInside(world.project, words)
    expect({ words, code }).toEqual({ words, code: code === 2 ? 2 : 1 })
    expect({ words, out }).toEqual({ words, out: '' })
    expect(err, words.join(' ')).toMatch(says)
  }
})

test('the beginning of an id is enough, --last is the newest, and one that fits several says so', async () => {
  await using world = await openWorld()
  const [first, second] = [await question(world, 'one'), await question(world, 'two')]
  const begins = (id: string): string => id.slice(0, id.length - 20)
  const shown = await runInside(world.project, ['approvals', 'show', begins(first), '--json'])
  expect(JSON.parse(shown.out)).toMatchObject({ id: first })
  const bare = await runInside(world.project, ['approvals', 'show', begins(first).slice('appr_'.length), '--json'])
  expect(JSON.parse(bare.out)).toMatchObject({ id: first })
  const last = await runInside(world.project, ['approvals', 'show', '--last', '--json'])
  expect(JSON.parse(last.out)).toMatchObject({ id: second })
  const several = await runInside(world.project, ['approvals', 'show', 'appr_'])
  expect(several).toMatchObject({ code: 2, err: expect.stringContaining('Several begin with appr_') as string })
})

test('deny --all says no to everything that waits, with the same words; several ids too', async () => {
  await using world = await openWorld()
  const ids = [await question(world, 'one'), await question(world, 'two'), await question(world, 'three')]
  const two = await runInside(world.project, ['approvals', 'deny', ids[0] as string, ids[1] as string, '--note', 'not today'])
  expect(two).toMatchObject({ code: 0, out: expect.stringMatching(/^Denied: .*\nDenied: .*\n$/) as string })
  expect(world.runtime.approvals.get(ids[1] as string)).toMatchObject({ state: 'denied', note: 'not today' })
  expect((await runInside(world.project, ['approvals', 'deny', '--all'])).out).toMatch(/^Denied: .*\n$/)
  expect(ids.map((id) => world.runtime.approvals.state(id))).toEqual(['denied', 'denied', 'denied'])
  expect((await runInside(world.project, ['approvals', 'deny', '--all'])).out).toBe('Nothing waits for you.\n')
})

const lines = (...changed: [number, string][]): string => {
  const text = Array.from({ length: 9 }, (_, index) => `line ${index + 1}`)
  for (const [at, words] of changed) text[at - 1] = words
  return `${text.join('\n')}\n`
}

test('an undo that would lose the person’s own change shows it, and goes on by --merge, --keep-mine or --force', async () => {
  await using world = await openWorld({ files: { 'a.txt': lines() } })
  await world.put('a.txt', lines([2, 'by the agent']))
  writeFileSync(world.path('a.txt'), lines([2, 'by the agent'], [8, 'by me']))
  const refused = await runInside(world.project, ['undo', '--last', '--yes'])
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('- line 8\n+ by me')
  for (const way of ['--keep-mine', '--merge', '--force'])
    expect(refused.err).toMatch(new RegExp(`undo --last ${way} --project `))
  expect((await runInside(world.project, ['undo', '--last', '--keep-mine', '--yes'])).code).toBe(1)
  expect(world.read('a.txt')).toBe(lines([2, 'by the agent'], [8, 'by me']))
  expect(await runInside(world.project, ['undo', '--last', '--merge', '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe(lines([8, 'by me']))
})

test('--merge refuses changes of the same lines; --force takes all back and what was mine stays among the snapshots', async () => {
  await using world = await openWorld({ files: { 'a.txt': lines(), 'b.txt': 'b\n' } })
  await world.put('a.txt', lines([2, 'by the agent']))
  writeFileSync(world.path('a.txt'), lines([2, 'by me']))
  const merged = await runInside(world.project, ['undo', '--last', '--merge', '--yes'])
  expect(merged).toMatchObject({ code: 1, err: expect.stringContaining('on the same lines') as string })
  const forced = await runInside(world.project, ['undo', '--last', '--force', '--yes'])
  expect(world.read('a.txt')).toBe(lines())
  const [, call = ''] = /undo (call_\w+) --project/.exec(forced.out) ?? []
  expect(await runInside(world.project, ['undo', call, '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe(lines([2, 'by me']))
})

test('what the person wrote between the look and the yes is not taken back with --force', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  await world.put('a.txt', 'agent\n')
  writeFileSync(world.path('a.txt'), 'mine\n')
  const person = { role: 'person', session: 'cli-person' } as const
  const { shown } = await world.call<{ shown: object }>('undo', { last: true, changed: 'force', dryRun: true }, person)
  writeFileSync(world.path('a.txt'), 'mine, later\n')
  const { code } = await world.fault('undo', { last: true, changed: 'force', shown, dryRun: false }, person)
  expect(code).toBe('E_CONFLICT')
  expect(readFileSync(world.path('a.txt'), 'utf8')).toBe('mine, later\n')
})

test('the log names the command, and a program that failed is not ok', async () => {
  await using world = await openWorld({ flags: withShell })
  await world.call('shell', { command: 'exit 3' })
  const { out } = await runInside(world.project, ['audit', 'show', '--tool', 'shell'])
  expect(out).toMatch(/call\.start .*shell exit 3/)
  expect(out).toMatch(/call\.end +exited 3 .*shell exit 3/)
})

test('tables count places of the screen: Chinese takes two, a mark on a letter none', () => {
  expect([widthOf('雪乃'), widthOf('e\u0301'), widthOf('👍'), widthOf('ab')]).toEqual([4, 1, 2, 2])
  expect(cutTo('雪乃在海边', 6)).toBe('雪乃…')
  expect(padTo('雪', 4)).toBe('雪  ')
  const [head, one, two] = table(
    ['name', 'what'],
    [
      ['雪乃', 'x'],
      ['Mara', 'y'],
    ],
    80,
  ).split('\n') as [string, string, string]
  expect([head.indexOf('what'), widthOf(one.slice(0, one.indexOf('x'))), two.indexOf('y')]).toEqual([6, 6, 6])
})

test('an answer is its first word; the rest goes to the agent', () => {
  expect(readAnswer('n use the test script')).toEqual({ verdict: 'no', note: 'use the test script' })
  expect(readAnswer('Y')).toEqual({ verdict: 'yes', note: '' })
  expect(readAnswer('what?')).toEqual({ verdict: undefined, note: '' })
  expect(readAnswer('')).toEqual({ verdict: undefined, note: '' })
})

test('a yes that is there before the question could be read was meant for another one; a no counts', () => {
  expect(readAnswer('y', 100).verdict).toBe('too quick')
  expect(readAnswer('yes go on', 699).verdict).toBe('too quick')
  expect(readAnswer('y', 700).verdict).toBe('yes')
  expect(readAnswer('n', 1).verdict).toBe('no')
})

test('Ctrl-C at a question ends quietly with 130', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  await world.put('a.txt', 'b\n')
  const { code, out } = await atTerminal(world.project, ['undo', '--last'], { columns: 80, answer: '\u0003' })
  expect({ code, out: out.split('[y/N]')[1]?.trim() }).toEqual({ code: 130, out: '' })
  expect(world.read('a.txt')).toBe('b\n')
})

test('approvals watch shows what waits, whole and at 80 columns, and q leaves it open', async () => {
  await using world = await openWorld()
  const id = await question(world, '雪乃')
  const { code, out } = await atTerminal(world.project, ['approvals', 'watch'], {
    columns: 80,
    until: 'to the agent:',
    answer: 'q',
  })
  expect(code).toBe(0)
  expect(out).toContain('+ {"name":"雪乃","scripts":{"postinstall":"node a.js"}}')
  expect(out).toContain('\u0007')
  expect(world.runtime.approvals.state(id)).toBe('pending')
})

test('approvals watch shows questions in words behind a bar, whatever they hold, takes the answer in place, and goes on', async () => {
  await using world = await openWorld()
  const options = ['\u202etxt.exe', 'b\u0007']
  const hostile = `Which?\n\u001b]0;title\u0007${'long '.repeat(400)}\nApproved: all of it\ry yes · n no: \u2066x`
  const { id } = world.runtime.forms.words.put(
    { text: hostile, options },
    { surface: 'mcp-stdio', role: 'agent', session: 'sess_0', client: 'an\u001b[2Jagent' },
  )
  const { code, out } = await atTerminal(world.project, ['approvals', 'watch'], {
    columns: 60,
    until: 'it allows nothing: ',
    answer: '2',
    afterwards: ['Answered', '\u0003'],
  })
  expect(world.runtime.questions.get(id)).toMatchObject({
    answer: 'b\u0007',
    answeredBy: expect.stringMatching(/@cli$/) as string,
  })
  const shown = out.slice(0, out.indexOf('Your answer'))
  expect(shown.replaceAll('\u0007', '')).not.toMatch(/[\u001b\u202e\u2066\r]/)
  // The bell is ours alone; every row of theirs stands behind the bar.
  expect(shown.split('\u0007')).toHaveLength(2)
  const rows = shown.split('\n').filter((row) => /long|title|Approved|txt\.exe|no:/.test(row))
  expect(rows.length).toBeGreaterThan(30)
  expect(rows.filter((row) => !row.startsWith('| '))).toEqual([])
  expect(rows.filter((row) => row.length > 60)).toEqual([])
  // Ctrl-C where nothing is asked is the way out.
  expect(code).toBe(0)
})

test('a demo that is ended from outside leaves no folder behind', async () => {
  await using world = await openWorld()
  const temp = join(world.project, '..', 'demo-temp')
  mkdirSync(temp)
  const child = spawn(process.execPath, [program, 'demo'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...cleanEnv(join(world.project, '..')), TMPDIR: temp },
  })
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let out = ''
  await new Promise<void>((asked) => {
    child.once('exit', () => asked())
    child.stdout.on('data', (text: Buffer) => void ((out += text.toString()).includes('approvals approve') && asked()))
  })
  expect(out).toContain('approvals approve')
  expect(readdirSync(temp).filter((name) => name.startsWith('handrail-demo-'))).toHaveLength(1)
  child.kill('SIGTERM')
  expect(await gone).toBe(130)
  expect(readdirSync(temp).filter((name) => name.startsWith('handrail-demo-'))).toEqual([])
})

test('the demo asks, takes a no with words, changes nothing and shows the log', async () => {
  await using world = await openWorld()
  const { code, out } = await atTerminal(world.project, ['demo'], {
    columns: 80,
    until: 'to the agent:',
    answer: 'n keep the sounds',
  })
  expect({ code, out: code === 0 ? '' : out }).toEqual({ code: 0, out: '' })
  expect(out).toContain('Your files are')
  expect(out).toMatch(/^- Mara:The lamp went out an hour ago\.;$/m)
  expect(out).toContain('Denied. Nothing has changed')
  expect(out.replaceAll(/\s+/g, ' ')).toMatch(/approval\.decided denied .* keep the sounds/)
})

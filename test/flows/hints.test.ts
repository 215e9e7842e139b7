import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

// The faults a newcomer meets at the command line: each says what was wrong with what they typed, and what to type instead.

let world: World
beforeAll(async () => {
  world = await openWorld({ files: { 'notes/a.txt': 'a\n', '.git/config': '', '.env': 'X=1\n' } })
  await world.put('notes/b.txt', 'b\n')
})
afterAll(() => world[Symbol.asyncDispose]())

const read = (path: string): string[] => ['call', 'read_file', JSON.stringify({ path })]

/** What is typed, what must be said of it, and what must not: a hint for somebody else's mistake. */
const faults: [what: string, typed: string[], says: RegExp, not?: RegExp][] = [
  [
    'a file that is not there',
    read('notes/missing.txt'),
    /not found: notes\/missing\.txt[^]*list_files shows what is in notes\./,
  ],
  ['the same at the top', read('missing.txt'), /shows what is in the project\./, /\.\.$/m],
  ['a path that leads out', read('../x'), /climbs out[^]*relative to the project root/, /game\//],
  ['a folder that is out of reach', read('.git/config'), /out of reach[^]*do without it, or ask the person/i, /forward slashes/],
  ['a secret', read('.env'), /handrail grants allow secret \.env/, /forward slashes/],
  ['a tool that is switched off', ['call', 'shell', '{"command":"ls"}'], /shell is switched off[^]*--enable-shell/],
  ['the same, asked about', ['tools', 'shell'], /shell is switched off[^]*--enable-shell/],
  ['a tool by a wrong name', ['call', 'read_fil', '{}'], /No such tool: read_fil[^]*Did you mean read_file\?/],
  ['the same, asked about', ['tools', 'read_fil'], /Did you mean `.*handrail.* tools read_file.*`\?/, /list_task_runs/],
  ['no JSON', ['call', 'read_file', 'a.txt'], /not valid JSON[^]*Quote it for the shell/],
  ['a field left out', ['call', 'read_file'], /path is required[^]*path \(required\)/],
  ['a wrong id of an approval', ['approvals', 'show', 'appr_1'], /No such approval: appr_1[^]*approvals list --all/],
  ['no id of an approval', ['approvals', 'approve'], /Which approval\?[^]*--last/],
  ['a wrong id of a question', ['questions', 'answer', 'ask_1', 'x'], /No such question: ask_1/],
  ['a call nobody made', ['undo', 'call_12', '--yes'], /no change of call_12 is kept[^]*snapshots/],
  ['a snapshot that is not kept', ['undo', 'snap_12', '--yes'], /no change of snap_12 is kept/],
  ['a run that is not there', ['runs', 'show', 'run_1'], /no such run[^]*runs list/],
  ['a provider there is not', ['keys', 'set', 'nope'], /No such provider: nope[^]*anthropic/, /which provider/],
  ['no provider', ['keys', 'set'], /which provider\?[^]*keys set anthropic/],
  ['a login there is not', ['logins', 'remove', 'x'], /No such login[^]*`.*logins list.*` shows them/],
  ['a wrong option', ['audit', 'show', '--pth', 'x'], /Unknown option '--pth'[^]*--path/],
  ['an option without its value', ['serve', '--port'], /'--port' argument/],
  ['an option with a wrong value', ['serve', '--port', 'abc'], /Not a port: abc[^]*0 to 65535/],
  ['half a command', ['webgal'], /There are: validate, .*play/],
  ['a wrong command', ['serv'], /Did you mean `handrail serve`\?/],
  ['nobody at the terminal', ['undo', '--last'], /Nobody is at this terminal[^]*--yes/],
]

test.for(faults)('%s', async ([, typed, says, not]) => {
  const { code, out, err } = await runInside(world.project, typed)
  expect(code).not.toBe(0)
  expect(err).toMatch(says)
  if (not) expect(err).not.toMatch(not)
  expect(out).not.toMatch(/^E_/m)
})

test('a project that is not there, or is a file, also where the command takes it as a word', async () => {
  for (const [typed, says] of [
    [['tools', '--project', join(world.base, 'nowhere')], /No such folder: .*nowhere[^]*a folder that is there/],
    [['webgal', 'report', join(world.base, 'nowhere')], /No such folder: .*nowhere[^]*a folder that is there/],
    [['tools', '--project', world.path('notes/a.txt')], /Not a folder: .*a\.txt[^]*the one that this lies in/],
  ] as [string[], RegExp][]) {
    const { code, err } = await runInside(world.project, typed, { asIs: true })
    expect([code === 0, err]).toEqual([false, expect.stringMatching(says)])
  }
})

test('nothing of one path is not nothing at all', async () => {
  mkdirSync(world.path('empty'))
  expect((await runInside(world.project, ['snapshots', 'empty'])).out).toBe(
    'Nothing is kept of empty, or of anything below it.\n',
  )
})

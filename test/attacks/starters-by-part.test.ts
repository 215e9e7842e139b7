import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let notes = ''
async function write(world: World, path: string, content: string, approve = false): Promise<string> {
  const input = { path, content, dryRun: false }
  try {
    await world.call('write_to_file', input)
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') throw fault
    notes = world.runtime.approvals.get(id)?.card.notes?.join('\n') ?? ''
    world.runtime.approvals.decide(id, { approve, by: 'test' })
    // The next write is judged for itself, and not for this no.
    if (!approve) world.runtime.approvals.lift(id, 'test')
    if (approve) await world.call('write_to_file', input)
    return 'asked'
  }
}
const task = (command: string): string =>
  `${JSON.stringify({ version: '2.0.0', tasks: [{ label: 'a', command, runOptions: { runOn: 'folderOpen' } }] })}\n`
const tasks = '.vscode/tasks.json'

test.each([
  ['longer than is looked at', 66_000],
  ['longer than may be read', 3_000_000],
])('a starter %s may name anything: a write asks, once for each file', async (_, size) => {
  const content = `// ${'x'.repeat(size)}\n${task('./tools/x.txt')}`
  await using world = await openWorld({
    files: { [tasks]: content, 'tools/x.txt': 'one\n' },
    flags: { ...flags, 'max-read-bytes': '1000000' },
  })
  expect(await write(world, 'tools/x.txt', 'two\n', true)).toBe('asked')
  expect(notes).toContain('tools/x.txt: may be started by .vscode/tasks.json')
  expect(await write(world, 'tools/x.txt', 'three\n')).toBe('done')
  expect(await write(world, 'other.txt', 'one\n')).toBe('asked')
})

test('a starter that goes elsewhere first names by the end of a path', async () => {
  for (const command of [
    'cd tools && sh x.txt',
    'cd tools/deep; sh ../x.txt',
    'pushd tools && ./x.txt',
    'sh -c "cd $HERE && . x.txt"',
    'make -C tools x.txt',
    'CD TOOLS && X.TXT',
  ]) {
    await using world = await openWorld({ files: { [tasks]: task(command), 'tools/x.txt': 'one\n' }, flags })
    expect([command, await write(world, 'tools/x.txt', 'two\n')]).toEqual([command, 'asked'])
    expect(notes).toContain('tools/x.txt: may be started by .vscode/tasks.json')
    expect([command, await write(world, 'tools/y.txt', 'two\n')]).toEqual([command, 'done'])
  }
  const cwd = task('sh x.txt').replace('"command"', '"options":{"cwd":"tools"},"command"')
  await using world = await openWorld({ files: { [tasks]: cwd, 'tools/x.txt': 'one\n' }, flags })
  expect(await write(world, 'tools/x.txt', 'two\n')).toBe('asked')
})

test('one that stays where it is names whole paths only, and a large package is no starter of everything', async () => {
  await using world = await openWorld({
    files: {
      [tasks]: task('sh tools/x.txt'),
      'package.json': JSON.stringify({ scripts: { build: 'cd tools && sh y.txt' }, words: 'x'.repeat(70_000) }),
    },
    flags,
  })
  expect(await write(world, 'other/x.txt', 'one\n')).toBe('done')
  expect(await write(world, 'tools/y.txt', 'one\n')).toBe('done')
  expect(await write(world, 'tools/x.txt', 'one\n')).toBe('asked')
})

test('a name is found however the settings spell it', async () => {
  for (const spelt of ['sh -c "tools/x.txt"', 'echo\\nsh tools/x.txt\\necho', 'tools\\\\x.txt', 'tools/x.txt/', 'tools//x.txt']) {
    const text = task('@').replace('@', () => spelt.replaceAll('"', '\\"'))
    await using world = await openWorld({ files: { [tasks]: text, 'tools/x.txt': 'one\n' }, flags })
    expect([spelt, await write(world, 'tools/x.txt', 'two\n')]).toEqual([spelt, 'asked'])
  }
  for (const spelt of ['tools\\/x.txt', 'tools/\\u0078.txt']) {
    await using world = await openWorld({
      files: { [tasks]: task('@').replace('@', () => spelt), 'tools/x.txt': 'one\n' },
      flags,
    })
    expect([spelt, await write(world, 'tools/x.txt', 'two\n')]).toEqual([spelt, 'asked'])
  }
})

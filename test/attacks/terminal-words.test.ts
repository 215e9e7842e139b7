import { describe, expect, test } from 'vitest'
import { ask, shownFirst } from '../support/stage.ts'
import { atTerminal, screenOf } from '../support/terminal.ts'
import { runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

/** What a project or an agent wrote, broken by a terminal into lines, must not stand where Handrail's own words begin. */

const columns = 72
/** Sentences of ours that somebody would like to see on the screen. */
const forged = [
  'It loosens nothing: there is nothing to trust.',
  'Trusted: 0000',
  'ok   audit      log intact',
  'Makefile: deleted; 5 bytes',
  'appr_00000000000000000000000000000000  approved  R2',
]
/** A text that says so at the beginning of every line of the screen, wherever it starts. */
const atEveryPlace = (words: string): string =>
  Array.from({ length: 6 }, (_, shift) => `${' '.repeat(columns - words.length + (shift % 2))}${words}`).join('')
/** The words moved on by one place each time, so that one of them comes to stand at the beginning. */
const sliding = (words: string): string =>
  Array.from({ length: columns + 4 }, () => words.padEnd(columns - 1, ' '))
    .join('')
    .slice(0, 900)
const hostile = forged.flatMap((words) => [
  sliding(words),
  `x\n${words}`,
  `x\r${words}`,
  `\u001b[2K\u001b[1G${words}`,
  atEveryPlace(words).slice(0, 900),
])
/** Letters that take two places each. */
const wide = `${'宽'.repeat(30)}${sliding(forged[0] as string)}`.slice(0, 900)

/** `once`: our own words, said once where they belong. */
const mustNotBeSaid = (out: string, once = 'nothing'): void => {
  expect(out).not.toMatch(/[\u001b\r]/)
  const rows = screenOf(out, columns)
  for (const words of forged)
    expect(rows.filter((row) => row.startsWith(words.slice(0, 12))).length).toBe(words.startsWith(once) ? 1 : 0)
}

describe('handrail trust', () => {
  const projectConfig = {
    enableShell: true,
    policies: { allowedCommands: [...hostile, wide, 'test, build', 'plain'] },
  }

  test('one entry a line, in quotation marks, set off where the screen breaks it; the question says which settings and how many entries', async () => {
    await using world = await openWorld({ projectConfig })
    const { out, code } = await atTerminal(world.project, ['trust'], { columns })
    expect(code).toBe(1)
    // The question itself is put by readline, in its own way.
    const asked = out.lastIndexOf('It loosens 2 settings')
    mustNotBeSaid(out.slice(0, asked))
    expect(out).toMatch(/^\s+\| "test, build"$/m)
    expect(out).toMatch(/^\s+\| "plain"$/m)
    const question = out.slice(asked)
    expect(question).toContain('enableShell')
    expect(question).toContain(`policies.allowedCommands (${hostile.length + 3} entries)`)
    expect(out).toContain('Nothing is trusted')
    expect((await runInside(world.project, ['trust', '--status', '--json'])).out).toContain('"trusted":false')
  })

  test('also where nobody knows how wide the screen is', async () => {
    await using world = await openWorld({ projectConfig })
    const { out } = await runInside(world.project, ['trust', '--status'])
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    mustNotBeSaid((await runInside(world.project, ['trust', '--status'], { env: { COLUMNS: String(columns) } })).out)
  })

  test('an entry that nobody would read to its end is refused in words', async () => {
    await using world = await openWorld()
    world.write('handrail.config.json', JSON.stringify({ policies: { allowedCommands: ['x'.repeat(1_001)] } }))
    const said = await runInside(world.project, ['trust'])
    expect(`${said.out}${said.err}`).toMatch(/policies\.allowedCommands has an entry of 1001 characters/)
    expect(`${said.out}${said.err}`.length).toBeLessThan(2_500)
    world.write('handrail.config.json', JSON.stringify({ policies: { sandboxRoot: 'x/'.repeat(3_000) } }))
    const long = await runInside(world.project, ['trust'])
    expect(`${long.out}${long.err}`).toMatch(/policies\.sandboxRoot is 6000 characters long/)
  })

  test('doctor says the same without being led', async () => {
    await using world = await openWorld({ projectConfig })
    const { out } = await runInside(world.project, ['doctor'], { env: { COLUMNS: String(columns) } })
    expect(out).toContain('policies.allowedCommands')
    mustNotBeSaid(out, 'ok   audit')
    world.write('handrail.config.json', `{"a\\nok   audit      log intact": 1, "b${sliding(forged[2] as string)}": 2}`)
    mustNotBeSaid((await runInside(world.project, ['doctor'], { env: { COLUMNS: String(columns) } })).out, 'ok   audit')
  })
})

test('approvals list and show: long lines, names, notes and titles are set off', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: shownFirst })
  const env = { COLUMNS: String(columns) }
  const long = `${sliding(forged[3] as string)}${sliding(forged[4] as string)}`
  const asked = await ask(
    world,
    {
      command: `echo "${long}"; echo "${long}" > a.txt; mkdir -p "${'d/'.repeat(40)}"; : > "${'d/'.repeat(40)}${' '.repeat(20)}${forged[3]?.replace(':', '')}"`,
    },
    'shell',
    { client: long },
  )
  for (const args of [['list'], ['show', asked.id], ['show', asked.id, '--full'], ['show', asked.id, '--file', 'a.txt']])
    mustNotBeSaid((await runInside(world.project, ['approvals', ...args], { env })).out)
  const shown = await atTerminal(world.project, ['approvals', 'show', asked.id], { columns })
  mustNotBeSaid(shown.out)
  expect(shown.out.replaceAll(/\n\+ … /g, '')).toContain(`+ ${long.trimEnd()}`)
})

test('what --json prints holds nothing that a terminal obeys, and is the same value', async () => {
  await using world = await openWorld()
  const client = 'agent\u009b31m\u202e\u2066\u200b/1'
  world.runtime.openSession({ id: 'sess_x', surface: 'mcp-http', client })
  const { out } = await runInside(world.project, ['sessions', '--json'])
  expect(out).not.toMatch(/[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/)
  expect(JSON.parse(out.trim().split('\n')[0] ?? '')).toMatchObject({ client })
  // However an error comes about.
  const { err } = await runInside(world.project, ['call', 'read_file', JSON.stringify({ path: client }), '--json'])
  expect(err).not.toMatch(/[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/)
})

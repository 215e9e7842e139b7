import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openNotify } from '../../src/host/notify.ts'
import { callPersonAlways } from '../../src/surfaces/cli/call-person.ts'
import { lastLine } from '../../src/surfaces/cli/print.ts'
import { until } from '../support/everywhere.ts'
import { runInside } from '../support/inside.ts'
import { withShell } from '../support/stage.ts'
import { openWorld } from '../support/world.ts'

const question = { question: 'Which ending?\nThe sad one needs a new scene.', options: ['happy', 'sad'] }

test('a question in words waits for the person, who answers by its number; the agent gets it when it asks again', async () => {
  await using world = await openWorld()
  for (const _ of ['once', 'twice']) expect(await world.call('ask_followup_question', question)).toEqual({ ack: true })
  const [asked, ...others] = world.runtime.questions.list()
  expect(others).toEqual([])
  const id = asked?.id ?? ''
  const listed = await runInside(world.project, ['questions'])
  expect(listed.out).toContain('| Which ending?\n| The sad one needs a new scene.\n| 1. happy\n| 2. sad')
  const answered = await runInside(world.project, ['questions', 'answer', '--last', '2'])
  expect(answered).toMatchObject({ code: 0, out: 'Answered: sad\n' })
  expect(await world.call('ask_followup_question', question)).toEqual({ ack: true, answer: 'sad' })
  expect((await runInside(world.project, ['questions'])).out).toBe('Nobody asks you anything.\n')
  expect((await runInside(world.project, ['questions', 'list', '--all'])).out).toContain('→ sad')
  const twice = await runInside(world.project, ['questions', 'answer', id.slice(0, 10), 'happy'])
  expect(twice).toMatchObject({ code: 1, err: expect.stringContaining('answered already: sad') as string })
  expect((await runInside(world.project, ['audit', 'show'])).out).toMatch(/question\.answered .*sad/)
})

test('whoever serves calls the person to it, once', async () => {
  await using world = await openWorld()
  const told: string[] = []
  const notify = (title: string, body: string): void => void told.push(title, body)
  const stop = callPersonAlways(world.runtime, notify, {
    approval: () => undefined,
    question: ({ text }) => void told.push(text),
  })
  for (const _ of ['once', 'twice']) await world.call('ask_followup_question', question)
  await world.call('ask_followup_question', { question: 'Another?' })
  await until(() => told.includes('Another?'), 'the second question')
  stop()
  expect(told).toEqual([
    'Handrail: project asks',
    'test/1: Which ending? The sad one needs a new scene.',
    question.question,
    'Handrail: project asks',
    'test/1: Another?',
    'Another?',
  ])
  // The log says that something was asked, and not what.
  expect((await runInside(world.project, ['audit', 'show', '--json'])).out).not.toContain('Which ending')
})

test('an answer is any words; a secret in them does not reach the log, and nobody at the terminal is said', async () => {
  await using world = await openWorld()
  await world.call('ask_followup_question', { question: 'Which key?' })
  const nobody = await runInside(world.project, ['questions', 'answer', '--last'])
  expect(nobody).toMatchObject({ code: 2, err: expect.stringContaining('Nobody is at this terminal') as string })
  const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  await runInside(world.project, ['questions', 'answer', '--last', 'use', key, 'please'])
  expect(await world.call('ask_followup_question', { question: 'Which key?' })).toMatchObject({ answer: `use ${key} please` })
  expect((await runInside(world.project, ['audit', 'show', '--json'])).out).not.toContain(key)
})

test('another session is not told the answer to its own question by one that was asked before', async () => {
  await using world = await openWorld()
  await world.call('ask_followup_question', question)
  await runInside(world.project, ['questions', 'answer', '--last', '1'])
  expect(await world.call('ask_followup_question', question, { session: 'another' })).not.toHaveProperty('answer')
})

test('a desktop is told where there is one, by arguments that no markup gets through', async () => {
  await using world = await openWorld()
  const [folder, told] = [join(world.base, 'bin'), join(world.base, 'told')]
  mkdirSync(folder)
  writeFileSync(join(folder, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${told}.tmp\nmv ${told}.tmp ${told}\n`)
  chmodSync(join(folder, 'notify-send'), 0o755)
  const PATH = `${folder}:/usr/bin:/bin`
  expect(openNotify({ PATH }, 'linux')).toBeUndefined()
  expect(openNotify({ PATH: '/nowhere', DISPLAY: ':0' }, 'linux')).toBeUndefined()
  openNotify({ PATH, DISPLAY: ':0' }, 'linux')?.('-title', 'run <b>rm</b> && "x"')
  await until(() => existsSync(told), 'the desktop is told')
  expect(readFileSync(told, 'utf8')).toBe('--app-name=Handrail\n--\n-title\nrun &lt;b&gt;rm&lt;/b&gt; &amp;&amp; "x"\n')
})

test('whoever asks a hundred things fills no screen: the first is shown, and the last', async () => {
  await using world = await openWorld()
  const [folder, told] = [join(world.base, 'bin'), join(world.base, 'told')]
  mkdirSync(folder)
  writeFileSync(join(folder, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$4" >> ${told}\n`)
  chmodSync(join(folder, 'notify-send'), 0o755)
  const notify = openNotify({ DISPLAY: ':0', PATH: `${folder}:/usr/bin:/bin` }, 'linux')
  for (let n = 1; n <= 100; n++) notify?.('Handrail', `question ${n}`)
  await until(() => existsSync(told) && readFileSync(told, 'utf8').includes('question 100'), 'the last is shown')
  expect(readFileSync(told, 'utf8')).toBe('question 1\nquestion 100\n')
})

test('a program that runs is heard at the person’s terminal: its last line, and no more of it than that', async () => {
  await using world = await openWorld({ flags: withShell })
  const printed = lastLine()
  await world.call('shell', { command: 'echo one; seq 1 5000; echo 雪乃' }, { onPrinted: printed.add })
  expect(printed.text()).toBe('雪乃')
})

test('bash completes commands, acts and options from what it is told; the other shells get theirs', async () => {
  await using world = await openWorld()
  const scripts = await Promise.all(['bash', 'zsh', 'fish'].map((shell) => runInside(world.project, ['completion', shell])))
  const [bash] = scripts.map(({ out }) => out) as [string, string, string]
  const completed = (...words: string[]): string =>
    execFileSync('bash', [
      '--norc',
      '-c',
      `${bash}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _handrail; echo "\${COMPREPLY[*]}"`,
      'x',
      ...words,
    ])
      .toString()
      .trim()
  expect(completed('handrail', 'appr')).toBe('approvals')
  expect(completed('handrail', 'approvals', 'wa')).toBe('watch')
  expect(completed('handrail', 'undo', '--ke')).toBe('--keep-mine')
  expect(scripts[1]?.out).toContain("'undo:Take back")
  expect(scripts[2]?.out).toContain("complete -c handrail -n '__fish_seen_subcommand_from undo' -l keep-mine")
})

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { commands, settings } from '../../src/bin.ts'
import { parse } from '../../src/surfaces/cli/parse.ts'
import { runInside } from '../support/inside.ts'
import { printedCommands, shellWords, type Printed } from '../support/printed-commands.ts'
import { openWorld, repository, type World } from '../support/world.ts'

/** What is not run here, and why; it is held to the words and options there are all the same. */
const notRun: readonly (readonly [RegExp, string])[] = [
  [/…|\$\{|--days N\b|\b(?!EN\b)[A-Z]{2,}[A-Z0-9]*\b(?!")/, 'a place in it is for the reader to fill in'],
  [/_[\da-f]{8,}|_0123/, 'an id in it is an example'],
  [/^handrail (serve|desk|mcp|acp|worker|demo|devserver|chat)\b/, 'stays, or talks: tests of its own start it'],
  [/^handrail (approvals watch|webgal lsp|webgal play|audit tail)\b/, 'stays: tests of its own start it'],
  [/^handrail approvals (page|key)\b/, 'finds a server that runs: page tests start one'],
  [
    /^handrail (init|keys (set|clear))\b/,
    'changes settings of other programs or asks for a key: test/flows/init.test.ts, chat.test.ts',
  ],
  [
    /^handrail (browse|run batch_extract_pages|run agent_goal|plans new --task)\b/,
    'needs pages, or a model: browser tests, agent tests',
  ],
  [
    /^handrail (check|anchor|transform|artifact|trial|describe)\b/,
    'the one-shot commands read their words themselves: test/flows/cli-plane.test.ts',
  ],
  [/^handrail runs (move|workers)\b/, 'needs a database: test/cluster'],
  [/^handrail runs retry --last --failed\b/, 'needs a run in which something failed: test/flows/runs-cli.test.ts'],
  [
    /^handrail (state (adopt|reset|import)|audit renew)\b/,
    'is for a project that moved, or a log that broke: test/attacks/state.test.ts, records.test.ts',
  ],
  [/^handrail mounts (show|accept|forget)\b/, 'needs a mounted server: test/flows/mounts.test.ts'],
  [/^handrail grants allow\b/, 'needs a session that is at work: test/attacks/grant-whose.test.ts'],
  [
    /^handrail run (rename_character|check_chapters)\b|my-template\.json|\.agents\/skills/,
    'is about files that the guide shows: test/flows/runs-guide.test.ts',
  ],
  [
    /^handrail (runs retry|runs cancel|run|logins remove|mounts forget|grants|keys|plans edit|trust --skills|undo)$/,
    'names the command in a sentence',
  ],
  [/^handrail (webgal (convert|rename)|skills new)\b/, 'changes files: tests of their own do it'],
]

/** Who sits at no terminal is told what to add, which is no wrong usage. */
const asks = /^handrail (undo|trust|prune|runs retry)\b/

const folders = ['.', './my-game', './my-project', './my-app', './app', '/path/to/project', '~/my-game', '~/notes', '/srv/site']
const flags = settings.map(({ flag, key, schema }) => ({
  flag,
  key,
  group: '',
  boolean: schema.type === 'boolean',
  type: String(schema.type),
  default: schema.default,
  says: '',
}))
const found = printedCommands().filter(({ text }) => /^handrail [a-z]/.test(text) && !text.includes('${how}'))
const why = ({ text }: Printed): string | undefined => notRun.find(([form]) => form.test(text))?.[1]

test('there are many, from every place', () => {
  expect(found.length).toBeGreaterThan(150)
  for (const place of ['README.md', 'docs/guide/runs.md', 'help of undo', 'src/surfaces/cli/commands/serve.ts'])
    expect(
      found.some(({ where }) => where === place),
      place,
    ).toBe(true)
})

test('of every guide, also of one in a folder of its own', () => {
  const folder = join(repository, 'docs/guide')
  const guides = readdirSync(folder, { recursive: true }).map(String)
  const missed = guides
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => /^ *(?:\$ )?handrail [a-z]/.test(line))
    .filter((line) => !found.some(({ text }) => line.replaceAll(/\s+/g, ' ').includes(text)))
  expect(missed).toEqual([])
})

test('each is of a command there is, with words and options that it takes', () => {
  const wrong = found.flatMap((printed) => {
    const [, name = '', ...words] = shellWords(printed.text)
    const command = commands.find((one) => one.name === name)
    if (command?.plane) return []
    try {
      if (!command) throw new Error(`no command ${name}`)
      parse(command, words, flags)
      return []
    } catch (fault) {
      return [`${printed.where}: ${printed.text}: ${(fault as Error).message}`]
    }
  })
  expect(wrong).toEqual([])
})

/** A game with something written, something asked and something said. */
async function openGame(): Promise<World> {
  const world = await openWorld({
    files: {
      'game/scene/start.txt': 'Mara:Hello.;\n',
      'game/scene/part-two/a.txt': 'Mara:Bye.;\n',
      'game/config.txt': 'Game_name:x;\n',
    },
  })
  await world.put('game/scene/start.txt', 'Mara:Hello!;\n')
  await world.put('game/scene/more.txt', 'Mara:More.;\n')
  for (const name of ['one', 'two', 'three']) {
    const input = { path: `${name}/package.json`, content: '{"scripts":{"postinstall":"x"}}' }
    await world.call('write_to_file', { ...input, dryRun: true })
    await world.fault('write_to_file', { ...input, dryRun: false }, { approvalWaitMs: 0 })
  }
  await world.call('ask_followup_question', { question: 'Which?', options: ['a', 'b'] })
  mkdirSync(join(world.base, 'media'))
  writeFileSync(join(world.base, 'media/.keep'), '')
  return world
}

/** The folder that is meant stands for the one that is named. */
function here(world: World, words: readonly string[]): string[] {
  const placed = words.map((word) =>
    folders.includes(word)
      ? world.project
      : word.startsWith('/media/stick/')
        ? join(world.base, 'media', word.slice('/media/stick/'.length))
        : word.startsWith('game/') && words[0] === 'webgal'
          ? world.path(word)
          : word,
  )
  return placed.includes(world.project) || words[0] === 'completion' ? placed : [...placed, '--project', world.project]
}

let game: World
beforeAll(async () => {
  game = await openGame()
  return () => game[Symbol.asyncDispose]()
})

// Those that answer or take back come last, so that the others find something.
const runnable = found
  .filter((printed) => why(printed) === undefined)
  .toSorted((a, b) => Number(/deny|answer|undo/.test(a.text)) - Number(/deny|answer|undo/.test(b.text)))

test.each(runnable.map(({ text, where }) => [text, where]))('%s (%s)', async (text) => {
  const [, ...words] = shellWords(text)
  const { code, out, err } = await runInside(game.project, here(game, words), { asIs: true })
  if (asks.test(text) && /Nobody is at this terminal/.test(err)) return
  expect({ code, said: code === 0 ? '' : out + err }).toEqual({ code: 0, said: '' })
})

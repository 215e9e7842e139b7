// @stage
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deniedSecrets, filesThatRun, markedSecrets } from '../../src/bin.ts'
import { chinese } from '../../src/surfaces/page/words-zh.ts'
import { inWords } from '../../src/surfaces/page/words.ts'
import { serveInside } from '../support/inside.ts'
import { signInByLink, visitAt, type Person } from '../support/person.ts'
import { picture } from '../support/picture.ts'
import type { Served } from '../support/serve.ts'
import { ask, shownFirst } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

// The page in Chinese, card by card: no English sentence stands on it but what agents wrote, and names.

let world: World
let served: Served
let person: Person
const cards: string[] = []

const commands = [
  'rm -r docs; mv a.txt b.txt; chmod 600 c.txt; ln -s ../out link; ln -s c.txt near',
  'printf x > .envrc; mkdir -p made/deep; printf "#!/bin/sh" > run.sh; chmod 777 run.sh; mkfifo pipe',
  'cp next.png logo.png; printf "\\000\\001" > bytes.bin; printf "b\\377" > odd.txt; rm c.txt; mkdir c.txt',
  'echo one; echo two >&2; printf "" > a.txt; seq 1 3000 > long.txt; exit 3',
]

beforeAll(async () => {
  world = await openWorld({
    files: {
      'a.txt': 'a\n'.repeat(50),
      'c.txt': 'c\n',
      'docs/x.md': '# x\n',
      'logo.png': picture(6, 4, [200, 30, 30]),
      'next.png': picture(8, 4, [30, 30, 200]),
      'package.json': '{ "dependencies": { "react": "18" } }\n',
      'handrail.config.json': '{ "enableShell": true, "policies": { "askInEditor": true, "unaskedRemovals": 500 } }',
    },
    flags: { ...shownFirst, 'write-requires-diff': 'false' },
  })
  served = await serveInside(world.project)
  person = await signInByLink(served, world.project)
  for (const command of commands) cards.push((await ask(world, { command })).id)
  cards.push((await ask(world, { command: 'curl -s x.example', network: true })).id)
  const written = { path: 'package.json', content: '{ "scripts": { "postinstall": "node x.js" } }\n', dryRun: false }
  cards.push((await ask(world, written, 'write_to_file')).id)
  await world.call('ask_followup_question', { question: '选哪个？', options: ['甲', '乙'] })
})

afterAll(async () => {
  await served?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

const see = (path: string): Promise<{ text: string }> =>
  visitAt(served.port, path, { headers: { Cookie: person.cookie, 'Accept-Language': 'zh-CN' } })

/** Three words in a row that stand neither in code nor among what a program or an agent wrote. */
function english(page: string): string[] {
  const own = page
    .replaceAll(/<style>.*?<\/style>|<title>.*?<\/title>|<code[^>]*>.*?<\/code>|<pre class="diff printed">.*?<\/pre>/gs, ' ')
    .replaceAll(/<b class="(?:in|out)">.*?<\/b>|<q>.*?<\/q>/gs, ' ')
    .replaceAll(/<pre>handrail[^<]*<\/pre>/g, ' ')
    // Commands: what an agent runs, and what we tell people to type.
    .replaceAll(/(?:运行|命令：|实际运行：)[^<]*|handrail [a-z]+(?: [a-z]+)?(?: appr_\w+)?/g, ' ')
    .replaceAll(/<[^>]*>/g, ' | ')
  return own.match(/[A-Za-z’']{2,}(?:[ ,;:]+[A-Za-z’']{2,}){2,}/g) ?? []
}

test('every card, the list, the question, the number to type, the whole text', async () => {
  const { basePath } = person
  const question = world.runtime.questions.list()[0]?.id
  const pages = [
    `/approvals`,
    ...cards.map((id) => `/approvals/${id}`),
    `/approvals/${cards[2]}/text?path=`,
    `/questions/${question}`,
  ]
  for (const path of [...pages, '/sign-out', '/approvals/none', '/questions/none']) {
    const { text } = await see(basePath + path)
    expect([path, text.includes('lang="zh-CN"'), english(text)]).toEqual([path, true, []])
  }
  const shown = (await see(`${basePath}/approvals/${cards[0]}`)).text
  const confirm = await visitAt(served.port, `${basePath}/approvals/${cards[0]}`, {
    method: 'POST',
    headers: {
      Cookie: person.cookie,
      'Accept-Language': 'zh-CN',
      Origin: served.url,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ form: /name="form" value="([^"]+)"/.exec(shown)?.[1] ?? '', decision: 'approve' }).toString(),
  })
  expect(confirm.text).toMatch(new RegExp(`class="number">\\d+.*`, 's'))
  expect(confirm.text).toContain(`<code>${world.project}</code>`)
  expect(english(confirm.text)).toEqual([])
  for (const path of ['/', '/sign-in', '/sign-in?key=x']) expect([path, english((await see(path)).text)]).toEqual([path, []])
})

test('what it looks for is found where it stands', () => {
  expect(english('<p>You are asked because it <b>removes</b> files.</p>')).toHaveLength(1)
})

describe('sentences that name a file', () => {
  const left = (says: string): string[] => english(inWords(chinese, 'note', `a.txt: ${says}.`).replaceAll(/[A-Z]\w*/g, 'X'))

  test('why a file is asked about, for every kind there is', () => {
    for (const says of [...filesThatRun.map(({ when }) => when), ...markedSecrets.map((one) => one.says)]) {
      expect([says, inWords(chinese, 'note', `a.txt: ${says}.`).startsWith('a.txt：')]).toEqual([says, true])
      expect([says, left(says)]).toEqual([says, []])
    }
  })

  test('by another name, by what starts it, by a no that came before', () => {
    for (const says of [
      'is also “b, c”, which runs when you debug',
      'may be started by b.sh, which is too large to be looked at whole and runs by itself',
      'leads to .git, which holds what runs with every call of git, also by editors and shell prompts',
      'tells agents what to do, and is removed or emptied',
      'you declined a change of it on 2026-11-18 at 05:00 UTC (handrail approvals lift appr_1 takes that back)',
    ])
      expect([says, left(says)]).toEqual([says, []])
  })

  test('why something is not applied: secrets', () => {
    for (const { says } of deniedSecrets)
      expect([says, english(inWords(chinese, 'note', `Not applied: x (it holds ${says}).`))]).toEqual([says, []])
  })

  test('nothing that an agent wrote is changed', () => {
    const note = 'Command: echo "It had the network."; Exited 0 in 5 ms.'
    expect(inWords(chinese, 'note', note)).toBe(note.replace('Command: ', '命令：'))
    expect(inWords(chinese, 'note', '> It had the network.')).toBe('> It had the network.')
  })
})

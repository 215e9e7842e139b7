import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { openWorld, repository } from '../support/world.ts'

/** The worked examples of the guide, done as they stand there. */
const guide = readFileSync(join(repository, 'docs/guide/runs.md'), 'utf8')
const blocks = (kind: string): string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${kind}\\n([^]*?)\`\`\``, 'g'))].map(([, text = '']) => text)
const [ofPerson = '', ofProject = ''] = blocks('json')
const consoleOf = (holding: string): string[] =>
  (blocks('console').find((text) => text.includes(holding)) ?? '').trim().split('\n')
/** The words of `$ handrail a b --project ./my-game`. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/^\$ handrail /, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '').slice(0, -2)

test('a template of the person, and one that a project brings', async () => {
  await using world = await openWorld({
    files: { 'game/scene/start.txt': 'Mara:The lamp is out.;\nend;\n', 'game/scene/night.txt': 'Mara:It is dark.;\nend;\n' },
  })
  const put = (file: string, text: string): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const [check = '', ok = '', run = ''] = consoleOf('run rename_character')
  put(join(world.base, 'config/handrail/templates', ok.split(' ')[1] as string), ofPerson)
  expect(await runInside(world.project, wordsOf(check))).toMatchObject({ code: 0, out: `${ok}\n` })
  const renamed = await runInside(world.project, wordsOf(run))
  expect(renamed).toMatchObject({ code: 0 })
  expect(JSON.parse(renamed.out)).toMatchObject({ changed: 1, checked: { total: 1, succeeded: 1 } })
  expect(world.read('game/scene/start.txt')).toContain('Mira:')

  const [recheck = '', ignored = '', trust = '', check2 = ''] = consoleOf('run check_chapters')
  put(world.path(ignored.split(' ')[1] as string), ofProject)
  expect((await runInside(world.project, wordsOf(recheck))).out).toContain(ignored)
  expect(await runInside(world.project, wordsOf(check2)), 'not yet').toMatchObject({ code: 1 })
  const digest = createHash('sha256').update(ofProject).digest('hex')
  expect(await runInside(world.project, [...wordsOf(trust), '--digest', digest])).toMatchObject({ code: 0 })
  const checked = await runInside(world.project, wordsOf(check2))
  expect(checked).toMatchObject({ code: 0 })
  expect(JSON.parse(checked.out)).toEqual({ checked: { total: 2, succeeded: 2, failed: 0 } })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clients } from '../../src/contracts/clients.ts'
import { runInside } from '../support/inside.ts'
import { repository } from '../support/world.ts'

const guide = join(repository, 'docs/guide/clients.md')
const url = 'http://127.0.0.1:4777/mcp'

/** A block of settings in the guide, below a comment that says what prints it. */
const block = /<!-- (init [^>]+) -->\n```(json|toml)\n([^]*?)```\n/g

test('every snippet of the guide is what `handrail init` prints, and no client is missing', async () => {
  const page = readFileSync(guide, 'utf8')
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  const found = [...page.matchAll(block)]
  const printed = await Promise.all(
    found.map(async ([, command = '']) =>
      (await runInside('/path/to/project', [...command.split(' '), '--print'])).out.replaceAll(
        `handrail@${version}`,
        'handrail@VERSION',
      ),
    ),
  )
  expect(found.map(([, , , shown]) => shown)).toEqual(printed)
  const wanted = clients.flatMap(({ name, http }) => [
    `init ${name} --published`,
    ...(http ? [`init ${name} --http ${url}`] : []),
  ])
  expect(found.map(([, command]) => command)).toEqual(wanted)
  expect(page.match(/```(json|toml)/g)).toHaveLength(found.length)
})

test('the guide names every client and every place of its settings', () => {
  const page = readFileSync(guide, 'utf8').replaceAll('\\', '/').replaceAll('%APPDATA%', '$APPDATA')
  for (const { title, files } of clients) {
    expect(page).toContain(`## ${title}\n`)
    const usual = [files.darwin.at(-1), files.linux.at(-1), files.win32[0]?.startsWith('$APPDATA') ? files.win32[0] : undefined]
    for (const file of usual) if (file !== undefined) expect(page).toContain(`\`${file}\``)
  }
})

test('nowhere is anybody told to start a name without a version', () => {
  const page = readFileSync(guide, 'utf8')
  expect(page.match(/npx (-y )?handrail(?!@)/g)).toBeNull()
  expect(page.match(/"handrail", "mcp"/g)).toBeNull()
})

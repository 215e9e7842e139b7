import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readSkill } from '../../src/text/read-skill.ts'
import { stepsIn } from '../../src/text/skill-steps.ts'
import { openInside, runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { openWorld, type World } from '../support/world.ts'

const skill = (name: string, more = '', body = '## Steps\n1. Look\n2. Write\n'): string =>
  `---\nname: ${name}\ndescription: What ${name} is for.\n${more}---\n\n${body}`

async function trustAll(world: World): Promise<void> {
  const texts = await world.runtime.projectTexts()
  world.runtime.trust.grantTexts(
    texts.flatMap(({ digest }) => digest ?? []),
    'test',
  )
}
const idsOf = async (world: World): Promise<string[]> => (await world.runtime.skills.list()).skills.map(({ id }) => id)
const shipped = ['table-from-pages', 'triage-check', 'webgal-scene']

proves('skills.trust', 'what a project brings counts once its very bytes are trusted, all of its files', async () => {
  await using world = await openWorld({
    files: {
      '.agents/skills/one/SKILL.md': skill('one'),
      '.agents/skills/one/references/more.md': 'more',
      'skills_workspace/two/SKILL.md': skill('two'),
      '.claude/skills/deep/er/three/SKILL.md': skill('three'),
    },
  })
  expect(await idsOf(world)).toEqual(shipped)
  await expect(world.runtime.skills.load('one')).rejects.toMatchObject({ reason: 'not-found' })
  await trustAll(world)
  expect(await idsOf(world)).toEqual(['two', 'one', 'three', ...shipped])
  expect(await world.runtime.skills.file('one', 'references/more.md')).toBe('more')
  await expect(world.runtime.skills.file('one', '../two/SKILL.md')).rejects.toMatchObject({ reason: 'not-found' })
  world.write('.agents/skills/one/references/more.md', 'less')
  expect(await idsOf(world)).toEqual(['two', 'three', ...shipped])
  const { skipped } = await world.runtime.skills.list()
  expect(skipped).toEqual([
    expect.objectContaining({ id: 'one', why: 'untrusted', says: expect.stringContaining('changed') as string }),
  ])
  world.runtime.trust.revoke('test')
  expect(await idsOf(world)).toEqual(shipped)
})

proves('skills.load', 'the nearer skill takes the place of the farther one, and says so; nothing crashes', async () => {
  await using world = await openWorld({
    files: {
      'skills/same/SKILL.md': skill('same', 'tags: [first]\n'),
      '.claude/skills/same/SKILL.md': skill('same'),
      'skills/webgal-scene/SKILL.md': skill('webgal-scene'),
      'skills/colon/SKILL.md': '---\nname: colon\ndescription: Use when: asked\n---\nx',
      'skills/bare/SKILL.md': '# Bare\n\nWhat it does.\n',
      'skills/empty/SKILL.md': '',
      'skills/binary/SKILL.md': Buffer.from([0, 1, 2, 255]),
      'skills/lower/skill.md': skill('lower'),
      'skills/with/scripts/a.py': 'print(1)',
      'skills/with/scripts/sub/b.sh': 'echo',
      'skills/with/SKILL.md': skill('with'),
      'secret.txt': skill('leak'),
    },
  })
  mkdirSync(world.path('skills/linked'), { recursive: true })
  symlinkSync(world.path('secret.txt'), world.path('skills/linked/SKILL.md'))
  symlinkSync(world.path('skills/with'), world.path('skills/also'))
  await trustAll(world)
  const { skills, skipped, left } = await world.runtime.skills.list()
  expect(skills.map(({ id }) => id)).toEqual([
    'bare',
    'colon',
    'lower',
    'same',
    'webgal-scene',
    'with',
    'table-from-pages',
    'triage-check',
  ])
  expect(skipped.map(({ path, why }) => `${why} ${path}`)).toEqual([
    'unreadable skills/binary',
    'unreadable skills/empty',
    'shadowed .claude/skills/same',
    'shadowed handrail/webgal-scene',
  ])
  expect(left).toEqual(expect.arrayContaining([expect.stringContaining('skills/also is a link')]))
  const one = (id: string) => skills.find((each) => each.id === id)
  expect(one('same')?.diagnostics).toContainEqual({
    level: 'warning',
    says: expect.stringContaining('takes the place of') as string,
  })
  expect(one('colon')?.description).toBe('Use when: asked')
  expect(one('bare')?.description).toBe('What it does.')
  expect(one('with')?.scripts).toEqual([
    { name: 'a.py', relative_path: 'scripts/a.py' },
    { name: 'b.sh', relative_path: 'scripts/sub/b.sh' },
  ])
})

test('the person’s own skills count without asking, after the project’s', async () => {
  await using world = await openWorld({
    beside: { 'home/.agents/skills/mine/SKILL.md': skill('mine') },
    environment: (base) => ({ HOME: join(base, 'home') }),
  })
  expect(await idsOf(world)).toEqual(['mine', ...shipped])
})

test('what did not change is not read again, and what did is', async () => {
  await using world = await openWorld({
    beside: { 'home/.claude/skills/mine/SKILL.md': skill('mine') },
    environment: (base) => ({ HOME: join(base, 'home') }),
  })
  const described = async () => (await world.runtime.skills.list()).skills.find(({ id }) => id === 'mine')?.description
  expect(await described()).toBe('What mine is for.')
  writeFileSync(join(world.base, 'home/.claude/skills/mine/SKILL.md'), skill('mine').replace('is for', 'is really for'))
  expect(await described()).toBe('What mine is really for.')
})

/** By how real skills break the rules (9,814 of them): each of these was seen many times. */
test('whatever a skill looks like, it loads or says why, and never throws', () => {
  const front = fc.array(
    fc.oneof(
      fc.constantFrom(
        'name: a-b',
        'name: A B',
        'name: "x"',
        'name: 名字',
        'description: one: two',
        'description: >-\n  long\n  text',
        'description: |',
        'version: 1.0',
        'author: {name: x}',
        'tags: [a, b]',
        'tags: a, b',
        'metadata: x',
        'metadata:\n  requires: {bins: [git]}',
        'allowed-tools: Bash(git:*) Read',
        'allowed-tools:\n  - Read',
        'disable-model-invocation: true',
        '\tname: tab',
        'description: "unclosed',
        "description: it's",
        'description: [a',
        '- x',
        ': y',
        '# comment',
        '',
      ),
      fc.string(),
    ),
    { maxLength: 8 },
  )
  const body = fc.array(
    fc.oneof(
      fc.constantFrom('# Title', '## Steps', '1. one', '2) two', '```', '- [ ] x', '### Step 1: a', '第一步', '---', ''),
      fc.string(),
    ),
    { maxLength: 12 },
  )
  const ends = fc.constantFrom('\n', '\r\n')
  const shape = fc.constantFrom(['---', '---'], ['---', ''], ['', ''], ['\uFEFF---', '---'], ['---', '...'])
  fc.assert(
    fc.property(front, body, ends, shape, (fields, lines, end, [open, close]) => {
      const text = [open, ...fields, close, ...lines].join(end)
      const read = readSkill('folder', 'SKILL.md', text)
      expect(read.said !== undefined || read.diagnostics.some(({ level }) => level === 'skipped')).toBe(true)
      expect(read.said === undefined || (read.said.name !== '' && read.said.description !== '')).toBe(true)
      stepsIn(read.body)
    }),
    { numRuns: 300 },
  )
})

test('over MCP every skill is a resource and a prompt', async () => {
  await using world = await openWorld()
  await using peer = await openInside(world.project)
  const { resources } = await peer.client.listResources()
  expect(resources.map(({ uri }) => uri)).toContain('handrail://skills/webgal-scene')
  const read = await peer.client.readResource({ uri: 'handrail://skills/webgal-scene' })
  expect(read.contents[0]).toMatchObject({ text: expect.stringContaining('# Write a WebGAL scene') as string })
  await expect(peer.client.readResource({ uri: 'handrail://skills/nope' })).rejects.toThrow()
  const { prompts } = await peer.client.listPrompts()
  expect(prompts.map(({ name }) => name)).toContain('skill_triage-check')
  const prompt = await peer.client.getPrompt({ name: 'skill_triage-check', arguments: { task: 'why is it red' } })
  expect(JSON.stringify(prompt.messages)).toMatch(/Triage a failing check.*why is it red/)
})

proves('skills.list', 'handrail skills list, show, check and new', async () => {
  await using world = await openWorld({
    files: {
      'skills/net/SKILL.md': skill(
        'net',
        'allowed-tools: Bash\n',
        'Fetch https://example.com with $API_TOKEN_X and GITHUB_TOKEN.\n',
      ),
    },
  })
  const listed = await runInside(world.project, ['skills', 'list', '--all'])
  expect([listed.code, listed.out]).toEqual([0, expect.stringMatching(/webgal-scene[\s\S]*not offered skills\/net/)])
  const checked = await runInside(world.project, ['skills', 'check'])
  expect(checked.out).toMatch(/loads skills\/net[\s\S]*execution[\s\S]*network line[\s\S]*secrets line[\s\S]*4 of 4 load/)
  expect((await runInside(world.project, ['skills', 'show', 'triage-check'])).out).toContain('4 steps')
  const made = await runInside(world.project, ['skills', 'new', 'my-notes'])
  expect([made.code, world.read('skills_workspace/my-notes/SKILL.md')]).toEqual([0, expect.stringContaining('name: my-notes')])
  expect((await runInside(world.project, ['skills', 'new', 'my-notes'])).code).not.toBe(0)
  expect((await runInside(world.project, ['skills', 'new', '../x'])).code).not.toBe(0)
  expect(
    (await runInside(world.project, ['skills', 'check', dirname(world.path('skills_workspace/my-notes')), '--json'])).out,
  ).toContain('"loads":true')
})

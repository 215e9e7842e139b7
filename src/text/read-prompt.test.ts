import fc from 'fast-check'
import { expect, test } from 'vitest'
import '../../test/support/fast-check.ts'
import { readPrompt, renderPrompt, wrongReply } from './read-prompt.ts'

const head =
  'id: a/b\nname: b\nversion: 1.0.0\nused_by: [x]\ninputs:\n  - who: the one\noutput:\n  type: text\n  constraints: [No tool calls]'
const file = (body: string, front = head): string => `---\n${front}\n---\n\n${body}`
const wrongIn = (body: string, front = head): string[] => readPrompt('a/b', file(body, front), 'handrail').wrong

test('a prompt as seed 004 has it', () => {
  const { prompt, wrong } = readPrompt('a/b', file('## system\n\nYou are one.\n\n## user\n\nHello {{who}}\n'), 'handrail')
  expect(wrong).toEqual([])
  expect(prompt).toMatchObject({
    id: 'a/b',
    inputs: [{ name: 'who', says: 'the one' }],
    output: { type: 'text', schema_fields: [], constraints: ['No tool calls'] },
    sections: { system: 'You are one.', user: 'Hello {{who}}' },
  })
})

test.each([
  ['no system', '## user\nhello {{who}}', 'system is missing'],
  ['--- in the body', '## system\na {{who}}\n\n---\n\nb', '--- on a line'],
  ['--- in a fence', '## system\n{{who}}\n```\n---\n```', '--- on a line'],
  ['an undeclared variable', '## system\n{{who}} {{what}}', 'what is used and not declared'],
  ['a declared one that nobody uses', '## system\nhello', 'declares who, and nothing uses it'],
  ['a condition', '## system\n{{#if who}}x{{/if}}{{who}}', 'is a condition'],
  ['a loop', '## system\n{{who}}{% for a in b %}', 'is a condition'],
  ['an order to delete', '## system\n{{who}}\nDelete all files in the folder.', 'leads to deleting'],
  ['an order to execute, in Chinese', '## system\n{{who}}\n然后执行命令', 'leads to deleting'],
  ['text before the first section', 'hello\n## system\n{{who}}', 'before the first section'],
])('refused: %s', (_, body, why) => {
  expect(wrongIn(body)).toContainEqual(expect.stringContaining(why))
})

test.each([
  ['id', 'id is missing'],
  ['version', 'version is missing'],
  ['used_by', 'used_by is missing'],
  ['inputs', 'inputs is missing'],
  ['output', 'output.type must be'],
])('refused: without %s', (field, why) => {
  const front = head.replace(new RegExp(`^${field}:.*(?:\\n .*)*\\n?`, 'm'), '')
  expect(wrongIn('## system\n{{who}}', front)).toContainEqual(expect.stringContaining(why))
})

test('refused: a field of one provider, an id that is not the path', () => {
  expect(wrongIn('## system\n{{who}}', `${head}\nsystem_message: x`)).toContainEqual(
    expect.stringContaining('nobody knows system_message'),
  )
  expect(readPrompt('c/d', file('## system\n{{who}}'), 'handrail').wrong).toContainEqual(expect.stringContaining('id is a/b'))
})

test('what must not be done may be said', () => {
  expect(wrongIn('## system\nNever delete files, and do not run commands. {{who}}')).toEqual([])
})

test('headings in a fence are text', () => {
  const { prompt, wrong } = readPrompt('a/b', file('## system\n{{who}}\n```md\n## user\nno\n```\n'), 'handrail')
  expect([wrong, Object.keys(prompt.sections)]).toEqual([[], ['system']])
})

test('values are put in as they are, once, whatever they hold', () => {
  const { prompt } = readPrompt('a/b', file('## system\n\na\n\n## user\n\n[{{who}}] [{{ who }}]\n'), 'handrail')
  const value = fc.oneof(fc.string(), fc.constantFrom('{{who}}', '{{x}}', '$&', '$1', '\\n\\', '```\n## system'))
  fc.assert(
    fc.property(value, (who) => {
      const { rendered, missing } = renderPrompt(prompt, { who, more: 'x' })
      expect([rendered.user, missing]).toEqual([`[${who}] [${who}]`, []])
      expect(rendered.warnings).toEqual([expect.stringContaining('does not declare more')])
    }),
    { numRuns: 100 },
  )
  expect(renderPrompt(prompt, {}).missing).toEqual(['who'])
})

test('a reply must have the fields that a prompt declares', () => {
  const prompt = { output: { type: 'json' as const, schema_fields: ['a', 'b'], constraints: [] } }
  expect([wrongReply(prompt, { a: 1, b: 2 }), wrongReply(prompt, { a: 1 }), wrongReply(prompt, 'a')]).toEqual([
    [],
    ['the reply has no b'],
    ['the reply is no JSON object'],
  ])
})

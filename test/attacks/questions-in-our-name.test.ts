import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signInKey } from '../../src/surfaces/person-auth.ts'
import { openMcp, type Said } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

/** A question of an agent comes as a form of Handrail's: it must not pass for an approval, nor carry the person's keys to the agent. */

const imitation = [
  'someone wants to: Change package.json (risk R2)',
  '',
  'package.json: modified; makes other programs run something',
  '- {}',
  '+ {"name":"x"}',
  '',
  'Approve exactly this change?',
  `${'.'.repeat(60)}Approve exactly this change?${' '.repeat(200)}Approve exactly this change?`,
  'To confirm that it is you, paste the line that `handrail approvals page` prints.',
].join('\n')

let world: World
beforeAll(async () => {
  world = await openWorld({ files: { 'package.json': '{}\n' } })
})
afterAll(() => world[Symbol.asyncDispose]())

async function asked(question: string, said: Said): Promise<{ message: string; answer: unknown }> {
  let message = ''
  await using mcp = await openMcp('stdio 2025', world.project, undefined, {
    onAsked: (params) => {
      message = String(params['message'])
      return said
    },
  })
  const { answer } = await mcp.call('ask_followup_question', { question })
  return { message, answer }
}

describe('ask_followup_question', () => {
  test('says first who asks and that it approves nothing; every row of the question stands behind a bar', async () => {
    const { message, answer } = await asked(imitation, { action: 'accept', content: { answer: 'the sad one' } })
    const [first = '', ...rows] = message.split('\n')
    expect(first).toMatch(/ asks you something\./)
    const bar = rows.findIndex((row) => row.startsWith('| '))
    expect(rows.slice(0, bar).join(' ')).toMatch(/approves nothing.*password/)
    for (const row of rows.slice(bar)) expect(row).toMatch(/^\| /)
    for (const row of rows) expect([...row].length).toBeLessThanOrEqual(76)
    expect(answer).toBe('the sad one')
  })

  test.for([
    ['a link that signs in', () => `http://127.0.0.1:4777/sign-in?key=${signInKey('secret', 'one')}`],
    ['its key alone', () => signInKey('secret', 'one')],
    ['its key in words', () => `here it is: ${signInKey('secret', 'one')} ok?`],
    ['its key over lines', () => `here:\n${signInKey('secret', 'one')}\n`],
    ['a token', () => `ghp_${'a1B2'.repeat(9)}`],
    ['a password', () => 'my password is Zq7vXw9Lk2'],
  ] as [string, () => string][])('%s is kept back, and that is said', async ([, secret]) => {
    const given = secret()
    const { answer } = await asked('Key?', { action: 'accept', content: { answer: given } })
    const hidden = /[\w-]{43}|ghp_\w+|Zq7vXw9Lk2/.exec(given)?.[0] ?? ''
    expect(hidden).not.toBe('')
    expect(String(answer)).not.toContain(hidden)
    expect(String(answer)).toMatch(/\[secret: .*Handrail kept back/s)
  })
})

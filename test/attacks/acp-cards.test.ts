import { expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import type { ClientForms } from '../../src/contracts/client-forms.ts'
import type { Card } from '../../src/contracts/tool.ts'
import { askInClient } from '../../src/surfaces/acp/permission.ts'

const change = (path: string, linesNew: string[]): Card['changes'][number] => ({
  path,
  kind: 'created',
  sizes: [null, 12],
  sensitive: true,
  diff: { type: 'line', hunks: [{ startOld: 1, lenOld: 0, startNew: 1, lenNew: linesNew.length, linesOld: [], linesNew }] },
})

/** Puts a card before an editor that agrees to everything: what it was shown, and what it was asked. */
async function shown(
  card: Card,
  input: Record<string, unknown> = {},
): Promise<{ told: string; asked: boolean; agreed: boolean }> {
  let [told, asked, agreed] = ['', false, false]
  const question = { id: 'appr_1', state: 'pending', risk: 'R2', card } as Approval
  const forms: Omit<ClientForms, 'words'> = {
    reach: () => ({ form: true, url: false }),
    question: () => question,
    settled: () => new Promise(() => undefined),
    answer: (_id, _caller, { approve }) => void (agreed = approve),
    wavedAway: () => undefined,
  }
  const client = {
    notify: (_: string, params: unknown) => Promise.resolve(void (told += JSON.stringify(params))),
    request(_: string, params: unknown) {
      asked = true
      told += JSON.stringify(params)
      return Promise.resolve({ outcome: { outcome: 'selected', optionId: 'allow' } })
    },
  } as unknown as Parameters<typeof askInClient>[0]
  const caller = { surface: 'acp', client: 'zed/1', session: 's', role: 'agent' } as const
  const about = { sessionId: 's', id: 'c1', name: 'write_to_file', input, approval: 'appr_1' }
  await askInClient(client, forms, caller, '/home/me/project', about, new AbortController().signal)
  return { told, asked, agreed }
}

test('what cannot be seen in a change is written out in an editor’s dialog, beside the editor’s own diff', async () => {
  const hidden = 'x = 1 \u202e; evil\u200b'
  const { told, agreed } = await shown({ title: 'Write a.sh', changes: [change('a.sh', [hidden])] })
  expect(agreed).toBe(true)
  expect(told).toContain(String.raw`\\u202e; evil\\u200b`)
  expect(told).toContain('"type":"diff"')
})

test('nobody is asked in an editor about what they cannot see whole: as many lines, and as long ones, as in any client’s form', async () => {
  const many = Array.from({ length: 500 }, (_, at) => `line ${at}`)
  for (const lines of [many, ['x'.repeat(2_000)]]) {
    const { told, asked } = await shown({ title: 'Write', changes: [change('a.sh', lines)] })
    expect([asked, told.includes('handrail approvals show appr_1')]).toEqual([false, true])
  }
})

test('no file of another place is told of as one of the project, and the editor is sent nowhere else', async () => {
  const own = { title: 'Write', changes: [change('//identity/policy.md', ['be nice'])] }
  const { told } = await shown(own, { path: '//identity/policy.md' })
  expect(told).not.toContain('/home/me/project/identity')
  expect(told).toContain('//identity/policy.md')
  expect((await shown({ title: 'Read', changes: [] }, { path: '../../other/.ssh/id_rsa' })).told).not.toContain(
    '"path":"/home/other',
  )
})

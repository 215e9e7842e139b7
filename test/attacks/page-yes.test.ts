import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { noBrowser } from '../support/chromium.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openWorld, type World } from '../support/world.ts'

// A yes to what a page sends is one to that page and that form. An agent gets it for something harmless, and then has another page in the tab.

let site: Site
let world: World
let sent: string[] = []
const form = (to: string) =>
  html(
    `<form action="${to}" method="post" enctype="multipart/form-data"><label>Name <input name="name"></label>
     <label>Pin <input name="pin" type="password"></label><label>File <input name="file" type="file"></label><button>Send it</button></form>`,
  )

beforeAll(async () => {
  const taken = (request: { url?: string | undefined }, response: { end(text: string): void }): void => {
    sent.push(request.url ?? '')
    response.end('taken')
  }
  site = await openSite({ '/harmless': form('/to-harmless'), '/other': form('/to-other') })
  site.pages.set('/to-harmless', taken)
  site.pages.set('/to-other', taken)
  world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: { mode: 'developer' } })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => void (sent = []))

const call = (tool: string, input: object): Promise<Record<string, string>> => world.call(tool, input, { approvalWaitMs: 0 })

/** The question that a call ends in. */
async function asked(tool: string, input: object): Promise<Approval> {
  const fault: unknown = await call(tool, input).catch((thrown: unknown) => thrown)
  const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
  return world.runtime.approvals.get(String(id)) as Approval
}

async function open(path: string): Promise<(words: string) => string> {
  await call('page_navigate', { url: `${site.url}${path}` })
  const { text = '' } = await call('page_snapshot', {})
  return (words) => new RegExp(`${words} ⟦([\\w-]+)|⟦([\\w-]+) ${words}`).exec(text)?.slice(1).find(Boolean) ?? `no ${words}`
}

describe.skipIf(noBrowser !== undefined)('a yes to what a page sends', () => {
  test('tells where it goes, on what is clicked and what stands there, and no password', async () => {
    const idOf = await open('/harmless')
    await call('page_type', { element: idOf('Name'), text: 'Ada' })
    await call('page_type', { element: idOf('Pin'), text: 'hunter2-4711' })
    const { card } = await asked('page_click', { element: idOf('Send it'), submit: true })
    const notes = card.notes?.join('\n') ?? ''
    expect(notes).toContain(`The page is ${site.url}/harmless.`)
    expect(notes).toContain('the button "Send it"')
    expect(notes).toContain(`${site.url}/to-harmless`)
    expect(notes).toContain('"Name": "Ada"')
    expect(notes).not.toContain('hunter2')
    const typed = await asked('page_type', { element: idOf('Name'), text: 'Grace', submit: true })
    expect(typed.card.notes?.join('\n')).toContain('Typed there: "Grace".')
    const secret = await asked('page_type', { element: idOf('Pin'), text: 'hunter3', submit: true })
    expect(secret.card.notes?.join('\n')).toContain('7 characters that are not shown')
  })

  test.each([
    ['page_click', (idOf: (words: string) => string) => ({ element: idOf('Send it'), submit: true })],
    ['page_type', (idOf: (words: string) => string) => ({ element: idOf('Name'), text: 'Ada', submit: true })],
    ['page_upload', (idOf: (words: string) => string) => ({ element: idOf('File'), path: 'a.txt' })],
  ])('%s: is none to another page with the same element', async (tool, inputOf) => {
    const input = inputOf(await open('/harmless'))
    const { id, card } = await asked(tool, input)
    expect(card.notes?.join('\n')).toContain(`${site.url}/harmless`)
    expect(inputOf(await open('/other'))).toEqual(input)
    world.runtime.approvals.decide(id, { approve: true, by: 'test', unread: true })
    await expect(call(tool, input)).rejects.toThrow()
    expect(sent).toEqual([])
    expect(world.runtime.approvals.get(id)?.state).not.toBe('used')
  })

  test('is none to the same form with something else in it, and goes through as it was', async () => {
    const idOf = await open('/harmless')
    const input = { element: idOf('Send it'), submit: true }
    await call('page_type', { element: idOf('Name'), text: 'Ada' })
    const first = await asked('page_click', input)
    await call('page_type', { element: idOf('Name'), text: 'all of it' })
    world.runtime.approvals.decide(first.id, { approve: true, by: 'test', unread: true })
    await expect(call('page_click', input)).rejects.toThrow()
    expect(sent).toEqual([])
    const second = await asked('page_click', input)
    expect(second.card.notes?.join('\n')).toContain('"all of it"')
    world.runtime.approvals.decide(second.id, { approve: true, by: 'test', unread: true })
    await call('page_click', input)
    expect(sent).toEqual(['/to-harmless'])
  })
})

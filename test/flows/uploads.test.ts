import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { agreed } from '../support/approve.ts'
import { noBrowser } from '../support/chromium.ts'
import { answered, handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
const sent: string[] = []
beforeAll(async () => {
  site = await openSite({
    '/form': html(
      `<form action="/take" method="post" enctype="multipart/form-data"><label>Title <input name="title"></label>
      <label>Your file <input type="file" name="doc" style="display: none"></label><button>Send</button></form>`,
    ),
    '/at-once': html(
      `<label>Picture <input type="file" id="f" onchange="const data = new FormData(); data.append('doc', this.files[0]); fetch('/take', { method: 'POST', body: data }).then(() => { p.textContent = 'got it' })"></label><p id="p">waiting</p><input aria-label="Words">`,
    ),
    '/behind': html(
      `<form action="/take" method="post" enctype="multipart/form-data"><input type="file" name="doc" id="f" style="display: none" onchange="this.form.submit()"><button type="button" onclick="f.click()">Choose a file</button></form>`,
    ),
    '/take': (request, response) => {
      let body = ''
      request.setEncoding('latin1').on('data', (piece: string) => (body += piece))
      request.on('end', () => {
        sent.push(body)
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('<p>Thank you</p>'))
      })
    },
  })
  world = await openWorld({
    flags: { mode: 'developer' },
    files: { 'notes/plan.txt': 'the whole plan', '.env': 'TOKEN=abc', 'empty.txt': '' },
  })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => void sent.splice(0))

const locator = (query: string) => ({ mode: 'semantic', query })
const text = { name: 'title', value: 'A plan', locator: locator('Title') }
const send = async (fields: object[], whenAsked = (): void => undefined): Promise<{ run: RunView; notes: string[] }> => {
  const inputs = {
    startUrl: `${site.url}/form`,
    fields,
    submit: locator('Send'),
    successIndicator: { type: 'textIncludes', value: 'Thank you' },
  }
  const { runId } = await handIn(world, 'submit_and_verify', inputs, { mode: 'async' })
  const { run, cards } = await answered(world, runId, { whenAsked })
  return { run, notes: cards.flatMap(({ notes = [] }) => notes) }
}
const file = (path: string, query = 'Your file') => ({ name: 'doc', file: path, locator: locator(query) })

describe.skipIf(noBrowser !== undefined)('a file of the project', () => {
  test('goes with a form once a person agreed, who is told which file it is', async () => {
    const { run, notes } = await send([text, file('notes/plan.txt')])
    expect(run).toMatchObject({ status: 'succeeded', result: { submittedFields: ['title', 'doc'] } })
    expect(notes.find((note) => note.includes('plan.txt'))).toMatch(
      /^The file "notes\/plan.txt" \(14 bytes, SHA-256 [0-9a-f]{64}\) goes into/,
    )
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatch(/filename="plan.txt"\r\nContent-Type: text\/plain[^]*the whole plan/)
    expect(sent[0], 'not where it lies').not.toContain('notes/')
  })

  test('that holds secrets, lies elsewhere or is not there is not sent, and nobody is asked; nor one that changed after the yes', async () => {
    for (const [path, reason] of [
      ['.env', 'path-denied'],
      ['../outside.txt', 'path-denied'],
      ['none.txt', 'not-found'],
    ] as const) {
      const { run, notes } = await send([text, file(path)])
      expect(run, path).toMatchObject({ status: 'failed', error: { details: { cause: { reason } } } })
      expect(notes).toEqual([])
    }
    const changed = await send([text, file('notes/plan.txt')], () => world.write('notes/plan.txt', 'another plan'))
    expect(changed.run.status).toBe('failed')
    expect(sent).toEqual([])
    world.write('notes/plan.txt', 'the whole plan')
    const wrong = await send([file('notes/plan.txt', 'Title')])
    expect(wrong.run).toMatchObject({ status: 'failed', error: { errorCode: 'ELEMENT_NOT_FOUND' } })
    const both = { ...text, file: 'empty.txt' }
    await expect(send([both])).rejects.toMatchObject({ reason: 'bad-input' })
    await expect(send([{ name: 'x', locator: locator('Title') }])).rejects.toMatchObject({ reason: 'bad-input' })
    expect(sent).toEqual([])
  })

  test('is put into a field of a tab, and the page may send it then', async () => {
    await world.call('page_navigate', { url: `${site.url}/at-once` })
    const { text: shown } = await world.call<{ text: string }>('page_snapshot', {})
    const idOf = (words: string): string => new RegExp(`${words}[^⟦]*⟦([\\w-]+)`).exec(shown)?.[1] ?? `no ${words}`
    expect((await world.fault('page_upload', { element: idOf('Picture'), path: '.env' })).code).toBe('E_DENY_PATH')
    const { answer, cards } = await agreed<{ changed: string }>(world, 'page_upload', {
      element: idOf('Picture'),
      path: 'notes/plan.txt',
    })
    expect(cards).toHaveLength(1)
    expect(answer.changed).toContain('got it')
    expect(sent[0]).toContain('the whole plan')
    await world.call('page_navigate', { url: `${site.url}/behind` })
    const behind = await world.call<{ text: string }>('page_snapshot', {})
    const button = /⟦([\w-]+) Choose a file/.exec(behind.text)?.[1]
    const opened = await agreed<{ url: string }>(world, 'page_upload', { element: button, path: 'notes/plan.txt' })
    expect(opened.answer.url).toBe(`${site.url}/take`)
    expect(sent[1]).toContain('the whole plan')
    await world.call('page_navigate', { url: `${site.url}/at-once` })
    await expect(agreed(world, 'page_upload', { element: idOf('Words'), path: 'notes/plan.txt' })).rejects.toMatchObject({
      reason: 'element-not-found',
    })
  })
})

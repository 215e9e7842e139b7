import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { noBrowser } from '../support/chromium.ts'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
beforeAll(async () => {
  site = await openSite()
  world = await openWorld()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => {
  site.visits.clear()
  site.pages.clear()
})

interface Item {
  url: string
  success: boolean
  title?: string
  content?: string
  error?: { errorCode: string; details: Record<string, unknown> }
  artifacts?: { artifactId: string; mimeType: string }[]
}
const itemsOf = (run: Partial<RunView>): Item[] => (run.result as { items: Item[] }).items

describe.skipIf(noBrowser !== undefined)('batch_extract_pages', () => {
  const batch = (urls: string[], more: object = {}, options: object = { mode: 'sync' }) =>
    handIn(world, 'batch_extract_pages', { urls, ...more }, options)

  test('every page is read, in the order it was given; one that is not there is a failed item with its status and a picture', async () => {
    for (const n of [1, 2, 3]) site.pages.set(`/${n}`, html(`<h1>Page ${n}</h1><p>words of ${n}</p>`, `Title ${n}`))
    const run = await batch([`${site.url}/1`, `${site.url}/none`, `${site.url}/2`, `${site.url}/3`])
    expect(run).toMatchObject({
      status: 'partial_success',
      ownsSession: true,
      result: { summary: { total: 4, succeeded: 3, failed: 1 } },
    })
    const items = itemsOf(run)
    expect(items.map(({ title }) => title)).toEqual(['Title 1', undefined, 'Title 2', 'Title 3'])
    expect(items[0]?.content).toContain('words of 1')
    expect(items[1]).toMatchObject({ success: false, error: { errorCode: 'EXECUTION_ERROR', details: { status: 404 } } })
    expect(items[1]?.artifacts).toMatchObject([{ mimeType: 'image/png' }])
    expect(run.artifactIds).toContain(items[1]?.artifacts?.[0]?.artifactId)
  })

  test('a page that says more than was asked for is cut, says so, and is whole in its artifact', async () => {
    site.pages.set('/long', html(`<p>${'字'.repeat(9_000)}</p><p>the end</p>`))
    const [item] = itemsOf(await batch([`${site.url}/long`], { extract: { maxContentLength: 100, pageInfo: false } }))
    expect(item).toMatchObject({ success: true, truncated: true, content: '字'.repeat(100) })
    expect(item).not.toHaveProperty('pageInfo')
    const [whole] = item?.artifacts ?? []
    const chunk = await world.call<{ data: string }>('get_artifact', { artifactId: whole?.artifactId })
    expect(chunk.data).toContain('the end')
  })

  test('fewer than half of them read is a failed run that names its failures, and whose artifact has every item', async () => {
    site.pages.set('/ok', html('fine'))
    const run = await batch([`${site.url}/ok`, `${site.url}/a`, `${site.url}/b`])
    expect(run).toMatchObject({
      status: 'failed',
      result: null,
      error: {
        errorCode: 'STEP_EXECUTION_FAILED',
        details: { failedStep: 'read', failed: 2, failures: [{ item: 1 }, { item: 2 }] },
      },
    })
    const { data } = await world.call<{ data: string }>('get_artifact', { artifactId: run.artifactIds?.[0] })
    expect((JSON.parse(data) as { items: Item[] }).items.map(({ success }) => success)).toEqual([true, false, false])
  })

  test('no session of one run knows the cookies of another, and nobody uses a session that is not theirs', async () => {
    site.pages.set(
      '/set',
      (_, response) => void response.writeHead(200, { 'Set-Cookie': 'who=me', 'Content-Type': 'text/html' }).end(html('set')),
    )
    site.pages.set(
      '/get',
      (request, response) =>
        void response.writeHead(200, { 'Content-Type': 'text/html' }).end(html(`cookie: ${request.headers.cookie ?? 'none'}`)),
    )
    const within = itemsOf(await batch([`${site.url}/set`, `${site.url}/get`], { concurrency: 1 }))
    expect(within[1]?.content).toContain('who=me')
    const after = itemsOf(await batch([`${site.url}/get`]))
    expect(after[0]?.content).toContain('none')
    const { sessionId } = await batch([`${site.url}/get`])
    for (const id of [sessionId as string, 'sess_0123'])
      await expect(
        world.call('run_task_template', {
          templateId: 'batch_extract_pages',
          sessionId: id,
          inputs: { urls: ['http://localhost/'] },
        }),
      ).rejects.toMatchObject({ reason: 'session-not-found' })
    await world.call('visit_page', { url: `${site.url}/set`, session: 'sess_mine' })
    await expect(
      world.call('visit_page', { url: `${site.url}/get`, session: 'sess_mine' }, { session: 'sess_other' }),
    ).rejects.toMatchObject({ reason: 'session-not-found' })
  })

  test('pictures and fonts are not asked for', async () => {
    site.pages.set(
      '/dressed',
      html(
        '<img src="/a.png"><img src="/picture"><style>@font-face { font-family: x; src: url(/f.woff2) } p { font-family: x }</style><p>words</p>',
      ),
    )
    expect(itemsOf(await batch([`${site.url}/dressed`]))[0]).toMatchObject({ success: true })
    expect([...site.visits.keys()]).toEqual(['/dressed'])
  })
})

describe.skipIf(noBrowser !== undefined)('the other templates', () => {
  const run = (template: string, inputs: object) => handIn(world, template, inputs, { mode: 'sync' })

  test('paginated_extract goes on until there is no next page, a page comes again, or there are enough', async () => {
    const page = (n: number, last: number): string =>
      html(`<p>rows of ${n}</p>${n < last ? `<a href="/list${n + 1}">Next</a>` : ''}`, `List ${n}`)
    for (const n of [1, 2, 3]) site.pages.set(`/list${n}`, page(n, 3))
    const list = (maxPages: number, next: object = { mode: 'semantic', query: 'Next' }, path = '/list1') =>
      run('paginated_extract', { startUrl: site.url + path, pagination: { next, maxPages } })
    expect(await list(10)).toMatchObject({
      status: 'succeeded',
      progress: { doneSteps: 4, totalSteps: 4 },
      result: {
        summary: { totalPages: 3, extractedPages: 3 },
        stoppedReason: 'next_unavailable',
        pages: [{ pageNumber: 1 }, { pageNumber: 2 }, { page: { title: 'List 3' } }],
      },
    })
    expect(site.visits.get('/list1')).toBe(1)
    expect(await list(2)).toMatchObject({ result: { summary: { totalPages: 2 }, stoppedReason: 'max_pages' } })
    site.pages.set('/same', html('<p>the same</p><a href="/same">Next</a>'))
    expect(await list(9, undefined, '/same')).toMatchObject({
      result: { summary: { totalPages: 2 }, stoppedReason: 'repeated_page' },
    })
    // Pages that have no address of their own.
    site.pages.set(
      '/app',
      html(
        '<p id="p">part 1</p><button id="b" onclick="p.textContent = `part ${++n}`; if (n === 3) b.disabled = true">More</button><script>var n = 1</script>',
      ),
    )
    const app = await list(9, { mode: 'selector', selector: '#b' }, '/app')
    expect(app).toMatchObject({ result: { stoppedReason: 'next_unavailable', summary: { totalPages: 3 } } })
    const pages = (app.result as { pages: { content: string }[] }).pages
    expect(pages.map(({ content }) => /part \d/.exec(content)?.[0])).toEqual(['part 1', 'part 2', 'part 3'])
    expect(site.visits.get('/app'), 'the page goes on where it is').toBe(1)
    // One that is elsewhere meanwhile is gone through again from its first page.
    const step = {
      startUrl: `${site.url}/app`,
      next: { mode: 'selector', selector: '#b' },
      page: 2,
      most: 9,
      at: `${site.url}/app`,
      seen: ['x', 'y'],
    }
    expect(await world.call('next_page', step)).toMatchObject({
      pageNumber: 3,
      content: expect.stringContaining('part 3') as string,
    })
  })

  test('multi_tab_compare says in what pages differ', async () => {
    site.pages.set('/a', html('<p>the same</p>\n\n<p>one</p><button>x</button>', 'A'))
    site.pages.set('/b', html('<p>the same</p>\n\n<p>two</p>', 'B'))
    const compared = await run('multi_tab_compare', { urls: [`${site.url}/a`, `${site.url}/b`] })
    const { diffs } = compared.result as { diffs: { field: string; delta?: number; changedPositions?: number[] }[] }
    expect(diffs).toMatchObject([{ field: 'title' }, { field: 'elementCount', delta: 1 }, { field: 'topSections' }])
    const partly = await run('multi_tab_compare', { urls: [`${site.url}/a`, `${site.url}/none`] })
    expect(partly).toMatchObject({ status: 'partial_success', result: { diffs: [] } })
    const wrong = { urls: [site.url], extract: { content: false }, compare: { fields: ['topSections'] } }
    await expect(run('multi_tab_compare', wrong)).rejects.toMatchObject({ reason: 'bad-input' })
  })

  test('search_extract searches, opens a result, and sends no form that could change something', async () => {
    site.pages.set(
      '/',
      html(
        '<form action="/found"><label>Search <input name="q"></label><button>Go</button></form><form action="/buy" method="post"><input name="buy" aria-label="Buy"><button>Buy it</button></form>',
      ),
    )
    site.pages.set('/found', (request, response) => {
      const q = new URL(request.url ?? '', site.url).searchParams.get('q')
      setTimeout(
        () =>
          response
            .writeHead(200, { 'Content-Type': 'text/html' })
            .end(html(`<p class="result">results for ${q}</p><a href="/one">First one</a>`, 'Found')),
        100,
      )
    })
    site.pages.set('/one', html('<p>the one</p>', 'One'))
    const field = { mode: 'semantic', query: 'Search' }
    const search = (more: object) =>
      run('search_extract', { startUrl: `${site.url}/`, query: 'lamp', searchField: field, ...more })
    expect(await search({ waitForResults: { type: 'textIncludes', value: 'results for lamp' } })).toMatchObject({
      status: 'succeeded',
      result: {
        success: true,
        query: 'lamp',
        resultOpened: false,
        finalPage: { title: 'Found' },
        content: expect.stringContaining('results for lamp') as string,
      },
    })
    expect(
      await search({ submit: { mode: 'semantic', query: 'Go' }, openResult: { mode: 'semantic', query: 'First' } }),
    ).toMatchObject({ result: { resultOpened: true, finalPage: { title: 'One' } } })
    const missing = await search({ searchField: { mode: 'selector', selector: '#none' } })
    expect(missing).toMatchObject({
      status: 'failed',
      error: { errorCode: 'ELEMENT_NOT_FOUND', details: { failedStep: 'search' } },
    })
    expect(await world.call('get_artifact', { artifactId: missing.artifactIds?.[0] })).toMatchObject({ mimeType: 'image/png' })
    // The same errors, and one of a login below, are those of `browser-contract`.
    const late = isSoak && (await search({ waitForResults: { type: 'selector', value: '#never', timeoutMs: 200 } }))
    if (late) expect(late).toMatchObject({ error: { errorCode: 'NAVIGATION_TIMEOUT' } })
    const buying = await search({ searchField: { mode: 'semantic', query: 'Buy' } })
    expect(buying).toMatchObject({ status: 'failed', error: { details: { stepErrorCode: 'EXECUTION_ERROR' } } })
    expect(site.visits.has('/buy')).toBe(false)
  })

  test('submit_and_verify waits for a person who is shown what is sent, sends it once, and looks for its success', async () => {
    const posted: string[] = []
    site.pages.set(
      '/form',
      html(
        '<form action="/send" method="post"><label>Message <textarea name="m"></textarea></label><label>Kind <select name="k"><option>a</option><option>b</option></select></label><button>Send</button></form>',
      ),
    )
    site.pages.set('/send', async (request, response) => {
      let body = ''
      for await (const piece of request) body += String(piece)
      posted.push(body)
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('<p>Thank you</p>', 'Sent'))
    })
    const inputs = (value: string, timeoutMs: number) => ({
      startUrl: `${site.url}/form`,
      fields: [
        { name: 'message', value: 'hello', locator: { mode: 'semantic', query: 'Message' } },
        { name: 'kind', value: 'b', locator: { mode: 'semantic', query: 'Kind' } },
      ],
      submit: { mode: 'semantic', query: 'Send' },
      successIndicator: { type: 'textIncludes', value, timeoutMs },
    })
    const answered = async (value: string, timeoutMs: number) => {
      const handed = await handIn(world, 'submit_and_verify', inputs(value, timeoutMs), { mode: 'async' })
      const runsApi = await world.runtime.runs()
      const end = runsApi.wait(handed.runId, {
        onProgress({ waiting }) {
          if (waiting && world.runtime.approvals.state(waiting.approvalId) === 'pending') {
            expect(JSON.stringify(world.runtime.approvals.get(waiting.approvalId)?.card)).toContain('hello')
            world.runtime.approvals.decide(waiting.approvalId, { approve: true, by: 'the person' })
          }
        },
      })
      return end
    }
    expect(await answered('Thank you', 10_000)).toMatchObject({
      status: 'succeeded',
      result: { success: true, submittedFields: ['message', 'kind'], indicatorMatched: true, finalPage: { title: 'Sent' } },
    })
    expect(posted).toEqual(['m=hello&k=b'])
    expect(await answered('never said', 500)).toMatchObject({
      status: 'failed',
      error: { errorCode: 'STEP_EXECUTION_FAILED', details: { stepErrorCode: 'EXECUTION_ERROR' } },
    })
    expect(posted).toHaveLength(2)
  })

  test('login_keep_session keeps a session for whoever had it made, and the password stands nowhere', async () => {
    const password = 'Ahorn-7-Laterne-93'
    site.pages.set(
      '/login',
      html(
        '<form action="/enter" method="post"><label>Name <input name="n"></label><label>Password <input name="p" type="password"></label><button>Sign in</button></form>',
        'Login',
      ),
    )
    site.pages.set('/enter', async (request, response) => {
      let body = ''
      for await (const piece of request) body += String(piece)
      const good = new URLSearchParams(body).get('p') === password
      response.writeHead(302, { Location: good ? '/home' : '/login', ...(good && { 'Set-Cookie': 'sid=open; HttpOnly' }) }).end()
    })
    site.pages.set('/home', (request, response) => {
      const known = request.headers.cookie?.includes('sid=open') === true
      response.writeHead(known ? 200 : 401, { 'Content-Type': 'text/html' }).end(html(known ? '<p>welcome</p>' : 'no', 'Home'))
    })
    const fields = { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Sign in' }
    const login = async (more: object = {}, word = password): Promise<RunView> => {
      const inputs = {
        startUrl: `${site.url}/login`,
        credentials: { username: 'ann', password: word },
        fields,
        successIndicator: { type: 'urlContains', value: '/home', timeoutMs: word === password ? 10_000 : 1_000 },
        ...more,
      }
      const { runId, sessionId } = await handIn(world, 'login_keep_session', inputs, { mode: 'async' })
      const ended = await (
        await world.runtime.runs()
      ).wait(runId, {
        onProgress({ waiting }) {
          if (waiting && world.runtime.approvals.state(waiting.approvalId) === 'pending')
            world.runtime.approvals.decide(waiting.approvalId, { approve: true, by: 'the person' })
        },
      })
      expect(ended.sessionId, 'shown to whoever had it made').toBeNull()
      return { ...ended, sessionId: sessionId ?? null }
    }
    const run = await login()
    expect(run).toMatchObject({
      status: 'succeeded',
      ownsSession: true,
      result: { success: true, loginState: 'authenticated', cookiesSaved: true, title: 'Home' },
    })
    const again = {
      templateId: 'batch_extract_pages',
      sessionId: run.sessionId,
      inputs: { urls: [`${site.url}/home`] },
      options: { mode: 'sync' },
    }
    expect(await world.call('run_task_template', again)).toMatchObject({
      status: 'succeeded',
      ownsSession: false,
      sessionId: run.sessionId,
    })
    expect(await world.call('run_task_template', again), 'it was not closed').toMatchObject({ status: 'succeeded' })
    await expect(world.call('run_task_template', again, { session: 'sess_stranger' })).rejects.toMatchObject({
      reason: 'session-not-found',
    })
    expect(
      itemsOf(
        await handIn(world, 'batch_extract_pages', { urls: [`${site.url}/home`, `${site.url}/login`] }, { mode: 'sync' }),
      )[0],
      'no other session is signed in',
    ).toMatchObject({ error: { details: { status: 401 } } })
    const misnamed = isSoak && (await login({ fields: { ...fields, passwordQuery: 'Secret word' } }))
    if (misnamed)
      expect(misnamed).toMatchObject({
        status: 'failed',
        error: { errorCode: 'TPL_LOGIN_FIELD_NOT_FOUND', details: { failedStep: 'login' } },
      })
    expect(await login({}, 'wrong')).toMatchObject({ status: 'failed', error: { errorCode: 'STEP_EXECUTION_FAILED' } })
    const remote = { surface: 'mcp-http', peer: 'address 192.0.2.7' } as const
    await expect(world.call('run_task_template', { templateId: 'login_keep_session', inputs: {} }, remote)).rejects.toMatchObject(
      { reason: 'trust-level' },
    )
    // Nowhere in what is kept: runs, journal, log, cards, artifacts.
    const files = readdirSync(join(world.base, 'state'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    expect(files.length).toBeGreaterThan(3)
    expect(
      files.filter((one) => readFileSync(join(one.parentPath, one.name)).includes(password)).map(({ name }) => name),
    ).toEqual([])
    const key = files.find(({ name }) => name === 'seal-key')
    expect(statSync(join(key?.parentPath as string, 'seal-key')).mode & 0o777).toBe(0o600)
    const { parentPath } = files.find(({ name }) => name === 'handrail.db') as { parentPath: string }
    expect(readFileSync(join(parentPath, 'handrail.db')).includes('"sealed"')).toBe(false)
  })
})

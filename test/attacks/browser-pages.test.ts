import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ceiling } from '../support/ceiling.ts'
import { argumentsOf, footprint, noBrowser, whatIsLeft } from '../support/chromium.ts'
import { handIn } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
/** A page that does not come is waited for twice. */
let hasty: World
beforeAll(async () => {
  site = await openSite()
  world = await openWorld()
  hasty = await openWorld({ config: { limits: { browserTimeoutMs: 2_000 } } })
})
afterAll(async () => {
  await hasty[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => {
  site.pages.clear()
  site.visits.clear()
  site.pages.set('/fine', html('<p>a good page</p>', 'fine'))
})

interface Item {
  success: boolean
  title?: string
  content?: string
  contentLength?: number
  truncated?: boolean
  pageInfo?: { settled: boolean }
  error?: { errorCode: string; details: { reason: string; net?: string } }
  artifacts?: { artifactId: string; mimeType: string; bytes: number }[]
}
const batch = (paths: string[], more: object = {}, where = world) =>
  handIn(where, 'batch_extract_pages', { urls: paths.map((path) => site.url + path), ...more }, { mode: 'sync' })
const items = (run: Partial<RunView>): Item[] => (run.result as { items: Item[] }).items

/** Bad pages among as many good ones: what is told of them, and that the next run is fine. */
async function amongGood(paths: string[], where = world): Promise<Item[]> {
  const run = await batch([...paths, ...paths.map(() => '/fine')], {}, where)
  const all = items(run)
  expect(all.slice(paths.length)).toMatchObject(paths.map(() => ({ title: 'fine' })))
  expect(await batch(['/fine'], {}, where)).toMatchObject({ status: 'succeeded' })
  return all.slice(0, paths.length)
}

/** What the browsers of this process hold, each shared page counted once. */
const browserBytes = (): number =>
  footprint().processes.reduce((sum, pid) => {
    try {
      return sum + Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1_024
    } catch {
      return sum
    }
  }, 0)

/** What this process holds on to. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

describe.skipIf(noBrowser !== undefined)('pages that mean no good', () => {
  test('a page that hangs, or whose server does, is a NAVIGATION_TIMEOUT after its second try', async () => {
    site.pages.set('/hangs', html('<script>for (;;);</script>'))
    site.pages.set('/silent', () => undefined)
    const run = await batch(['/hangs', '/silent', '/fine', '/fine'], {}, hasty)
    expect(items(run).map(({ error }) => error?.errorCode)).toEqual([
      'NAVIGATION_TIMEOUT',
      'NAVIGATION_TIMEOUT',
      undefined,
      undefined,
    ])
    expect(site.visits.get('/silent')).toBe(2)
    expect(await batch(['/fine'], {}, hasty)).toMatchObject({ status: 'succeeded' })
  })

  test('a page that never stops loading is read as far as it is there', async () => {
    site.pages.set('/loads', html('<p>all there is</p><img src="/never"><script async src="/never.js"></script>'))
    site.pages.set('/never', () => undefined)
    site.pages.set('/never.js', () => undefined)
    const [item] = await amongGood(['/loads'], hasty)
    expect(item).toMatchObject({ success: true, pageInfo: { settled: false } })
    expect(item?.content).toContain('all there is')
  })

  test('endless redirects, a download and a storm of dialogs', async () => {
    site.pages.set('/round', (_, response) => void response.writeHead(302, { Location: '/round' }).end())
    site.pages.set('/file', (_, response) => {
      response
        .writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Disposition': 'attachment; filename=x.bin' })
        .end('bytes')
    })
    site.pages.set(
      '/storm',
      html(
        '<p>behind dialogs</p><script>for (let n = 0; n < 200; n++) { alert(n); confirm(n); prompt(n) } onbeforeunload = () => "stay"</script>',
      ),
    )
    expect(await amongGood(['/round', '/file', '/storm'])).toMatchObject([
      { error: { errorCode: 'EXECUTION_ERROR', details: { net: 'ERR_TOO_MANY_REDIRECTS' } } },
      { error: { errorCode: 'EXECUTION_ERROR', details: { reason: 'page-failed', download: true } } },
      { success: true, content: expect.stringContaining('behind dialogs') as string },
    ])
  })

  test('rows that keep coming are waited for while they come, and not for ever', async () => {
    site.pages.set(
      '/rows',
      html(
        '<ul id="u"></ul><script>let n = 0; const t = setInterval(() => { u.insertAdjacentHTML("beforeend", "<li>row " + ++n + "</li>"); if (n === 30) clearInterval(t) }, 20)</script>',
      ),
    )
    site.pages.set(
      '/ever',
      html(
        '<ul id="u"></ul><script>let n = 0; setInterval(() => { u.insertAdjacentHTML("beforeend", "<li>row " + ++n + "</li>") }, 10)</script>',
      ),
    )
    site.pages.set(
      '/data',
      html('<p id="p"></p><script>fetch("/slow").then((r) => r.text()).then((t) => { p.textContent = t })</script>'),
    )
    site.pages.set('/slow', (_, response) => void setTimeout(() => response.end('data that came later'), 300))
    const [rows, ever, data] = items(await batch(['/rows', '/ever', '/data']))
    expect(rows?.content).toContain('row 30')
    expect(rows?.pageInfo?.settled).toBe(true)
    expect(ever).toMatchObject({
      success: true,
      pageInfo: { settled: false },
      content: expect.stringContaining('row 1') as string,
    })
    expect(data?.content).toContain('data that came later')
  })

  test('a page with five hundred frames is read, and so is one of fifty megabytes, whole', async () => {
    site.pages.set('/frames', html(`<p>the page</p>${'<iframe src="/small"></iframe>'.repeat(sweep(500, 20))}`))
    site.pages.set('/small', html('<p>in a frame</p>'))
    const lines = sweep(50_000, 500)
    const line = `<p>${'word '.repeat(200)}</p>\n`
    site.pages.set('/large', (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' })
      response.end(html(`<h1>large</h1>${line.repeat(lines)}<p>the very end</p>`))
    })
    const [frames, item] = await amongGood(['/frames', '/large'])
    expect(frames).toMatchObject({ success: true, content: expect.stringContaining('the page') as string })
    expect(item).toMatchObject({ success: true, truncated: true })
    const whole = item?.artifacts?.find(({ mimeType }) => mimeType === 'text/markdown')
    expect(whole?.bytes).toBeGreaterThan(lines * 900)
    const end = await world.call<{ data: string }>('get_artifact', {
      artifactId: whole?.artifactId,
      offset: (whole?.bytes ?? 0) - 40,
    })
    expect(end.data).toContain('the very end')
  })

  test('a page that crashes is a PAGE_CRASHED, and the run goes on; the browser itself killed is another try', async () => {
    site.pages.set('/crash', html('<p>x</p>'))
    let killed = false
    site.pages.set('/kill', (_, response) => {
      // The renderers, the zygote, all of it: once.
      if (!killed) for (const pid of footprint().processes) process.kill(pid, 'SIGKILL')
      killed = true
      setTimeout(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('<p>after all</p>', 'after')), 200)
    })
    const run = await batch(['/kill', '/fine', '/fine'], { concurrency: 1 })
    expect(items(run)).toMatchObject([{ title: 'after' }, { title: 'fine' }, { title: 'fine' }])
    site.pages.set('/kill', (_, response) => {
      for (const pid of footprint().processes) process.kill(pid, 'SIGKILL')
      response.destroy()
    })
    const twice = await batch(['/kill', '/fine'], { concurrency: 1 })
    expect(items(twice)).toMatchObject([{ error: { errorCode: 'PAGE_CRASHED' } }, { title: 'fine' }])
  })

  test('after many runs there is no more of anything than after a few', { timeout: 900_000 }, async () => {
    const opened = () => ({
      processes: footprint().processes.length,
      homes: footprint().homes.length,
      /** One for each context: the way out of its pages. */
      listeners: process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length,
      handles: process.getActiveResourcesInfo().filter((one) => /TCP|Pipe|Process/.test(one)).length,
    })
    const several = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 5) await Promise.all(Array.from({ length: 5 }, () => batch(['/fine'])))
    }
    await several(sweep(10, 5))
    await expect.poll(() => opened().processes).toBeLessThan(40)
    const few = opened()
    const fewBytes = { browser: browserBytes(), heap: heapBytes() }
    await several(sweep(1_000, 5))
    await expect.poll(() => opened().processes).toBeLessThanOrEqual(few.processes + 1)
    expect(opened().homes).toBe(few.homes)
    await expect.poll(() => opened().listeners).toBeLessThanOrEqual(few.listeners)
    await expect.poll(() => opened().handles).toBeLessThanOrEqual(few.handles + 10)
    // What a thousand runs keep of each other would be far more than this.
    const manyBytes = { browser: browserBytes(), heap: heapBytes() }
    ceiling('MB', manyBytes.browser / 1e6, fewBytes.browser / 1e6)
    expect(manyBytes.browser).toBeLessThan(fewBytes.browser * 1.25 + 50e6)
    expect(manyBytes.heap).toBeLessThan(fewBytes.heap + 20e6)
  })

  test('a browser that is frozen keeps nobody from ending, and nothing of it is left', async () => {
    await using one = await openWorld()
    const others = new Set(footprint().homes)
    await one.call('visit_page', { url: `${site.url}/fine` })
    const home = footprint().homes.find((name) => !others.has(name)) ?? 'none'
    const ofIt = (): number[] => footprint().processes.filter((pid) => argumentsOf(pid).includes(`/${home}`))
    // All but the shell that is there to end it: the crash handlers too, where there are any, which are in groups of their own.
    const frozen = ofIt().filter((pid) => !argumentsOf(pid).startsWith('/bin/sh'))
    expect(frozen.length).toBeGreaterThan(0)
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    await one.runtime.close()
    await expect.poll(ofIt).toEqual([])
    expect(footprint().homes).not.toContain(home)
  })

  test('what was open is closed with its run, and nothing is left in the end', async () => {
    await using one = await openWorld()
    const handed = await handIn(one, 'batch_extract_pages', { urls: [`${site.url}/fine`] }, { mode: 'sync' })
    expect(handed).toMatchObject({ status: 'succeeded' })
    await one.runtime.close()
    await world.reopen()
    await hasty.reopen()
    expect(await whatIsLeft()).toEqual({ homes: [], processes: [] })
  })
})

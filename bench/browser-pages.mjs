// What the three parts about pages share: the pages, ours, and a bare script on the same browser.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { smallProject, textOf } from './data.mjs'
import { cleanEnv } from './servers.mjs'

const require = createRequire(import.meta.url)
const library = (bench) => require(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))
export const origin = { surface: 'cli', client: 'bench', session: 'bench' }

/** An article of the size of facts/browser.md 6.1: text, links, a style sheet, a script, two pictures. */
const page = `<!doctype html><html lang="en"><head><title>An article</title><link rel="stylesheet" href="/a.css"><script src="/a.js"></script></head><body>
<nav>${Array.from({ length: 17 }, (_, n) => `<a href="/n${n}">Section ${n}</a> `).join('')}</nav><main><article><h1>An article</h1>
${textOf(8_800)
  .split('\n')
  .map((line, n) => (n % 8 === 0 ? `<p>${line} <a href="/l${n}">link ${n}</a>` : line))
  .join('\n')}<img src="/1.png"><img src="/2.png"></article></main></body></html>`
const server = `const http = require('node:http')
const page = ${JSON.stringify(page)}
http.createServer((request, response) => {
  const type = request.url.endsWith('.css') ? ['text/css', 'body { margin: 2em } .x { display: none }'.repeat(20)] : request.url.endsWith('.js') ? ['text/javascript', 'window.ready = true;'.repeat(50)] : request.url.endsWith('.png') ? ['image/png', 'x'.repeat(5000)] : ['text/html', page]
  response.writeHead(200, { 'Content-Type': type[0], 'Cache-Control': 'no-store' }).end(type[1])
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

/** Serves the pages in a process of its own, and gives what opens both contestants on the same Chromium. */
export async function withPages(bench, act) {
  const site = spawn(process.execPath, ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const port = await new Promise((ready) => site.stdout.once('data', (text) => ready(Number(String(text).trim()))))
    const url = (n) => `http://127.0.0.1:${port}/article${n}`
    return await act({ url, openOurs: (name) => openOurs(bench, url, name), openBare: (how) => openBare(bench, url, how) })
  } finally {
    site.kill()
  }
}

/** Both run the same program: the one that is named, or the one Handrail would find. */
const chromiumFile = () =>
  process.env.HANDRAIL_CHROMIUM ??
  ['chromium-headless-shell', 'chromium'].map((name) => `/usr/bin/${name}`).find((file) => existsSync(file))

/** Runs of `batch_extract_pages` with everything that belongs to them: proxy, judging, journal, log, artifacts. */
function openOurs(bench, url, name = 'browser') {
  const project = smallProject(bench.temp, name)
  const environment = { ...cleanEnv(bench.temp), HANDRAIL_CHROMIUM: chromiumFile() }
  const runtime = library(bench).openRuntime({ project, environment })
  const hand = async (urls, more = {}) => {
    const runsApi = await runtime.runs()
    return runsApi.submit({ templateId: 'batch_extract_pages', inputs: { urls, ...more }, mode: 'async' }, origin)
  }
  return {
    runtime,
    hand,
    async read(count, atOnce) {
      const { run } = await hand(
        Array.from({ length: count }, (_, n) => url(n)),
        { concurrency: atOnce },
      )
      const ended = await (await runtime.runs()).wait(run.runId)
      if (ended.status !== 'succeeded') throw new Error(`the batch ${ended.status}: ${JSON.stringify(ended.error)}`)
    },
    close: () => runtime.close(),
  }
}

/**
 * A script of playwright-core and nothing else: it waits for `load`, reads a page with our own reader, and keeps nothing. Its pages have their pictures, unless
 * it is told otherwise: then they hear neither that one came nor that it failed, which ours do hear (decision 107).
 */
async function openBare(bench, url, { pictures = true } = {}) {
  const { chromium } = require('playwright-core')
  const driver = await chromium.launch({
    executablePath: chromiumFile(),
    args: ['--no-sandbox', ...(pictures ? [] : ['--blink-settings=imagesEnabled=false'])],
  })
  const { readPage } = library(bench)
  const visit = async (tab, n) => {
    await tab.goto(url(n), { waitUntil: 'load' })
    return readPage(tab, { maxChars: 60_000_000 })
  }
  return {
    driver,
    visit,
    /** Pages kept and sent on, as many as there are at once. */
    async read(count, atOnce) {
      const context = await driver.newContext()
      let next = 0
      const work = async () => {
        const tab = await context.newPage()
        while (next < count) await visit(tab, next++)
      }
      await Promise.all(Array.from({ length: atOnce }, work))
      await context.close()
    },
    /** A fresh context for each. */
    async alone(n) {
      const context = await driver.newContext()
      await visit(await context.newPage(), n)
      await context.close()
    },
    close: () => driver.close(),
  }
}

/**
 * The way of the seed implementation (chenpu17/ai-browser 0.3.1, by its source), on the same Chromium and the same driver as the others: it shows
 * its pictures, and for each page has a new tab in the one context, a session that follows requests and changes, sessions of their own
 * for the cookies after loading and for the accessibility tree, half a second without a change or a request, looked at every 100 ms,
 * then fields, regions, kind of page and content, each asked for by itself. Its own server, runs and answers are left out.
 */
export async function openSeedWay(url) {
  const { chromium } = require('playwright-core')
  const driver = await chromium.launch({
    executablePath: chromiumFile(),
    args: ['--no-sandbox', '--disable-blink-features=AutomationControlled'],
  })
  const context = await driver.newContext()
  const cookiesOf = async (tab) => {
    const session = await context.newCDPSession(tab)
    await session.send('Network.getAllCookies')
    await session.detach()
  }
  const follow = async (tab) => {
    const session = await context.newCDPSession(tab)
    const state = { changed: performance.now(), underWay: new Set() }
    const note = () => (state.changed = performance.now())
    for (const event of ['DOM.documentUpdated', 'DOM.childNodeInserted', 'DOM.childNodeRemoved']) session.on(event, note)
    session.on('Network.requestWillBeSent', ({ requestId }) => state.underWay.add(requestId))
    for (const event of ['Network.loadingFinished', 'Network.loadingFailed'])
      session.on(event, ({ requestId }) => state.underWay.delete(requestId))
    tab.on('framenavigated', () => {
      state.underWay.clear()
      note()
    })
    await session.send('Network.enable')
    await session.send('DOM.enable')
    return { session, isStable: () => performance.now() - state.changed >= 500 && state.underWay.size === 0 }
  }
  const fields = async (tab) => {
    const session = await context.newCDPSession(tab)
    await session.send('DOM.enable')
    const { nodes } = await session.send('Accessibility.getFullAXTree')
    const boxes = await tab.evaluate(() =>
      [...document.querySelectorAll('[data-semantic-id]')].map((one) => one.getBoundingClientRect().toJSON()),
    )
    await session.detach()
    return [nodes.length, boxes.length]
  }
  const kind = (tab) =>
    tab.evaluate(() => ['input[type=password]', 'li', 'p, article, section'].map((one) => document.querySelectorAll(one).length))
  const regions = (tab) =>
    tab.evaluate(() =>
      ['header', 'nav', 'main', 'aside', 'footer', '[role=search]'].map((one) =>
        document.querySelector(one)?.getBoundingClientRect().toJSON(),
      ),
    )
  const content = (tab) =>
    tab.evaluate(() => {
      const blocks = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6, blockquote, p, li, td, th, figcaption, pre, dt, dd')]
      const sections = blocks.flatMap((one) => {
        const { display, visibility, fontSize } = getComputedStyle(one)
        const text = one.textContent.replace(/\s+/g, ' ').trim().slice(0, 500)
        const { x, y, width, height } = one.getBoundingClientRect()
        if (display === 'none' || visibility === 'hidden' || text === '' || width * height === 0) return []
        return [{ tag: one.tagName, text, weight: Number.parseFloat(fontSize) * Math.sqrt(width * height) - Math.hypot(x, y) }]
      })
      return {
        sections: sections.toSorted((a, b) => b.weight - a.weight).slice(0, 50),
        links: [...document.querySelectorAll('a[href]')].slice(0, 50).map((one) => ({ text: one.textContent, url: one.href })),
        pictures: [...document.querySelectorAll('img[src]')].slice(0, 20).map(({ alt, src }) => ({ alt, src })),
      }
    })
  const visit = async (n) => {
    const tab = await context.newPage()
    const { session, isStable } = await follow(tab)
    await tab.goto(url(n), { waitUntil: 'domcontentloaded' })
    await cookiesOf(tab)
    while (!isStable()) await new Promise((done) => setTimeout(done, 100))
    await Promise.all([fields(tab), kind(tab), regions(tab)])
    await tab.title()
    await content(tab)
    await session.detach()
    await tab.close()
  }
  return {
    async read(count, atOnce = 3) {
      let next = 0
      const work = async () => {
        while (next < count) await visit(next++)
      }
      await Promise.all(Array.from({ length: atOnce }, work))
    },
    close: () => driver.close(),
  }
}

/** Of this process and of every process below it that carries the mark, or is below one that does. In bytes; Linux only. */
export function pssOf(mark) {
  const pids = readdirSync('/proc').filter((one) => /^\d+$/.test(one))
  const above = new Map(pids.map((pid) => [pid, parentOf(pid)]))
  const marked = new Set(pids.filter((pid) => textIn(`/proc/${pid}/cmdline`).includes(mark)))
  const isOf = (pid) => {
    for (let at = pid; at !== undefined && at !== '1' && at !== '0'; at = above.get(at)) if (marked.has(at)) return true
    return false
  }
  const ours = [String(process.pid), ...pids.filter(isOf)]
  const kilobytes = ours.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(textIn(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0))
  return kilobytes.reduce((sum, one) => sum + one, 0) * 1_024
}

function parentOf(pid) {
  const stat = textIn(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
}

function textIn(file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

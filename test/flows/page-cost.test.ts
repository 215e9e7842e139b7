import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
/** What the browser was told, by the names of its methods. */
let told: string[] = []

/** Hears what is written to the browser that a world starts. */
function listen(message: unknown): void {
  const { process: started } = message as { process: { spawnargs?: string[]; stdio: unknown[] } }
  // It is told of before it has its arguments.
  queueMicrotask(() => {
    if (!started.spawnargs?.some((one) => one.includes('/handrail-chromium-'))) return
    const pipe = started.stdio[3] as Writable | undefined
    if (!pipe) return
    const write = pipe.write.bind(pipe) as (chunk: unknown, ...more: unknown[]) => boolean
    pipe.write = ((chunk: unknown, ...more: unknown[]) => {
      const method = /^\{"id":\d+,"method":"([A-Za-z.]+)"/.exec(String(chunk))?.[1]
      if (method !== undefined) told.push(method)
      return write(chunk, ...more)
    }) as typeof pipe.write
  })
}

beforeAll(async () => {
  subscribe('child_process', listen)
  site = await openSite({ '/plain': html('<h1>Plain</h1><p>words and <a href="/more">more</a></p>') })
  world = await openWorld()
})
afterAll(async () => {
  unsubscribe('child_process', listen)
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

describe.skipIf(noBrowser !== undefined)('what a page costs', () => {
  const visit = async (path: string): Promise<string[]> => {
    told = []
    const { content } = await world.call<{ content: string }>('visit_page', { url: `${site.url}${path}` })
    expect(content).toContain('words and')
    return told
  }

  test('a new page has one session of ours beside the driver’s own', async () => {
    expect((await visit('/plain')).filter((method) => method === 'Target.attachToTarget')).toHaveLength(1)
  })

  test('a kept page is sent on, judged, waited for and read whole in ten messages', async () => {
    expect((await visit('/plain')).toSorted()).toEqual([
      'DOM.disable',
      'DOM.enable',
      'DOM.performSearch',
      'Fetch.continueRequest',
      'Page.createIsolatedWorld',
      'Page.createIsolatedWorld',
      'Page.getFrameTree',
      'Page.navigate',
      'Runtime.evaluate',
      'Runtime.evaluate',
    ])
  })
})

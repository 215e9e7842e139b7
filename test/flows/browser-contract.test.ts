import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ArtifactChunk, RunView } from '../../src/contracts/run.ts'
import { footprint, noBrowser, ownersOn } from '../support/chromium.ts'
import { openEverywhere, type Everywhere } from '../support/everywhere.ts'
import { proves } from '../support/proof.ts'
import { isSoak } from '../support/soak.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openMcp, openServe, type McpConnection, type Way } from '../support/serve.ts'

/** Seed 002 §8, line by line, with its own templates and a real browser, over real stdio and real SSE. */
const two = ['stdio 2025', 'sse'] as const satisfies readonly Way[]
/** What a run does is the same whoever asks; that each way tells it the same is what `runs` proves of all of them, with other templates. */
const ways: readonly (typeof two)[number][] = isSoak ? two : ['sse']

let site: Site
let everywhere: Everywhere
let stop: () => void
beforeAll(async () => {
  site = await openSite({ '/slow': () => undefined, '/login': html('<form><input name="n"></form>', 'Login') })
  for (let n = 0; n < 12; n++)
    site.pages.set(`/${n}`, html(`<h1>Page ${n}</h1><p>${'一二三四五六七八九十'.repeat(30)}</p>`, `Page ${n}`))
  everywhere = await openEverywhere({ config: { limits: { maxConcurrentRuns: 1, artifactTtlMs: 4_000 } } }, ways, { real: true })
  const { approvals, audit } = everywhere.world.runtime
  stop = audit.subscribe({ events: (event) => event === 'approval.requested' }, (lines) => {
    for (const { approval } of lines) if (approval !== undefined) approvals.decide(approval, { approve: true, by: 'the person' })
  })
})
afterAll(async () => {
  stop()
  await everywhere[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

type Answer = RunView & { deduplicated: boolean; errorCode?: string }
const run = async (
  peer: McpConnection,
  templateId: string,
  inputs: object,
  options: object = { mode: 'sync' },
): Promise<Answer> => (await peer.call('run_task_template', { templateId, inputs, options })) as never
const pages = (...which: (number | string)[]): { urls: string[] } => ({ urls: which.map((one) => `${site.url}/${one}`) })
const get = async (peer: McpConnection, runId: string): Promise<RunView> => (await peer.call('get_task_run', { runId })) as never
const terminal = ['succeeded', 'failed', 'partial_success', 'canceled']
async function ended(peer: McpConnection, runId: string): Promise<RunView> {
  await expect.poll(async () => terminal.includes((await get(peer, runId)).status)).toBe(true)
  return get(peer, runId)
}

describe.skipIf(noBrowser !== undefined)('seed 002 with a browser', () => {
  for (const way of ways)
    test(`${way}: the nine lines of §8`, async () => {
      const peer = everywhere.on(way)
      const batch = (inputs: object, options?: object): Promise<Answer> => run(peer, 'batch_extract_pages', inputs, options)
      // 1, 2: three modes; what stands in a run before and after its end.
      const sync = await batch(pages(1, 2))
      expect(sync).toMatchObject({ mode: 'sync', status: 'succeeded', error: null, result: { summary: { succeeded: 2 } } })
      const auto = await batch(pages(...Array.from({ length: 11 }, (_, n) => n)), { mode: 'auto' })
      expect(auto).toMatchObject({ mode: 'async', status: 'queued' })
      expect(await batch(pages(3), { mode: 'auto' })).toMatchObject({ mode: 'sync', status: 'succeeded' })
      const hanging = await batch(pages('slow'), { mode: 'async' })
      await expect.poll(async () => (await get(peer, hanging.runId)).status).toBe('running')
      const before = await get(peer, hanging.runId)
      expect(before).toMatchObject({
        result: null,
        error: null,
        ownsSession: true,
        sessionId: expect.stringMatching(/^sess_/) as string,
      })
      // 8: beyond the limit it is queued, and carried out when its turn comes.
      const behind = await batch(pages(4), { mode: 'async' })
      expect((await get(peer, behind.runId)).status).toBe('queued')
      // 4: cancel, once.
      expect(await peer.call('cancel_task_run', { runId: hanging.runId })).toMatchObject({ success: true })
      expect(await get(peer, hanging.runId)).toMatchObject({
        status: 'canceled',
        result: null,
        error: { errorCode: 'RUN_CANCELED' },
      })
      expect(await peer.call('cancel_task_run', { runId: hanging.runId })).toMatchObject({
        success: false,
        reason: expect.any(String) as string,
      })
      expect(await ended(peer, behind.runId)).toMatchObject({ status: 'succeeded' })
      expect(await ended(peer, auto.runId)).toMatchObject({ status: 'succeeded', result: { summary: { total: 11 } } })
      // 3: newest first, total of all that fit.
      const list = (await peer.call('list_task_runs', {
        templateId: 'batch_extract_pages',
        status: 'succeeded',
        limit: 2,
      })) as unknown as { runs: RunView[]; total: number }
      expect(list.runs).toHaveLength(2)
      expect(list.total).toBeGreaterThanOrEqual(4)
      expect(list.runs[0]?.createdAt).toBeGreaterThanOrEqual(list.runs[1]?.createdAt ?? 0)
      // 5: one key, one run.
      const key = { mode: 'sync', idempotencyKey: `key ${way}` }
      const once = await batch(pages(5), key)
      expect(await batch(pages(6), key)).toMatchObject({ runId: once.runId, deduplicated: true })
      // 6: chunks that break no character.
      const [artifactId] = once.artifactIds
      let text = ''
      for (let offset = 0, complete = false; !complete;) {
        const chunk = (await peer.call('get_artifact', { artifactId, offset, limit: 100 })) as unknown as ArtifactChunk
        expect(Buffer.byteLength(chunk.data)).toBe(chunk.length)
        text += chunk.data
        offset += chunk.length
        ;({ complete } = chunk)
      }
      expect(JSON.parse(text)).toMatchObject({ items: [{ title: 'Page 5' }] })
      // 7: the profile.
      expect(await peer.call('get_runtime_profile', {})).toMatchObject({
        maxConcurrentRuns: 1,
        maxUrls: 1_000,
        maxTabsPerSession: 20,
        trustLevel: 'local',
        isRemote: false,
      })
    })

  test('a listener that other machines may reach has remote callers, whatever address they come from', async () => {
    await using served = await openServe(everywhere.world.project, { args: ['--allow-remote'] })
    await using peer = await openMcp('sse', everywhere.world.project, served)
    expect(await peer.call('get_runtime_profile', {})).toMatchObject({ trustLevel: 'remote', isRemote: true })
    expect(await run(peer, 'login_keep_session', {})).toMatchObject({ errorCode: 'TRUST_LEVEL_NOT_ALLOWED' })
    expect(await run(peer, 'batch_extract_pages', pages(1))).toMatchObject({
      status: 'failed',
      error: {
        details: { failures: [{ errorCode: 'EXECUTION_ERROR', message: expect.stringContaining('not allowed') as string }] },
      },
    })
  })

  // What raises them is the same whoever asks; that each way tells them is what `runs.errors` proves of both.
  for (const way of ways)
    proves('runs.errors.pages', `${way}: each of pages, with a way on`, async () => {
      const peer = everywhere.on(way)
      const failed = async (code: string, answer: Promise<Answer>): Promise<void> => {
        const { runId } = await answer
        expect(await ended(peer, runId)).toMatchObject({
          status: 'failed',
          error: { errorCode: code, recoverHint: expect.any(String) as string, message: expect.any(String) as string },
        })
      }
      const search = (more: object): Promise<Answer> =>
        run(peer, 'search_extract', {
          startUrl: `${site.url}/login`,
          query: 'x',
          searchField: { mode: 'selector', selector: '[name=n]' },
          ...more,
        })
      await failed('ELEMENT_NOT_FOUND', search({ searchField: { mode: 'semantic', query: 'no such field' } }))
      await failed('NAVIGATION_TIMEOUT', search({ waitForResults: { type: 'selector', value: '#never', timeoutMs: 50 } }))
      await failed('EXECUTION_ERROR', search({ startUrl: `${site.url}/none` }))
      await failed('STEP_EXECUTION_FAILED', run(peer, 'batch_extract_pages', pages('none')))
      await failed('RUN_TIMEOUT', run(peer, 'batch_extract_pages', pages('slow'), { mode: 'sync', timeoutMs: 300 }))
      const credentials = { username: 'ann', password: 'word' }
      const fields = { mode: 'selector', usernameSelector: '[name=n]', passwordSelector: '#none' }
      await failed(
        'TPL_LOGIN_FIELD_NOT_FOUND',
        run(peer, 'login_keep_session', { startUrl: `${site.url}/login`, credentials, fields }, { mode: 'async' }),
      )
      // Whoever carries it out loses its browser twice.
      site.pages.set('/kill', (_, response) => {
        for (const owner of [process.pid, ...ownersOn(everywhere.world.project)])
          for (const pid of footprint(owner).processes) process.kill(pid, 'SIGKILL')
        response.destroy()
      })
      await failed('PAGE_CRASHED', search({ startUrl: `${site.url}/kill` }))
      expect(await run(peer, 'batch_extract_pages', pages(1))).toMatchObject({ status: 'succeeded' })
      const none = { templateId: 'batch_extract_pages', inputs: pages(1), sessionId: 'sess_none' }
      expect(await peer.call('run_task_template', none)).toMatchObject({ errorCode: 'SESSION_NOT_FOUND' })
      expect(await run(peer, 'batch_extract_pages', { urls: [] })).toMatchObject({ errorCode: 'INVALID_PARAMETER' })
    })
})

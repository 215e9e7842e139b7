import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, whatIsLeft } from '../support/chromium.ts'
import { runInside } from '../support/inside.ts'
import { ended } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { sweep } from '../support/soak.ts'
import { cleanEnv, openWorld, program } from '../support/world.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site[Symbol.asyncDispose]())

describe.skipIf(noBrowser !== undefined)('handrail run batch_extract_pages', () => {
  test('kill -9 in the middle of many pages: the run goes on where it was, pages that are done are not visited again, and no browser is left', async () => {
    await using world = await openWorld()
    const count = sweep(100, 16)
    const urls = Array.from({ length: count }, (_, n) => `${site.url}/page${n}`)
    writeFileSync(join(world.base, 'urls.txt'), `# pages\n${urls.join('\n')}\n\n`)
    let seen = 0
    const child = spawn(
      process.execPath,
      [program, 'run', 'batch_extract_pages', '--urls', join(world.base, 'urls.txt'), '--project', world.project],
      { env: cleanEnv(world.base), stdio: 'ignore' },
    )
    const over = new Promise((done) => child.once('exit', done))
    site.pages.set('*', (_, response) => {
      if (++seen === sweep(40, 8)) child.kill('SIGKILL')
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('<p>words</p>'))
    })
    await over
    const pid = child.pid as number
    expect(await whatIsLeft(pid)).toEqual({ homes: [], processes: [] })
    const runsApi = await world.runtime.runs()
    const [left] = (await runsApi.list({})).runs
    expect(left).toMatchObject({ status: 'running', templateId: 'batch_extract_pages' })
    const done = left?.progress.doneSteps as number
    expect(done).toBeGreaterThan(sweep(30, 1))
    const run = await ended(world, left?.runId as string)
    expect(run).toMatchObject({ status: 'succeeded', progress: { doneSteps: count + 1, totalSteps: count + 1 } })
    // Those that were being read when it died, three at most, are read again; none of those that were done.
    const visits = [...site.visits.values()]
    expect(visits).toHaveLength(count)
    expect(visits.filter((n) => n > 1).length).toBeLessThanOrEqual(3)
    expect(visits.every((n) => n <= 2)).toBe(true)
  })

  test('prints a table, and with --json everything', async () => {
    await using world = await openWorld()
    site.pages.clear()
    site.pages.set('/ok', html('<p>words</p>', 'A good \u001b[31mpage'))
    writeFileSync(join(world.base, 'urls.txt'), `${site.url}/ok\n${site.url}/none\n`)
    const words = ['run', 'batch_extract_pages', '--urls', join(world.base, 'urls.txt')]
    const told = await runInside(world.project, words)
    expect(told.code).toBe(0)
    expect(told.out).toMatch(/read +200 +\d+ +http:\S+\/ok/)
    expect(told.out).toMatch(/failed +404 .*\/none +EXECUTION_ERROR/)
    expect(told.out).not.toContain('\u001b[31m')
    expect(told.err).toContain('partial_success')
    expect((await runInside(world.project, ['run', 'batch_extract_pages', '--urls', join(world.base, 'no.txt')])).code).not.toBe(
      0,
    )
    const { out } = await runInside(world.project, ['grants', 'allow', 'host', 'Example.org.', '--always', '--json'])
    expect(JSON.parse(out)).toMatchObject({ kind: 'host', subject: 'example.org', scope: 'always' })
    expect((await runInside(world.project, ['grants', 'allow', 'host', 'https://example.org'])).code).not.toBe(0)
  })
})

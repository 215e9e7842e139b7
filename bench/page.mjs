// How long the page with a card takes to open in a real browser, for a small card and for one of 10,000 changed files.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { once } from 'node:events'
import { openRaw, run, start } from './clients.mjs'
import { interleave } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 9
const files = 10_000
const target = 200

export async function page(bench) {
  const project = join(bench.temp, 'page')
  mkdirSync(join(project, 'many'), { recursive: true })
  for (let at = 0; at < files; at++) writeFileSync(join(project, 'many', `f${at}.txt`), `one ${at}\ntwo\n`)
  const server = ours(bench, project)
  const settings = ['--enable-shell', 'true', '--ask-from', 'R1', '--approval-wait-ms', '0']
  const client = await openRaw({ ...server, args: [...server.args, ...settings] })
  const asked = async (command) =>
    /appr_[0-9a-f]{32}/.exec(String(await client.call('shell', { command, timeout_seconds: 120 })))?.[0]
  const large = await asked(`sed -i s/two/zwei/ many/*`)
  const small = await asked('echo three >> many/f1.txt')
  await client.close()
  const serving = start(process.execPath, [bench.program, 'serve', '--project', project, '--port', '0', '--json'], {
    env: cleanEnv(bench.temp),
  })
  await once(serving.stdout, 'data')
  const link = await run(
    {
      command: process.execPath,
      args: [bench.program, 'approvals', 'page', '--by-address', '--project', project],
      env: cleanEnv(bench.temp),
    },
    true,
  )
  const { chromium } = createRequire(import.meta.url)('playwright-core')
  const browser = await chromium.launch({
    executablePath: ['chromium-headless-shell', 'chromium'].map((name) => `/usr/bin/${name}`).find((file) => existsSync(file)),
    args: ['--no-sandbox'],
  })
  const tab = await (await browser.newContext({ viewport: { width: 1200, height: 900 } })).newPage()
  await tab.goto(/http:\S+/.exec(link.text)?.[0] ?? '')
  await tab.locator('button.yes').click()
  await tab.waitForURL(/\/approvals$/)
  const opened = (id) => async () => {
    const since = performance.now()
    await tab.goto(`${tab.url().replace(/\/approvals.*/, '/approvals')}/${id}`)
    return performance.now() - since
  }
  const act = { ours: opened(large), other: opened(small) }
  await interleave(1, act)
  const found = await interleave(rounds, act)
  await browser.close()
  serving.kill('SIGTERM')
  await once(serving, 'exit')
  const fits = found.ours.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] < target
  const note = `the target is ${target} ms, ${fits ? 'met' : 'not met'}; beside it a card of one file`
  return [row({ part: 'page', what: `a card of ${files} changed files opens`, unit: 'ms', ...found, against: 'one file', note })]
}

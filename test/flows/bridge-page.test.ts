// @stage
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { findChromium } from '../../src/host/browser/find.ts'
import { openBridgeWorld, token } from '../support/bridge.ts'
import { noBrowser } from '../support/chromium.ts'
import { repository } from '../support/world.ts'

// The example page in a real browser: a page of another origin, with the client as it is published.

const page = {
  '/': ['text/html', 'examples/bridge/index.html'],
  '/client-browser.mjs': ['text/javascript', 'dist/client-browser.mjs'],
} as Record<string, [string, string]>

test.skipIf(noBrowser)(
  'the example page connects, shows the workspace, runs checks live and cancels; a page of another origin gets nowhere',
  async () => {
    const site = createServer(({ url = '' }, response) => {
      const [type, file] = page[url] ?? ['text/plain', 'LICENSE']
      response.writeHead(200, { 'Content-Type': type }).end(readFileSync(join(repository, file)))
    }).listen(0, '127.0.0.1')
    await once(site, 'listening')
    const { port } = site.address() as AddressInfo
    const found = findChromium(process.env)
    const browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
    try {
      const scripts = { lint: 'node lint.mjs', test: 'node slow.mjs' }
      await using at = await openBridgeWorld({
        real: true,
        config: { mode: 'developer' },
        allowOrigins: [`http://localhost:${port}`],
        files: {
          'package.json': JSON.stringify({ name: 'sample', packageManager: 'npm@11.0.0', scripts }),
          'lint.mjs': `console.log('src/a.ts:3:5: error: something is wrong'); process.exitCode = 1`,
          'slow.mjs': 'setInterval(() => {}, 1000)',
          'src/a.ts': '\n\nlet wrong\n',
        },
      })
      const tab = await browser.newPage()
      await tab.goto(`http://localhost:${port}/`)
      const enter = async (): Promise<void> => {
        await tab.fill('#url', at.url)
        await tab.fill('#token', token)
        await tab.click('#connect button')
      }
      await enter()
      await tab.getByText(at.world.project).first().waitFor()
      expect(await tab.textContent('#workspace')).toContain('npm')
      expect(await tab.textContent('#state')).toBe('open')
      await tab.uncheck('[value=typecheck]')
      await tab.click('#run')
      await tab.getByText('src/a.ts:3:5').waitFor()
      await tab.getByText('test: running').waitFor()
      const picture = process.env['HANDRAIL_PICTURE']
      if (picture) await tab.screenshot({ path: picture })
      await tab.click('#cancel')
      await tab.getByText('Cancelled after 1 of 2.').waitFor()
      expect(await tab.textContent('#results')).toContain('lint: exit code 1')
      if (picture) await tab.screenshot({ path: picture.replace('.png', '-cancelled.png') })
      // The same page by another name is another origin.
      await tab.goto(`http://127.0.0.1:${port}/`)
      await enter()
      await tab.getByText('cannot be reached').waitFor()
      expect(await tab.textContent('#workspace')).toBe('')
    } finally {
      await browser.close()
      site.close()
    }
  },
)

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Browser } from '../browser/browser.ts'
import { openFiles } from '../files.ts'
import { pathRules } from '../paths.ts'
import { closeRoot, openRoot } from '../walk.ts'
import { openPreview } from './preview.ts'

test('a server that could not be started is started anew the next time', async () => {
  const project = mkdtempSync(join(tmpdir(), 'handrail-test-'))
  mkdirSync(join(project, 'game/scene'), { recursive: true })
  writeFileSync(join(project, 'game/scene/start.txt'), 'end;\n')
  const root = openRoot(project)
  const preview = openPreview({
    browser: { missing: () => 'none here' } as Browser,
    environment: {},
    now: () => ({
      files: openFiles(root, pathRules([]), 1 << 20),
      preview: { engine: '', terre: 'never', terrePort: 3001 },
      timeoutMs: 1_000,
    }),
  })
  // As where no file descriptor is left for a moment.
  const listen = vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server) {
    process.nextTick(() => this.emit('error', Object.assign(new Error('too many open files'), { code: 'EMFILE' })))
    return this
  })
  try {
    const wanted = { game: 'game', scene: 'start.txt', line: 1 }
    await expect(preview.show(wanted)).rejects.toThrow()
    expect((await preview.show(wanted)).url).toMatch(/^http:\/\/localhost:\d+\/preview/)
  } finally {
    listen.mockRestore()
    await preview.close()
    closeRoot(root)
    rmSync(project, { recursive: true, force: true })
  }
})

import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'

/** In a process of its own: whoever reads such a file without a look at it never comes back. */
function call(world: World, tool: string, input: object): { code: number | null; said: string } {
  const words = ['call', tool, JSON.stringify(input), '--write-requires-diff', 'false', '--project', world.project]
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    // Nobody looks at the page: what is read for it is read before that.
    env: cleanEnv(world.base, { HANDRAIL_CHROMIUM: '/nowhere' }),
    encoding: 'utf8',
    timeout: 40_000,
    killSignal: 'SIGKILL',
  })
  return { code: status, said: stdout + stderr }
}

const put = (world: World, path: string, target: string): void => {
  mkdirSync(dirname(world.path(path)), { recursive: true })
  symlinkSync(target, world.path(path))
}

test.each(['/dev/zero', '/dev/ptmx'])('a package that is a link to %s: no engine, and an answer', async (device) => {
  await using world = await openWorld({ files: { 'game/config.txt': 'Game_name:x;\n', 'game/scene/start.txt': ':hello;\n' } })
  put(world, 'node_modules/webgal-engine/package.json', device)
  const { code, said } = call(world, 'preview_scene', {})
  expect(code, said).toBe(0)
  // Handrail's own package is used in its place.
  expect(said).toContain('the package webgal-engine')
})

test.each(['/dev/zero', '/dev/ptmx'])('settings of git that are a link to %s: a write is made all the same', async (device) => {
  await using world = await openWorld()
  put(world, '.git/config', device)
  const { code, said } = call(world, 'write_to_file', { path: 'a.txt', content: 'x\n', dryRun: false })
  expect(code, said).toBe(0)
})

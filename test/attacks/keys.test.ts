import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { keysFile, openModelKeys } from '../../src/stores/model-keys.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, stateOf } from '../support/world.ts'

const env = { HANDRAIL_KEYRING: 'off' }
const key = 'sk-key-of-the-person-0123456789'

test('a key that was typed on the command line is not said once more, and the person is told to make a new one', async () => {
  await using world = await openWorld()
  const { code, out, err } = await runInside(world.project, ['keys', 'set', 'openai', key], { env })
  expect(code).toBe(2)
  expect(err).toContain('A key does not belong on the command line')
  expect(err).toContain('make a new one')
  expect(out + err).not.toContain(key)
})

test('an address that is given with the key is the one the key is for, whichever provider the settings name', async () => {
  await using world = await openWorld()
  const set = (...words: string[]) => runInside(world.project, ['keys', 'set', ...words], { env, input: `${key}\n` })
  expect((await set('openai', '--base-url', 'https://proxy.example/v1')).out).toContain('for https://proxy.example only')
  expect((await set('google')).out).toContain('for https://generativelanguage.googleapis.com only')
  // It would be refused at its first use: that is said before it is kept.
  expect((await set('anthropic', '--base-url', 'http://proxy.example/v1')).err).toContain('in the clear')
  const { out } = await runInside(world.project, ['keys', 'list', '--json'], { env })
  expect(out.match(/"origin":"[^"]+"/g)).toEqual(['"origin":"https://proxy.example"', expect.stringContaining('googleapis')])
})

test('whoever pipes without end is not listened to: no key, no input of a tool is so long', async () => {
  await using world = await openWorld()
  const long = await runInside(world.project, ['keys', 'set', 'openai'], { env, input: 'k'.repeat(100_000) })
  expect([long.code, long.err]).toEqual([1, expect.stringContaining('E_TOO_LARGE')])
  const call = await runInside(world.project, ['call', 'read_file', '-'], { env, input: ' '.repeat((32 << 20) + 1) })
  expect([call.code, call.err]).toEqual([1, expect.stringContaining('E_TOO_LARGE')])
})

test('a change of the keys that was killed half-way leaves no key behind, and stands in nobody’s way', async () => {
  await using world = await openWorld()
  const path = join(dirname(dirname(stateOf(world.project))), 'half-way')
  mkdirSync(path)
  const base = openStateFolder(path)
  try {
    // What a process left that had this very number: in a container they begin anew with each start.
    for (const number of [String(process.pid), '0123456789abcdef']) writeFileSync(join(path, `${keysFile}.${number}.tmp`), key)
    const keys = openModelKeys(base, async () => undefined)
    await keys.set('openai', 'https://one.example', 'sk-one')
    expect(readdirSync(path).filter((name) => name.endsWith('.tmp'))).toEqual([])
    expect(statSync(join(path, keysFile)).mode & 0o777).toBe(0o600)
    writeFileSync(join(path, `${keysFile}.77.tmp`), key)
    writeFileSync(join(path, `${keysFile}.other.tmp`), 'not ours')
    await keys.clear()
    expect(readdirSync(path).filter((name) => name.includes('tmp'))).toEqual([`${keysFile}.other.tmp`])
  } finally {
    base.close()
  }
})

test('a number that is none, or that no timer can wait for, is refused: it would mean “at once”', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const read = (wait: string) => runInside(world.project, ['call', 'read_file', '{"path":"a.txt"}', '--wait', wait], { env })
  for (const wait of ['soon', '', '1.5', '9999999999'])
    expect((await read(wait)).err, wait).toContain('--wait must be a whole number from 0')
  expect((await read('1000')).code).toBe(0)
  const start = (...words: string[]) => runInside(world.project, ['devserver', 'start', ...words], { env })
  for (const words of [
    ['--shutdownAfterMs', '99999999999'],
    ['--idleShutdownMs', '99999999999'],
    ['--maxMessageBytes', '0'],
  ]) {
    const { code, out } = await start(...words)
    expect([code, out], words.join(' ')).toEqual([2, expect.stringContaining('must be a whole number')])
  }
})

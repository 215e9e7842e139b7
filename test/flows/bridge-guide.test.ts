import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBridgeWorld, openRawClient, token } from '../support/bridge.ts'
import { repository } from '../support/world.ts'

/** `…` fits anything that is there. */
function fits(told: unknown, wanted: unknown): unknown {
  if (wanted === '…') return told === undefined ? told : '…'
  if (Array.isArray(wanted) && Array.isArray(told)) return told.map((one, at) => fits(one, wanted[at]))
  if (typeof wanted !== 'object' || wanted === null || typeof told !== 'object' || told === null) return told
  return Object.fromEntries(
    Object.entries(told).map(([name, one]) => [name, fits(one, (wanted as Record<string, unknown>)[name])]),
  )
}

test('the conversation in docs/guide/bridge.md is what a server says', async () => {
  const page = readFileSync(join(repository, 'docs/guide/bridge.md'), 'utf8')
  const said = [...page.matchAll(/^(→|←) (\{.*\})$/gm)].map(([, who, text = '']) => ({
    asks: who === '→',
    text: text.replace('TOKEN', token),
  }))
  expect(said.filter(({ asks }) => asks).length).toBeGreaterThan(5)
  await using at = await openBridgeWorld({
    files: { 'package.json': '{"name":"sample"}', 'package-lock.json': '{}' },
    real: true,
  })
  const raw = await openRawClient(at.url, { own: null })
  let heard = 0
  for (const { asks, text } of said) {
    if (asks) {
      const { requestId } = JSON.parse(text) as { requestId: string }
      raw.say(text)
      await raw.response(requestId)
      continue
    }
    const wanted: unknown = JSON.parse(text)
    expect(fits(raw.heard[heard++], wanted)).toEqual(wanted)
  }
  expect(raw.heard).toHaveLength(heard)
})

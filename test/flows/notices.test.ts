import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repository } from '../support/world.ts'

test('the package passes on the licences of what is bundled into it', () => {
  const text = readFileSync(join(repository, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const { files } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { files: string[] }
  expect(files).toContain('dist')
  for (const name of [
    '@agentclientprotocol/sdk',
    '@ai-sdk/anthropic',
    '@ai-sdk/google',
    '@ai-sdk/openai-compatible',
    '@modelcontextprotocol/server',
  ]) {
    const section = text.split(/^-{80}$/m).find((one) => one.includes(`\n${name} `))
    expect([name, /Apache License,?\s+Version 2\.0/.test(section ?? '')]).toEqual([name, true])
  }
  expect(text).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')
  for (const name of ['ajv', 'ws', 'yaml']) expect(text).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

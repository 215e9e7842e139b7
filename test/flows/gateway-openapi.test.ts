import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { generate } from 'openapi-typescript-codegen'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, turn, type Gateway } from '../support/gateway.ts'
import { repository } from '../support/world.ts'

let gateway: Gateway
interface Document {
  openapi: string
  paths: Record<
    string,
    Record<
      string,
      { operationId: string; security: object[]; responses: Record<string, { content?: Record<string, { schema: object }> }> }
    >
  >
}
let document: Document

beforeAll(async () => {
  gateway = await openGateway({ files: { 'a.txt': 'one\n', 'package.json': '{}\n' } })
  document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document
})
afterAll(() => gateway[Symbol.asyncDispose]())

const methods = ['get', 'post', 'put', 'delete'] as const

test('routes and document are equal: what the document has is answered, and no other method is, on any of its paths', async () => {
  expect(document.openapi).toBe('3.1.0')
  for (const [path, operations] of Object.entries(document.paths))
    for (const method of methods) {
      const described = operations[method]
      const key = described?.security.some((one) => 'personKey' in one) ?? /^\/api\/(approvals|questions)/.test(path)
      const headers = { Authorization: `Bearer ${key ? gateway.key() : gateway.token}` }
      const going = new AbortController()
      const response = await gateway.send(path.replace('{id}', 'none'), {
        method: method.toUpperCase(),
        headers,
        signal: going.signal,
        ...(method !== 'get' && { body: {} }),
      })
      const told = response.headers.get('content-type')?.startsWith('application/json') ? await response.text() : ''
      going.abort()
      if (described) {
        expect([method, path, Object.keys(described.responses).includes(String(response.status))]).toEqual([method, path, true])
        expect([method, path, told]).not.toEqual([method, path, expect.stringContaining('Nothing here')])
      } else expect([method, path, response.status]).toEqual([method, path, 405])
    }
})

test('routes that only look like those of the document are not there', async () => {
  for (const path of [
    '/agent',
    '/agent/process/',
    '/agent/process/x',
    '/api',
    '/api/agent',
    '/api/approvals/a/b',
    '/chats/a/b',
    '/v1',
    '/v1/responses/x',
    '/events/x',
  ]) {
    const { status } = await gateway.send(path, { body: turn({ name: 'read_file', input: { path: 'a.txt' } }) })
    expect([path, [401, 404, 405].includes(status)]).toEqual([path, true])
  }
})

test('every schema in it can be compiled, and each operation has a name of its own', () => {
  const ajv = new Ajv2020({ strict: false })
  const ids = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
  for (const operations of Object.values(document.paths))
    for (const { responses } of Object.values(operations))
      for (const { content = {} } of Object.values(responses))
        for (const { schema } of Object.values(content)) ajv.compile(schema)
})

test('answers fit the document', async () => {
  const ajv = new Ajv2020({ strict: false })
  const fits = (path: string, method: string, status: number, body: unknown): void => {
    const schema = document.paths[path]?.[method]?.responses[status]?.content?.['application/json']?.schema ?? {}
    const valid = ajv.validate(schema, body)
    expect([path, method, status, valid, ajv.errorsText()]).toEqual([path, method, status, true, 'No errors'])
  }
  for (const [name, input] of [
    ['read_file', { path: 'a.txt' }],
    ['read_file', { path: 'none' }],
    ['update_file', { path: 'package.json', content: '{ }' }],
  ] as const) {
    const { status, body } = await gateway.tool(name, input)
    fits('/agent/process', 'post', status, body)
  }
  const chats = (await (await gateway.send('/chats')).json()) as { id: string }[]
  fits('/chats', 'get', 200, chats)
  fits('/chats/{id}', 'get', 200, await (await gateway.send(`/chats/${chats[0]?.id}`)).json())
  const headers = { Authorization: `Bearer ${gateway.key()}` }
  fits('/api/approvals', 'get', 200, await (await gateway.send('/api/approvals', { headers })).json())
})

test('the page shows every operation, and runs nothing', async () => {
  const response = await fetch(`${gateway.url}/reference`)
  const page = await response.text()
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  for (const [path, operations] of Object.entries(document.paths))
    for (const method of Object.keys(operations)) expect(page).toContain(`${method.toUpperCase()} ${path}`)
  expect(page).not.toMatch(/<script/i)
})

test('a client that a public generator makes of it talks to the server', async () => {
  const folder = mkdtempSync(join(repository, '.cache', 'client-'))
  try {
    await generate({ input: document, output: join(folder, 'client'), httpClient: 'fetch', useOptions: true })
    writeFileSync(join(folder, 'entry.ts'), "export * from './client/index.ts'\n")
    const bundle = await rolldown({ input: join(folder, 'entry.ts'), platform: 'node', logLevel: 'silent' })
    await bundle.write({ file: join(folder, 'client.mjs'), format: 'esm' })
    const { OpenAPI, AgentService, ChatsService, ApprovalsService, ApiError } = (await import(
      pathToFileURL(join(folder, 'client.mjs')).href
    )) as Record<string, never> as unknown as Client
    OpenAPI.BASE = gateway.url
    OpenAPI.TOKEN = gateway.token
    const requestBody = turn({ name: 'read_file', input: { path: 'a.txt' } })
    expect(await AgentService.processTurn({ requestBody })).toMatchObject({ reply: 'one\n', tool_result: { ok: true } })
    const missing = AgentService.processTurn({ requestBody: turn({ name: 'read_file', input: { path: 'none.txt' } }) })
    await expect(missing).rejects.toBeInstanceOf(ApiError)
    await expect(missing).rejects.toMatchObject({ status: 404, body: { error: { code: 'tool_not_found' } } })
    const [chat] = await ChatsService.listChats({ userId: 'u1' })
    expect(await ChatsService.readChat({ id: chat?.id ?? '' })).toHaveProperty('messages')
    await expect(ApprovalsService.listApprovals({})).rejects.toMatchObject({ status: 401 })
    OpenAPI.TOKEN = gateway.key()
    expect(await ApprovalsService.listApprovals({})).toHaveProperty('approvals')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

interface Client {
  OpenAPI: { BASE: string; TOKEN: string }
  AgentService: { processTurn(given: { requestBody: unknown }): Promise<unknown> }
  ChatsService: {
    listChats(given: { userId: string }): Promise<{ id: string }[]>
    readChat(given: { id: string }): Promise<unknown>
  }
  ApprovalsService: { listApprovals(given: object): Promise<unknown> }
  ApiError: new (...given: never[]) => Error
}

import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { Operator } from '../../src/contracts/operator.ts'
import { signInKey } from '../../src/surfaces/person-auth.ts'
import { runInside } from './inside.ts'
import type { Served } from './serve.ts'

/** A person who is signed in, without a browser: at 127.0.0.1, as one whose browser does not find the page's own name. */
export interface Person {
  cookie: string
  /** Where their pages are, e.g. `/p/abc`. */
  basePath: string
  /** The cookie as it was set. */
  set: string
}

export interface Answer {
  status: number
  headers: Headers
  text: string
}

export interface Visit {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** One request: the path goes out as it is, nothing is followed, and nothing is sent along that is not given. */
export async function visitAt(port: number, path: string, { method = 'GET', headers = {}, body }: Visit = {}): Promise<Answer> {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const sending = request({ host: '127.0.0.1', port, path, method, headers: { ...length, ...headers }, agent: false })
  sending.end(body)
  const [response] = (await once(sending, 'response')) as [IncomingMessage]
  const found = new Headers()
  for (const [name, value] of Object.entries(response.headersDistinct)) for (const one of value ?? []) found.append(name, one)
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += String(piece)
  return { status: response.statusCode ?? 0, headers: found, text }
}

/** A key for one sign-in at this server, as `handrail approvals page` makes it. */
export function keyFor({ url }: Served, { servedPages, token }: Pick<Operator, 'servedPages' | 'token'>): string {
  const page = servedPages.list().find((one) => one.url === url)
  if (!page) throw new Error(`nobody has said that a page is served at ${url}`)
  return signInKey(token('person').token, page.instance)
}

/** What pressing the button on the page of a link answers. */
export function pressSignIn({ url, port }: Served, key: string): Promise<Answer> {
  const headers = { Origin: url, 'Content-Type': 'application/x-www-form-urlencoded' }
  return visitAt(port, '/sign-in', { method: 'POST', headers, body: new URLSearchParams({ key }).toString() })
}

/** The whole way in with a key; `direct` where the page has no name of its own to go to. */
export async function enter(served: Served, key: string, way: 'asked' | 'direct' = 'asked'): Promise<Person> {
  const pressed = await pressSignIn(served, key)
  const pass = /^\/sign-in\/way\?(pass=[\w-]+)$/.exec(pressed.headers.get('location') ?? '')?.[1]
  const { headers } = way === 'direct' ? pressed : await visitAt(served.port, `/sign-in/on?${pass}`)
  const set = headers.get('set-cookie') ?? ''
  const basePath = /^0; url=(\/p\/[a-z2-7]+)\/approvals$/.exec(headers.get('refresh') ?? '')?.[1]
  if (basePath === undefined) throw new Error(`not let in: ${pressed.status} ${pressed.text}`)
  return { cookie: set.split(';')[0] as string, basePath, set }
}

/** The same with a link that the command line prints. */
export async function signInByLink(served: Served, project: string, way: 'asked' | 'direct' = 'asked'): Promise<Person> {
  const { out } = await runInside(project, ['approvals', 'page', '--port', String(served.port)])
  return enter(served, new URL(out.trim()).searchParams.get('key') ?? '', way)
}

/** What a person sends who read the number on the page and typed it. */
export function typed(page: string): URLSearchParams {
  const form = new URLSearchParams()
  for (const [, name = '', value = ''] of page.matchAll(/<input\s+type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"/g))
    form.append(name, value)
  form.append('number', /class="number">(\d+)</.exec(page)?.[1] ?? '')
  form.append('decision', 'approve')
  return form
}

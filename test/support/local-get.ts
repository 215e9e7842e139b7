import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

export interface LocalAnswer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

/** Asks a server of this machine under whatever name its address has: browsers find names below `localhost` by themselves, Node may not. */
export async function askLocal(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<LocalAnswer> {
  const { host, port, pathname, search } = new URL(url)
  const sending = request({
    host: '127.0.0.1',
    port: Number(port),
    path: pathname + search,
    method,
    headers: { Host: host, ...headers },
    agent: false,
  })
  sending.end()
  const [response] = (await once(sending, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += String(piece)
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

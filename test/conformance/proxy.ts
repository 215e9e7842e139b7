import { Agent, createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Headers of one hop; Node writes its own for the next. */
const hop = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/**
 * The suite sends no token and our listener demands one. This stands between them, adds the token, and turns its own port into
 * the listener's where Host and Origin name it. All else goes through as it came, streams too: every guard stays up.
 */
export async function openProxy(target: URL, token: string): Promise<{ url: string; close(): Promise<void> }> {
  const agent = new Agent()
  let ours = ''
  const aimed = (name: string, value: string): string =>
    name === 'host' || name === 'origin' ? value.replace(new RegExp(`:${ours}$`), `:${target.port}`) : value
  const passing = (raw: string[], change = (_: string, value: string): string => value): string[] =>
    raw.flatMap((name, at) =>
      at % 2 === 1 || hop.has(name.toLowerCase()) ? [] : [name, change(name.toLowerCase(), raw[at + 1] as string)],
    )
  const proxy = createServer((incoming, outgoing) => {
    const onward = ask(
      {
        agent,
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: [...passing(incoming.rawHeaders, aimed), 'Authorization', `Bearer ${token}`],
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode as number, passing(answer.rawHeaders))
        outgoing.flushHeaders()
        answer.on('error', () => outgoing.destroy()).pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  ours = String((proxy.address() as AddressInfo).port)
  return {
    url: `http://127.0.0.1:${ours}`,
    close: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve())
        proxy.closeAllConnections()
        agent.destroy()
      }),
  }
}

import type { Socket } from 'node:net'

/** Where the relay waits for us, as a server's program sees it. */
export const relaySocketInside = '/door'
export const relaySocketName = 'in'

/** Two connections become one: what one says the other hears, an end is passed on, a fault ends both. It must not refer to anything outside itself. */
export function couple(one: Socket, other: Socket): void {
  const follow = (first: Socket, second: Socket): void => {
    first.pipe(second)
    first.on('error', () => second.destroy())
    first.on('close', () => {
      // Closed before both had said all they had to say.
      if (!first.readableEnded || !first.writableFinished) second.destroy()
    })
  }
  follow(one, other)
  follow(other, one)
}

/**
 * The whole program that stands beside a server: it joins whoever comes in by the socket to a port of the server, which the first
 * two bytes name. It opens no connection of its own accord. It must not refer to anything outside itself.
 */
function relay(path: string, join: typeof couple): void {
  const { connect, createServer } = process.getBuiltinModule('node:net')
  const reach = (outer: Socket, port: number, [host, ...others]: string[]): void => {
    const inner = connect({ port, host: host as string, allowHalfOpen: true, noDelay: true })
    const refused = (): void => void (others.length ? reach(outer, port, others) : outer.destroy())
    inner.once('error', refused)
    inner.once('connect', () => {
      inner.off('error', refused)
      join(outer, inner)
      if (outer.destroyed) inner.destroy()
    })
  }
  const server = createServer({ allowHalfOpen: true }, (outer) => {
    outer.on('error', () => undefined)
    const greet = (): void => {
      const port = outer.read(2) as Buffer | null
      if (port) reach(outer, port.readUInt16BE(), ['127.0.0.1', '::1'])
      else outer.once('readable', greet)
    }
    greet()
  })
  server.listen(path)
}

/** A server's program with the relay beside it. The first process of the namespace takes the relay over, and ends it with the program. */
export function besideRelay(argv: readonly string[]): string[] {
  const script = `(${relay.toString()})(${JSON.stringify(`${relaySocketInside}/${relaySocketName}`)}, ${couple.toString()})`
  const line = '("$1" -e "$2" </dev/null >/dev/null 2>&1 &); shift 2; exec "$@"'
  return ['/bin/sh', '-c', line, 'sh', process.execPath, script, ...argv]
}

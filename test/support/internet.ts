import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/** An address of the internet, at which everything that answers is this machine. */
export const outside = '93.184.216.34'

/**
 * An internet for one test process: names lead where the test says, and whoever connects to `outside` comes to this machine, at the same port.
 * Judging comes before that: what is judged is the address of the internet.
 */
export function openInternet(names: Record<string, () => string>): { asked: string[]; [Symbol.dispose](): void } {
  const asked: string[] = []
  const { lookup } = dns
  const { connect } = net.Socket.prototype
  type Found = (fault: Error | null, found: unknown, family?: number) => void
  dns.lookup = ((host: string, options: { all?: boolean }, found: Found) => {
    const name = names[host]
    if (!name) return lookup(host, options as never, found as never)
    asked.push(host)
    const address = name()
    process.nextTick(() =>
      options.all ? found(null, [{ address, family: net.isIP(address) }]) : found(null, address, net.isIP(address)),
    )
  }) as never
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    const options = (Array.isArray(args[0]) ? args[0][0] : args[0]) as { host?: string; lookup?: unknown } | undefined
    if (options?.host === outside) options.host = '127.0.0.1'
    const look = options?.lookup as ((host: string, how: { all?: boolean }, found: Found) => void) | undefined
    if (options && look)
      options.lookup = (host: string, how: { all?: boolean }, found: Found) =>
        look(host, how, (fault, result, family) => found(fault, here(result), family))
    return Reflect.apply(connect, this, args) as net.Socket
  } as never
  syncBuiltinESMExports()
  return {
    asked,
    [Symbol.dispose]() {
      dns.lookup = lookup
      net.Socket.prototype.connect = connect
      syncBuiltinESMExports()
    },
  }
}

function here(found: unknown): unknown {
  if (Array.isArray(found)) return found.map((one: { address: string }) => ({ ...one, address: here(one.address) }))
  return found === outside ? '127.0.0.1' : found
}

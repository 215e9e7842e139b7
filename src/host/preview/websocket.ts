import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { Duplex } from 'node:stream'

/** Opens a WebSocket on this machine, says one thing, and closes it. Answers which sub-protocol the other side took. */
export function sayOnce(options: {
  port: number
  path: string
  protocol: string | undefined
  timeoutMs: number
  say: (protocol: string) => string
}): Promise<string> {
  const key = randomBytes(16).toString('base64')
  const wanted = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  return new Promise((resolve, reject) => {
    const asking = request({
      host: '127.0.0.1',
      port: options.port,
      path: options.path,
      timeout: options.timeoutMs,
      headers: {
        Host: `localhost:${options.port}`,
        Origin: `http://localhost:${options.port}`,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': key,
        ...(options.protocol !== undefined && { 'Sec-WebSocket-Protocol': options.protocol }),
      },
    })
    asking.once('error', reject)
    asking.once('timeout', () => asking.destroy(new Error('no answer')))
    asking.once('response', (answer) => {
      answer.destroy()
      reject(new Error(`answered ${answer.statusCode}`))
    })
    asking.once('upgrade', (answer, socket: Duplex) => {
      socket.on('error', () => socket.destroy())
      socket.resume()
      if (answer.headers['sec-websocket-accept'] !== wanted) {
        socket.destroy()
        return reject(new Error('not a WebSocket'))
      }
      const protocol = answer.headers['sec-websocket-protocol'] ?? ''
      socket.write(frame(0x1, Buffer.from(options.say(protocol))))
      socket.end(frame(0x8, Buffer.from([0x03, 0xe8])), () => resolve(protocol))
      setTimeout(() => socket.destroy(), options.timeoutMs).unref()
    })
    asking.end()
  })
}

/** One whole message, masked as clients must. */
function frame(kind: number, body: Buffer): Buffer {
  const mask = randomBytes(4)
  const size =
    body.length < 126
      ? Buffer.from([0x80 | body.length])
      : Buffer.from([0x80 | 126, (body.length >> 8) & 0xff, body.length & 0xff])
  const masked = Buffer.from(body.map((byte, index) => byte ^ (mask[index % 4] as number)))
  return Buffer.concat([Buffer.from([0x80 | kind]), size, mask, masked])
}

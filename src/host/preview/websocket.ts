/** What the other side may say meanwhile; nobody reads it. */
const longestAnswer = 1 << 16

/** Opens a WebSocket on this machine, says one thing, and closes it. Answers which sub-protocol the other side took. */
export async function sayOnce(options: {
  port: number
  path: string
  protocol: string | undefined
  timeoutMs: number
  say: (protocol: string) => string
}): Promise<string> {
  const { port, path, protocol, timeoutMs, say } = options
  const { WebSocket } = await import('ws')
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocol ?? [], {
      headers: { Host: `localhost:${port}` },
      origin: `http://localhost:${port}`,
      handshakeTimeout: timeoutMs,
      maxPayload: longestAnswer,
      perMessageDeflate: false,
    })
    socket.on('error', reject)
    socket.once('open', () => {
      setTimeout(() => socket.terminate(), timeoutMs).unref()
      socket.send(say(socket.protocol), (fault) => {
        if (fault) reject(fault)
        else resolve(socket.protocol)
        socket.close(1000)
      })
    })
  })
}

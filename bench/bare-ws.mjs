// `ws` with nothing around it: says back what it hears. Prints its address.
import { WebSocketServer } from 'ws'

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
server.on('connection', (socket) => socket.on('message', (data) => socket.send(data.toString('utf8'))))
server.on('listening', () => process.stdout.write(`${JSON.stringify({ url: `ws://127.0.0.1:${server.address().port}` })}\n`))

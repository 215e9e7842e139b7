import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openOwnUser } from './own-user.ts'
import { openTable } from './socket-table.ts'

const [tcp, missing, unreadable] = ['/proc/net/tcp', '/proc/net/no-such-table', '/proc/net'].map(openTable)
const us = process.geteuid?.() ?? 0

test.skipIf(process.platform !== 'linux').each([
  ['it is ours', us, [tcp], true],
  // Nobody but root could have it then.
  ['it is another user’s', us + 1, [tcp], us === 0],
  ['the system has no such list', us, [missing, missing], true],
  ['only the second list has it', us, [missing, tcp], true],
  ['a list could not be read this time', us, [unreadable, tcp], false],
  ['the other list could not be read', us, [missing, unreadable], false],
] as const)('a connection, where %s', async (_, user, tables, isLetIn) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  try {
    const isOwn = openOwnUser(
      user,
      tables.map((one) => one as NonNullable<typeof one>),
    )
    expect(await isOwn(socket)).toBe(isLetIn)
  } finally {
    client.destroy()
    socket.destroy()
    server.close()
  }
})

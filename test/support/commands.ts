import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { cleanEnv, program, type CliEnd } from './world.ts'

/** A listener on this machine that counts who came, and a name for it. */
export async function listen(where: { port: number; host: string } | { path: string }) {
  const came: string[] = []
  const server = createServer((socket) => {
    came.push('somebody')
    socket.on('error', () => undefined).end('SECRET-net')
  })
  server.listen(where)
  await once(server, 'listening')
  const address = server.address()
  return { came, port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() }
}

export const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
export function cli(uid: number, base: string, args: string[], env: Record<string, string> = {}): Promise<CliEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: cleanEnv(base, { SECRET_PARENT: 'SECRET-parent', ...env }),
      cwd: base,
      ...(uid !== process.getuid?.() && { uid, gid: uid }),
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
    child.stdin.end()
  })
}

// `node tap.mjs LOG COMMAND ARGS…`: a stdio server between a client and the real one, which writes down every message both ways.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'

const [log, command, ...args] = process.argv.slice(2)

const write = (from) => {
  let rest = ''
  return (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    for (const line of lines.filter((text) => text.trim() !== '')) appendFileSync(log, `${JSON.stringify({ from, line })}\n`)
  }
}

const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(child.stdin)
child.stdout.pipe(process.stdout)
process.stdin.setEncoding('utf8').on('data', write('client'))
child.stdout.setEncoding('utf8').on('data', write('server'))
child.stdin.on('error', () => undefined)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.once('close', (code) => process.exit(code ?? 1))

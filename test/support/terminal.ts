import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { cleanEnv, program } from './world.ts'

/** A terminal around a program, made by Python: Node has none. It types the answer when it sees the question. */
const terminal = `
import fcntl, json, os, pty, struct, sys, termios
columns, steps = int(sys.argv[1]), [(until.encode(), answer.encode()) for until, answer in json.loads(sys.argv[2])]
into, waits, args = sys.argv[3], sys.argv[4] == 'waits', sys.argv[5:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    if into: os.dup2(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.execv(args[0], args)
seen = b''
while True:
    try: piece = os.read(fd, 65536)
    except OSError: break
    if not piece: break
    seen += piece
    os.write(1, piece)
    if steps and steps[0][0] in seen:
        (_, answer), seen = steps.pop(0), b''
        if waits: os.read(0, 1)
        waits = False
        os.write(fd, answer + b'\\n')
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

/**
 * The real command line at a terminal of some width; `answer` is typed when `until` has been seen, and `meanwhile` is done; `afterwards` is what is typed after that, and when. With `into`
 * its stdout goes into that file.
 */
export function atTerminal(
  project: string,
  args: string[],
  given: {
    columns: number
    until?: string
    answer?: string
    afterwards?: [until: string, answer: string]
    into?: string
    meanwhile?: () => Promise<unknown>
  },
): Promise<{ code: number | null; out: string }> {
  const { columns, until = '[y/N]', answer = 'n', afterwards, into = '', meanwhile } = given
  const steps = JSON.stringify([[until, answer], ...(afterwards ? [afterwards] : [])])
  const waits = meanwhile ? 'waits' : ''
  const child = spawn(
    'python3',
    ['-c', terminal, String(columns), steps, into, waits, process.execPath, program, ...args, '--project', project],
    { env: { ...cleanEnv(dirname(project)), NO_COLOR: '1', TERM: 'dumb' }, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  return new Promise((resolve, reject) => {
    let out = ''
    let asked = false
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (asked || !meanwhile || !out.includes(until)) return
      asked = true
      meanwhile().then(() => child.stdin.end('.'), reject)
    })
    child.stdin.on('error', reject)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out: out.replaceAll('\r\n', '\n') }))
  })
}

/** What such a terminal shows: long lines are broken where it ends. Wide letters take two places. */
export function screenOf(out: string, columns: number): string[] {
  return out.split('\n').flatMap((line) => {
    const rows: string[] = ['']
    let used = 0
    for (const letter of line) {
      const width = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}]/u.test(
        letter,
      )
        ? 2
        : 1
      if (used + width > columns) {
        rows.push('')
        used = 0
      }
      rows[rows.length - 1] += letter
      used += width
    }
    return rows
  })
}

import { spawn } from 'node:child_process'

export interface ProcessOptions {
  file: string
  args: readonly string[]
  cwd: string
  /** The whole environment of the child; nothing is inherited. */
  env: Record<string, string>
  signal?: AbortSignal
  timeoutMs: number
  /** What it reads from stdin; nothing by default. */
  input?: string
  /** Called with each piece of output; `stop` ends the process, which then counts as ended well. */
  onOutput: (chunk: Buffer) => void | 'stop'
}

export interface ProcessEnd {
  /** Exit code; null where it was ended by us. */
  code: number | null
  stopped: boolean
  timedOut: boolean
  errors: string
}

const errorBytes = 8_192

/** The one place that starts processes: argument lists only, no shell, no inherited environment, the whole group killed at the end. */
export function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(options.file, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
    })
    let stopped = false
    let timedOut = false
    let errors = ''
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        child.kill('SIGKILL')
      }
    }
    const timer = setTimeout(() => {
      timedOut = true
      kill()
    }, options.timeoutMs)
    const onAbort = (): void => {
      stopped = true
      kill()
    }
    const onExit = (): void => kill()
    process.once('exit', onExit)
    if (options.signal?.aborted) onAbort()
    options.signal?.addEventListener('abort', onAbort, { once: true })
    // It may end before it has read everything.
    child.stdin?.on('error', () => undefined).end(options.input)
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stopped || options.onOutput(chunk) !== 'stop') return
      stopped = true
      kill()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (errors.length < errorBytes) errors += chunk.toString('utf8').slice(0, errorBytes - errors.length)
    })
    const finish = (): void => {
      clearTimeout(timer)
      process.removeListener('exit', onExit)
      options.signal?.removeEventListener('abort', onAbort)
    }
    child.once('error', (cause) => {
      finish()
      reject(cause)
    })
    child.once('close', (code) => {
      finish()
      resolve({ code, stopped, timedOut, errors })
    })
  })
}

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, readdirSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { followStrays, killMarked, markName } from './running.ts'

export interface ProcessOptions {
  file: string
  args: readonly string[]
  cwd: string
  /** The whole environment of the child; nothing is inherited. */
  env: Record<string, string>
  signal?: AbortSignal
  /** Asked for once its time begins. */
  timeoutMs: number | (() => number)
  /** What it reads from stdin; nothing by default. */
  input?: string | Buffer
  /** It is talked to while it runs: called with its stdin, in the place of `input`. */
  onInput?: (stdin: Writable) => void
  /** Called with each piece of output; `stop` ends the process, which then counts as ended well. */
  onOutput: (chunk: Buffer) => void | 'stop'
  /** Called with each piece of stderr; by default its beginning is kept as `errors`. */
  onErrors?: (chunk: Buffer) => void
  /** Called once it runs, with a way to end it; what is said there comes back as `ended`. */
  onStarted?: (pid: number, end: (why: string) => void) => void
  /**
   * One more pipe, number 3, that the process may write facts to, and is told something on. After the last of them it is not waited
   * for once the process has ended, whoever else still holds it.
   */
  onFacts?: (chunk: Buffer, tell: (line: string) => void) => void | 'last'
  /** Whoever else is to go whenever it is killed, and when it has ended. */
  onKill?: () => void
  /** And more after that, number 4 and on, that it reads from: it waits there, and its time begins once all is said. Seen in no list of processes. */
  instructions?: readonly Promise<Buffer>[]
  /** A variable every process of the tree carries unless it takes pains to lose it: strays are found and killed by it. */
  mark?: string
}

export interface ProcessEnd {
  /** Exit code; null where it was ended by us or by a signal. */
  code: number | null
  /** The signal that ended it, where it was not ours. */
  killedBy: string | null
  stopped: boolean
  timedOut: boolean
  /** Why `end` was called. */
  ended: string | undefined
  errors: string
}

const errorBytes = 8_192
/** What must be killed where we exit ourselves. */
const alive = new Set<() => void>()
process.once('exit', () => alive.forEach((kill) => kill()))

/** How long its pipes may stay open after it is gone; a stray that holds them is not waited for. */
const lingerMs = 500
/** A pipe that still brings something is read on, but not for ever. */
const mostLingers = 20

/**
 * The one place that starts processes: argument lists only, no shell, no login, no inherited environment. Its end, the deadline,
 * a cancelled call and our own exit kill the whole group; with `mark`, what left the group too.
 */
export function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  if (options.signal?.aborted)
    return Promise.resolve({ code: null, killedBy: null, stopped: true, timedOut: false, ended: undefined, errors: '' })
  return new Promise((resolve, reject) => {
    const child = spawn(options.file, options.args, {
      cwd: options.cwd,
      env: { ...options.env, ...(options.mark !== undefined && { [markName]: options.mark }) },
      stdio: withoutInherited([
        options.input === undefined && !options.onInput ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(options.onFacts ? ['pipe' as const] : []),
        ...(options.instructions ?? []).map(() => 'pipe' as const),
      ]),
      detached: true,
      shell: false,
    })
    let stopped = false
    let timedOut = false
    let ended: string | undefined
    let errors = ''
    let over = false
    let exited = false
    let lastFact = false
    const strays = options.mark === undefined ? undefined : followStrays(child.pid)
    const kill = (): void => {
      killTree(child, options.mark)
      options.onKill?.()
      strays?.kill()
    }
    let timer: NodeJS.Timeout | undefined
    const beginTime = (): void => {
      const { timeoutMs } = options
      const late = (): void => {
        timedOut = true
        kill()
      }
      if (!over) timer = setTimeout(late, typeof timeoutMs === 'function' ? timeoutMs() : timeoutMs)
    }
    if (options.instructions) void Promise.all(options.instructions).then(beginTime)
    else beginTime()
    const onAbort = (): void => {
      stopped = true
      kill()
    }
    alive.add(kill)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    // It may end before it has read everything.
    child.stdin?.on('error', () => undefined)
    if (options.onInput) options.onInput(child.stdin as Writable)
    else child.stdin?.end(options.input)
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stopped || options.onOutput(chunk) !== 'stop') return
      stopped = true
      kill()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (options.onErrors) options.onErrors(chunk)
      else if (errors.length < errorBytes) errors += chunk.toString('utf8').slice(0, errorBytes - errors.length)
    })
    const facts = child.stdio[3]
    if (facts && 'write' in facts) {
      const tell = (line: string): void => void facts.write(line)
      // It may have ended before it is told.
      facts
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          if (options.onFacts?.(chunk, tell) === 'last') lastFact = true
          if (lastFact && exited) facts.destroy()
        })
    }
    if (child.pid !== undefined)
      options.onStarted?.(child.pid, (why) => {
        ended ??= why
        kill()
      })
    options.instructions?.forEach((said, index) => {
      const pipe = child.stdio[4 + index]
      if (!pipe || !('end' in pipe)) return
      // It may end before it has read them, and while it waits.
      pipe.on('error', () => undefined)
      // Closed as soon as all is written: `end` would wait for our next turn.
      void said.then((bytes) => pipe.write(bytes, () => pipe.destroy()))
    })
    const finish = (): void => {
      over = true
      clearTimeout(timer)
      strays?.stop()
      alive.delete(kill)
      options.signal?.removeEventListener('abort', onAbort)
    }
    child.once('error', (cause) => {
      finish()
      reject(cause)
    })
    child.once('exit', () => {
      exited = true
      // What it left running goes with it, and whoever holds its pipes is not waited for.
      kill()
      if (lastFact) facts?.destroy()
      child.once('close', letGoOf(child))
    })
    child.once('close', (code, signal) => {
      finish()
      const ours = stopped || timedOut || ended !== undefined
      resolve({ code: ours ? null : code, killedBy: ours ? null : signal, stopped, timedOut, ended, errors })
    })
  })
}

/**
 * Closes our ends of an ended process's pipes, which somebody else may hold open, once nothing comes any more. Timers run before what
 * has arrived is read: on a loop that stood still, output that was there already must not be thrown away. Returns how to stop that.
 */
function letGoOf({ stdio }: ChildProcess): () => void {
  let timer: NodeJS.Timeout | undefined
  let heard = 0
  for (const stream of stdio) stream?.on('data', () => heard++)
  const wait = (before: number, rounds: number): void => {
    timer = setTimeout(
      () =>
        setImmediate(() => {
          if (heard > before && rounds > 1) wait(heard, rounds - 1)
          else for (const stream of stdio) stream?.destroy()
        }),
      lingerMs,
    )
  }
  wait(0, mostLingers)
  return () => clearTimeout(timer)
}

/** A moment's work of one of the system's own tools, which we wait for; false where it failed. `input` is an open file. */
export function runBriefly(file: string, args: readonly string[], given: { timeoutMs: number; input?: number }): boolean {
  const { status } = spawnSync(file, args, {
    cwd: '/',
    env: systemEnv(),
    stdio: withoutInherited([given.input ?? 'ignore', 'ignore', 'ignore']),
    timeout: given.timeoutMs,
    killSignal: 'SIGKILL',
  })
  return status === 0
}

/** The same, without waiting on the spot. */
export function runBrieflySoon(
  file: string,
  args: readonly string[],
  given: { timeoutMs: number; input?: number },
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: '/',
      env: systemEnv(),
      stdio: withoutInherited([given.input ?? 'ignore', 'ignore', 'ignore']),
      timeout: given.timeoutMs,
      killSignal: 'SIGKILL',
    })
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0))
  })
}

/** Somebody who outlives us by a moment, to clear up. */
export interface CleanupWatchdog {
  /** It does its work now, and is waited for. */
  dismiss(): Promise<void>
}

/** Starts a script of ours that does its work once its stdin closes: when it is dismissed, or when we end, kill -9 included. */
export function startCleanupWatchdog(script: string, argument: string): CleanupWatchdog {
  const watcher = spawn('/bin/sh', ['-c', script, argument], {
    cwd: '/',
    env: systemEnv(),
    stdio: withoutInherited(['pipe', 'ignore', 'ignore']),
    // A group of its own: a Ctrl-C meant for us must not end it first.
    detached: true,
  })
  watcher.on('error', () => undefined)
  watcher.stdin?.on('error', () => undefined)
  watcher.unref()
  ;(watcher.stdin as unknown as { unref?: () => void } | null)?.unref?.()
  return {
    async dismiss() {
      watcher.ref()
      watcher.stdin?.end()
      if (watcher.pid !== undefined && watcher.exitCode === null && watcher.signalCode === null) await once(watcher, 'exit')
    },
  }
}

const systemEnv = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '/usr/bin:/bin' })

type Pipe = 'pipe' | 'ignore' | number
let inherited: readonly number[] | undefined
let nothing: number | undefined

/** Whoever started us may have left files open to us; a child gets an empty one in the place of each. (`ignore` past the first three does nothing.) */
function withoutInherited(pipes: Pipe[]): Pipe[] {
  inherited ??= inheritedFiles()
  const all = [...pipes]
  for (const fd of inherited) {
    if (fd < pipes.length) continue
    while (all.length < fd) all.push('ignore')
    all[fd] = nothing ??= openSync('/dev/null', 'r')
  }
  return all
}

/** Node opens everything so that no child gets it; what lacks that mark was there before us. */
function inheritedFiles(): number[] {
  const closesOnExec = 0o2000000
  const isInherited = (name: string): boolean => {
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1] ?? ''
      return (Number.parseInt(flags, 8) & closesOnExec) === 0
    } catch {
      return false
    }
  }
  try {
    return readdirSync('/proc/self/fd')
      .filter(isInherited)
      .map(Number)
      .sort((a, b) => a - b)
  } catch {
    return []
  }
}

function killTree(child: ChildProcess, mark: string | undefined): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group is gone already.
  }
  if (mark !== undefined) killMarked(mark)
}

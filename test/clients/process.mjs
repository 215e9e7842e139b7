// Runs other programs, and sees to it that none of them outlives the test.
import { spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Runs a program to its end. One that takes too long is ended together with all its children. */
export function run(file, args, { cwd, env, timeoutMs = 120_000 } = {}) {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that children of children can be reached too.
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const started = performance.now()
    let out = ''
    let err = ''
    let late = false
    const timer = setTimeout(() => {
      late = true
      endGroup(child.pid)
    }, timeoutMs)
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
    child.once('error', reject)
    // Not `close`: a daemon left behind holds the pipes open.
    child.once('exit', async (code) => {
      clearTimeout(timer)
      await pause(50)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ code, out, err, late, ms: Math.round(performance.now() - started) })
    })
  })
}

/** Starts a program that stays, and waits for its first line. */
export function start(file, args, { cwd, env, timeoutMs = 20_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${args.join(' ')} said nothing for ${timeoutMs} ms`))
    }, timeoutMs)
    let out = ''
    let err = ''
    const stop = async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await Promise.race([new Promise((done) => child.once('exit', done)), pause(3_000)])
      child.kill('SIGKILL')
    }
    child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
      if (!out.includes('\n')) return
      clearTimeout(timer)
      resolve({ line: out.slice(0, out.indexOf('\n')), stop })
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`${args.join(' ')} ended with ${code}: ${err.trim().slice(-400)}`))
    })
  })
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}

/**
 * Ends every process whose environment holds this text, one by one by its id, and gives their command lines. Children inherit
 * the environment, so a folder used by one run only marks all that run started. Where there is no /proc, none is found.
 */
export async function endLeftovers(mark) {
  const left = marked(mark)
  for (const { pid } of left) signal(pid, 'SIGTERM')
  for (let tries = 0; tries < 30 && marked(mark).length > 0; tries++) await pause(100)
  for (const { pid } of marked(mark)) signal(pid, 'SIGKILL')
  return left.map(({ command }) => command)
}

function marked(mark) {
  let pids
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  } catch {
    return []
  }
  return pids.flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)) return []
      return [{ pid: Number(pid), command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }]
    } catch {
      return []
    }
  })
}

function signal(pid, name) {
  try {
    process.kill(pid, name)
  } catch {
    // Already gone.
  }
}

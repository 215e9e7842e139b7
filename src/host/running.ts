import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { runToEnd, type Steps } from '../text/steps.ts'

/** What the system says of processes that run: who descends from whom, who carries our mark, which is which. */

/** A variable every process of a tree carries unless it takes pains to lose it. */
export const markName = 'HANDRAIL_MARK'

const strayMs = 50

/** Remembers who descends from a process, so that one that leaves its group and loses its mark is still known for what it is. */
export function followStrays(pid: number | undefined): { kill(): void; stop(): void } {
  const known = new Map<number, string | undefined>()
  const look = (): void => {
    for (const one of pid === undefined ? [] : treeOf([pid, ...known.keys()], 10_000))
      if (one !== pid && !known.has(one)) known.set(one, processName(one))
  }
  const timer = setInterval(look, strayMs)
  return {
    kill() {
      look()
      for (const [one, name] of known) endIfStill(one, name)
    },
    stop: () => clearInterval(timer),
  }
}

/** Processes and all below them. */
export function treeOf(roots: readonly number[], most: number): number[] {
  return runToEnd(treeInSteps(roots, most))
}

/** The same in small steps: hundreds of processes are more than a thousand questions to the system. */
export function* treeInSteps(roots: readonly number[], most: number): Steps<number[]> {
  const found = [...roots]
  for (let at = 0; at < found.length && found.length <= most; at++) {
    found.push(...childrenOf(found[at] as number))
    yield
  }
  return [...new Set(found)]
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => childrenOfThread(pid, thread))
  } catch {
    return []
  }
}

/** A thread that ended meanwhile has left its children to the others, and must not hide theirs. */
function childrenOfThread(pid: number, thread: string): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It went by itself.
  }
}

/** Ends a process where it is the one that was given this name; see `processName`. */
export function endIfStill(pid: number, name: string | undefined): void {
  if (name !== undefined && processName(pid) === name) end(pid)
}

/** Whoever carries the mark in its environment, wherever it has moved to. Again until nobody is found: they may be forking. */
export function killMarked(mark: string): void {
  const wanted = `${markName}=${mark}`
  for (let round = 0; round < 20; round++) {
    const found = everyProcess().filter((pid) => environmentOf(pid).includes(wanted))
    if (found.length === 0) return
    found.forEach(end)
  }
}

function everyProcess(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid)
  } catch {
    return []
  }
}

function environmentOf(pid: number): string[] {
  try {
    return canAct(pid) ? readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0') : []
  } catch {
    return []
  }
}

/** Waits until a process is gone, as far as it can still do anything. */
export async function gone(pid: number): Promise<void> {
  for (let wait = 0.5; canAct(pid); wait = Math.min(wait * 2, 50)) await pause(wait)
}

/** Whether a process is there, and not only its exit code. */
export function canAct(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** Whether the process that was given this name runs; see `processName`. */
export function isRunning(name: string): boolean {
  const pid = Number(name.split('-', 1)[0])
  const now = processName(pid)
  if (now !== undefined) return now === name
  try {
    // No /proc: whether it is there at all is the most that can be known.
    process.kill(pid, 0)
    return name === String(pid)
  } catch {
    return false
  }
}

/** This process, for others to find out whether it runs. */
export function ownName(): string {
  return processName(process.pid) ?? String(process.pid)
}

let ours: string | undefined

/** Names one run of a process for good: numbers are used again, start times are not. Nothing where it has ended. */
export function processName(pid: number): string | undefined {
  return pid === process.pid ? (ours ??= lookUpName(pid)) : lookUpName(pid)
}

function lookUpName(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // Of one that has ended only the exit code is left, for as long as its parent does not ask for it.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${pid}-${fields[19] ?? ''}`
  } catch {
    return undefined
  }
}

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { findChromium, missingDriver } from '../../src/host/browser/find.ts'
import { patienceMs } from './patience.ts'

const found = findChromium(process.env)

/** Why tests that need a browser are skipped here, or nothing. */
export const noBrowser = missingDriver() ?? ('missing' in found ? found.missing : undefined)

export interface Footprint {
  /** Folders of its browsers. */
  homes: string[]
  /** Processes that have one of them in their arguments. */
  processes: number[]
}

/** What the browsers of a process leave on this machine at this moment. */
export function footprint(owner = process.pid): Footprint {
  const name = `handrail-chromium-${owner}-`
  return {
    homes: [...new Set([tmpdir(), '/tmp'])].flatMap((folder) => readdirSync(folder)).filter((one) => one.startsWith(name)),
    processes: readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && argumentsOf(pid).includes(`/${name}`))
      .map(Number),
  }
}

/** Processes of Handrail on a project: its path stands in their arguments. */
export function ownersOn(project: string): number[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && argumentsOf(pid).includes(`\0${project}\0`))
    .map(Number)
}

/** Waits until nothing is left; says what is. */
export async function whatIsLeft(owner = process.pid, withinMs = patienceMs): Promise<Footprint> {
  const until = Date.now() + withinMs
  for (;;) {
    const left = footprint(owner)
    if (left.homes.length + left.processes.length === 0 || Date.now() > until) return left
    await pause(100)
  }
}

/** Those of a process, and nothing where it is gone. */
export function argumentsOf(pid: string | number): string {
  try {
    return existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1') : ''
  } catch {
    return ''
  }
}

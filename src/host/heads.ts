import { readFileSync } from 'node:fs'
import { projectFolderName } from './state-place.ts'

/** Where the heads of all logs of this user are kept, apart from the logs: who puts back an older state of a project does not put back these. */
export const headsFolder = 'heads'

/** The name of a project's head among them. */
export function headName(project: string): string {
  return `${projectFolderName(project)}.head`
}

/** Another one after each start of the system; empty where it does not say. What was not flushed before may be lost after. */
export function bootId(): string {
  try {
    return (boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  } catch {
    return (boot = '')
  }
}

let boot: string | undefined

import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Browser as Driver } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { startCleanupWatchdog } from '../process.ts'
import { inTime } from '../../text/in-time.ts'
import type { Patience } from './confined-context.ts'
import { notAnswering } from './faults.ts'
import { chromiumFlags } from './flags.ts'

/** A running Chromium. */
export interface Chromium {
  readonly driver: Driver
  close(): Promise<void>
}

/** Variables a Chromium may see of ours. */
const passed = ['PATH', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'FONTCONFIG_FILE', 'FONTCONFIG_PATH', 'SystemRoot', 'windir']

/**
 * Waits for our end, or for us to be done with the browser: its stdin closes even when we are killed. Then whatever is left of
 * the browser's process group goes, what has left the group (its crash handlers; they are known by their HOME where there is a /proc),
 * and its folder. `kill -KILL -- -N` is an error in dash; with `-s` every shell takes it.
 */
const keeperScript = `cat >/dev/null
tries=0
while [ -e "$0" ] && [ "$tries" -lt 50 ]; do
  [ -f "$0/group" ] && kill -s KILL -- "-$(cat "$0/group")" 2>/dev/null
  for at in $(grep -lszxF "HOME=$0" /proc/[0-9]*/environ); do
    one=\${at#/proc/}; kill -s KILL "\${one%/environ}" 2>/dev/null
  done
  rm -rf -- "$0" 2>/dev/null; tries=$((tries + 1)); sleep 0.1
done`

/** Leaves the number of its process group in the folder, then becomes the browser; where the folder is gone already, nothing. */
const starterScript = 'echo $$ > "$0/group" && exec "$@"'

/** It makes a socket four folders further down, and the path of one has at most 107 characters (103 on macOS). */
const longestFolder = 16
const shortFolder = (): string => (process.platform === 'win32' || tmpdir().length <= longestFolder ? tmpdir() : '/tmp')

export async function launchChromium(file: string, { launchMs, closeMs, mostSaid = mostEverSaid }: Patience): Promise<Chromium> {
  // Loaded here and not before: it takes a fifth of a second.
  const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof import('playwright-core')
  const home = join(shortFolder(), `handrail-chromium-${process.pid}-${randomBytes(6).toString('hex')}`)
  // Before there is anything to leave behind.
  const keeper = process.platform === 'win32' ? undefined : startCleanupWatchdog(keeperScript, home)
  const [profile, artifactsDir, temporary] = ['profile', 'artifacts', 'tmp'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ]
  const flags = chromiumFlags({ profile, asRoot: isRoot() })
  const env: Record<string, string> = { HOME: home, TMPDIR: temporary, TEMP: temporary, XDG_RUNTIME_DIR: temporary }
  for (const name of passed) if (process.env[name] !== undefined) env[name] = process.env[name]
  const leave = async (): Promise<void> => {
    await keeper?.dismiss()
    // Where there is no keeper, or somebody ended it.
    await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }).catch(() => undefined)
  }
  try {
    mkdirSync(home, { mode: 0o700 })
    for (const folder of [profile, artifactsDir, temporary]) mkdirSync(folder)
    const options = {
      executablePath: keeper ? '/bin/sh' : file,
      args: keeper ? ['-c', starterScript, home, file, ...flags] : flags,
      ignoreDefaultArgs: true as const,
      env,
      // Downloads and traces of the driver; without it they get a folder of their own that outlives us.
      artifactsDir,
      timeout: launchMs,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    }
    // The driver makes no folder of its own where it is given one; the default context is never used.
    const starting = listening(home, mostSaid, () => chromium.launchPersistentContext(profile, options))
    // The driver keeps the time itself, though maybe not of all it does.
    const context = await inTime(starting, launchMs + closeMs, () => new Error('it does not answer'))
    const driver = context.browser()
    if (!driver) throw new Error('the driver gives no browser')
    return {
      driver,
      async close() {
        // One that is frozen does not answer; it is killed all the same.
        await inTime(context.close(), closeMs, notAnswering).catch(() => undefined)
        await leave()
      },
    }
  } catch (cause) {
    await leave()
    throw new Fault('preview', `Chromium did not start: ${firstLine(cause)}`, {
      details: { chromium: file },
      hint: isRoot()
        ? 'Try it by hand, or name another one in HANDRAIL_CHROMIUM.'
        : 'Where it says that there is no usable sandbox, allow user namespaces, or name another Chromium in HANDRAIL_CHROMIUM.',
      cause,
    })
  }
}

/** A quarter of what a string can hold. */
const mostEverSaid = 134_217_728

/** What is told of a process that was started. */
interface Started {
  spawnargs?: string[]
  stdio: (Readable | null | undefined)[]
}

/** Starts a browser, and from then on ends what it says where it says too much at once: that is the end of the browser, not of this process. */
async function listening<T>(home: string, mostSaid: number, start: () => Promise<T>): Promise<T> {
  const started = new Set<Started>()
  const note = (message: unknown): void => void started.add((message as { process: Started }).process)
  subscribe('child_process', note)
  try {
    const done = await start()
    const browser = [...started].find(({ spawnargs = [] }) => spawnargs.some((one) => one.includes(home)))
    const said = browser?.stdio[4]
    if (!said) throw new Error('nobody can hear what it says')
    let length = 0
    said.prependListener('data', (bytes: Buffer) => {
      // Each thing it says ends with a NUL.
      const end = bytes.lastIndexOf(0)
      length = end === -1 ? length + bytes.length : bytes.length - end - 1
      if (length > mostSaid) said.destroy()
    })
    return done
  } finally {
    unsubscribe('child_process', note)
  }
}

/** Chromium refuses its own sandbox to root; then ours, a page that can reach nothing, is the one there is. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

function firstLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return /No usable sandbox[^\n]*|error while loading shared libraries[^\n]*/.exec(text)?.[0] ?? text.split('\n', 1)[0] ?? ''
}

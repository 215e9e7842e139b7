import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser as Driver } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { startCleanupWatchdog } from '../process.ts'
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
 * the browser's process group goes, and its folder.
 */
const keeperScript = `cat >/dev/null
tries=0
while [ -e "$0" ] && [ "$tries" -lt 50 ]; do
  [ -f "$0/group" ] && kill -KILL -- "-$(cat "$0/group")" 2>/dev/null
  rm -rf -- "$0" 2>/dev/null; tries=$((tries + 1)); sleep 0.1
done`

/** Leaves the number of its process group in the folder, then becomes the browser; where the folder is gone already, nothing. */
const starterScript = 'echo $$ > "$0/group" && exec "$@"'

export async function launchChromium(file: string, timeoutMs: number): Promise<Chromium> {
  // Loaded here and not before: it takes a fifth of a second.
  const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof import('playwright-core')
  const home = join(tmpdir(), `handrail-chromium-${process.pid}-${randomBytes(12).toString('hex')}`)
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
      timeout: timeoutMs,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    }
    // The driver makes no folder of its own where it is given one; the default context is never used.
    const context = await chromium.launchPersistentContext(profile, options)
    const driver = context.browser()
    if (!driver) throw new Error('the driver gives no browser')
    return {
      driver,
      async close() {
        await context.close().catch(() => undefined)
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

/** Chromium refuses its own sandbox to root; then ours, a page that can reach nothing, is the one there is. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

function firstLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  return /No usable sandbox[^\n]*|error while loading shared libraries[^\n]*/.exec(text)?.[0] ?? text.split('\n', 1)[0] ?? ''
}

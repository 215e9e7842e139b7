import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, isAbsolute, join } from 'node:path'
import { isWithin } from '../state-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome',
  'microsoft-edge',
  'brave-browser',
]

const usual: Record<string, readonly string[]> = {
  linux: [
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/opt/google/chrome/chrome',
    '/snap/bin/chromium',
  ],
  darwin: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
}

/**
 * The Chromium to use, or why there is none. What `HANDRAIL_CHROMIUM` names is used or nothing is. What lies in the project is left
 * out, and so is what a relative PATH leads to: npm puts `node_modules/.bin` of a clone first, and whoever made it could run there.
 */
export function findChromium(environment: Environment, project?: string): { file: string } | { missing: string } {
  const named = environment['HANDRAIL_CHROMIUM']
  if (named) return isProgram(named) ? { file: named } : { missing: `HANDRAIL_CHROMIUM names no program: ${named}` }
  const folders = (environment['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  const endings = process.platform === 'win32' ? ['.exe'] : ['']
  const onPath = names.flatMap((name) => folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending))))
  const file = [...onPath, ...(usual[process.platform] ?? [])].find((one) => isProgram(one) && !liesIn(project, one))
  return file === undefined
    ? {
        missing:
          'No Chromium was found. Install one (Debian: apt-get install chromium-headless-shell, or chromium), or name it in HANDRAIL_CHROMIUM.',
      }
    : { file }
}

/** Why the driver cannot be loaded, or nothing. It is an optional package. */
export function missingDriver(): string | undefined {
  try {
    createRequire(import.meta.url).resolve('playwright-core')
    return undefined
  } catch {
    return 'The package playwright-core is not installed. Run: npm install playwright-core'
  }
}

function liesIn(project: string | undefined, file: string): boolean {
  return project !== undefined && [file, realpathSync(file)].some((one) => isWithin(one, project))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { accessSync, constants } from 'node:fs'
import { runProcess } from './process.ts'

/** Shows a few words on the person's desktop. */
export type Notify = (title: string, body: string) => void

const timeoutMs = 5_000
/** One after another: of what comes in between the last is shown, so that nobody who asks a hundred things fills the screen. */
const pauseMs = 1_000
/** What a desktop's own program needs to find its screen, and nothing else of the environment. */
const passed = ['DISPLAY', 'WAYLAND_DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'HOME', 'PATH']

/** Nothing where the system has no desktop, or no program that tells it something. A notification that fails is no fault of anybody's. */
export function openNotify(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform): Notify | undefined {
  const found =
    platform === 'darwin' ? '/usr/bin/osascript' : hasDesktop(environment) ? inPath('notify-send', environment) : undefined
  if (found === undefined) return undefined
  const env = Object.fromEntries(passed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])))
  let isShowing = false
  let next: [string, string] | undefined
  const show = (title: string, body: string): void => {
    isShowing = true
    const args = platform === 'darwin' ? appleScript(title, body) : ['--app-name=Handrail', '--', title, marked(body)]
    const over = (): void => {
      isShowing = false
      const later = next
      next = undefined
      if (later) show(...later)
    }
    const rest = (): unknown => setTimeout(over, pauseMs).unref()
    runProcess({ file: found, args, cwd: tmpdir(), env, timeoutMs, onOutput: () => undefined }).then(rest, rest)
  }
  return (title, body) => {
    if (isShowing) next = [title, body]
    else show(title, body)
  }
}

const hasDesktop = (environment: NodeJS.ProcessEnv): boolean => Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY'])

/** Words of others: some desktops read markup in them. */
const marked = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** The words come as arguments, never as part of the script. */
const appleScript = (title: string, body: string): string[] => [
  '-e',
  'on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run',
  title,
  body,
]

function inPath(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  return (environment['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

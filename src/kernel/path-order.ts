import type { Touch } from '../contracts/tool.ts'

/** A call's place in the lines of the files it touches. */
export interface Place {
  /** What to wait for, where others of the same session are in front. */
  wait: Promise<void> | undefined
  leave(): void
}

interface Entry {
  writes: boolean
  in: boolean
  let(): void
}

/** Most files have one call in line, and a call may have a hundred thousand files: that one stands there by itself. */
type Line = Entry | Entry[]

/**
 * Calls of one session on the same file go in the order they came: readers together, a writer alone. Between sessions there is no
 * order to keep, so that nobody waits for what another thinks about: a commit finds out whether somebody was faster.
 */
export function openPathOrder(): { enter(session: string, touches: readonly Touch[]): Place } {
  const sessions = new Map<string, Map<string, Line>>()

  const promote = (line: Entry[]): void => {
    for (let index = 0; index < line.length; index++) {
      const entry = line[index] as Entry
      if (index > 0 && (entry.writes || line[0]?.writes)) return
      if (entry.in) continue
      entry.in = true
      entry.let()
    }
  }
  const nowhere: Place = { wait: undefined, leave: () => undefined }

  return {
    enter(session, touches) {
      const wanted = wantedBy(touches)
      if (wanted.size === 0) return nowhere
      const lines = sessions.get(session) ?? new Map<string, Line>()
      sessions.set(session, lines)
      let missing = 0
      let go: (() => void) | undefined
      for (const [path, entry] of wanted) {
        const line = lines.get(path)
        if (line === undefined) {
          lines.set(path, entry)
          continue
        }
        missing++
        const behind: Entry = {
          writes: entry.writes,
          in: false,
          let() {
            if (--missing === 0) go?.()
          },
        }
        wanted.set(path, behind)
        const several = Array.isArray(line) ? line : [line]
        several.push(behind)
        lines.set(path, several)
        promote(several)
      }
      return {
        wait: missing === 0 ? undefined : new Promise((resolve) => (go = resolve)),
        leave() {
          for (const [path, entry] of wanted) {
            const line = lines.get(path)
            if (!Array.isArray(line)) {
              lines.delete(path)
              continue
            }
            line.splice(line.indexOf(entry), 1)
            if (line.length === 0) lines.delete(path)
            else promote(line)
          }
          wanted.clear()
          if (lines.size === 0 && sessions.get(session) === lines) sessions.delete(session)
        },
      }
    },
  }
}

const first = { in: true, let: () => undefined }
const reader: Entry = { writes: false, ...first }
const writer: Entry = { writes: true, ...first }

/** By file, as whoever is first in its line: whether it is written. */
function wantedBy(touches: readonly Touch[]): Map<string, Entry> {
  const wanted = new Map<string, Entry>()
  for (const touch of touches) {
    if (!('path' in touch)) continue
    if (touch.access === 'write') wanted.set(touch.path, writer)
    else if (!wanted.has(touch.path)) wanted.set(touch.path, reader)
  }
  return wanted
}

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

/**
 * Calls of one session on the same file go in the order they came: readers together, a writer alone. Between sessions there is no
 * order to keep, so that nobody waits for what another thinks about: a commit finds out whether somebody was faster.
 */
export function openPathOrder(): { enter(session: string, touches: readonly Touch[]): Place } {
  const lines = new Map<string, Entry[]>()

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
      const wanted = wantedBy(session, touches)
      if (wanted.size === 0) return nowhere
      let missing = wanted.size
      let go: (() => void) | undefined
      const mine: [string, Entry][] = []
      for (const [key, writes] of wanted) {
        const entry: Entry = {
          writes,
          in: false,
          let() {
            if (--missing === 0) go?.()
          },
        }
        const line = lines.get(key) ?? []
        lines.set(key, line)
        line.push(entry)
        mine.push([key, entry])
        promote(line)
      }
      return {
        wait: missing === 0 ? undefined : new Promise((resolve) => (go = resolve)),
        leave() {
          for (const [key, entry] of mine.splice(0)) {
            const line = lines.get(key) as Entry[]
            line.splice(line.indexOf(entry), 1)
            if (line.length === 0) lines.delete(key)
            else promote(line)
          }
        },
      }
    },
  }
}

/** By file, and whether it is written. */
function wantedBy(session: string, touches: readonly Touch[]): Map<string, boolean> {
  const wanted = new Map<string, boolean>()
  for (const touch of touches) {
    if (!('path' in touch)) continue
    const key = `${session}\0${touch.path}`
    wanted.set(key, touch.access === 'write' || wanted.get(key) === true)
  }
  return wanted
}

import { randomBytes } from 'node:crypto'
import type { StateFolder } from '../host/state-folder.ts'
import { bounds } from '../contracts/kept.ts'
import { Fault } from '../contracts/faults/fault.ts'

/** What was found in the project's sources, kept so that the next process need not look again. Losing it costs time and nothing else. */
export interface KnownAnchors {
  read(name: string): string | undefined
  write(name: string, text: string): Promise<void>
}

export function openKnownAnchors(state: StateFolder): KnownAnchors {
  const { most, bytes } = bounds.anchors
  let folder: StateFolder | undefined
  const own = (): StateFolder => (folder ??= state.sub('anchors'))
  return {
    read: (name) => (state.has('anchors') ? own().read(name)?.toString('utf8') : undefined),
    async write(name, text) {
      const content = Buffer.from(text)
      if (content.byteLength > bytes) return
      const fresh = `${name}.${randomBytes(6).toString('hex')}`
      try {
        await own().createSoon(fresh, content)
        own().move(fresh, name)
        const old = own()
          .names()
          .map((one) => ({ one, changedMs: own().stat(one)?.changedMs ?? 0 }))
          .toSorted((a, b) => b.changedMs - a.changedMs)
          .slice(most)
        for (const { one } of old) own().remove(one)
      } catch (fault) {
        // A full disk, or another process that tidies up: it is looked for again.
        if (!(fault instanceof Fault)) throw fault
      }
    },
  }
}

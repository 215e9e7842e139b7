import { randomBytes } from 'node:crypto'
import type { ServedPage } from '../contracts/served-page.ts'
import { isRunning, ownName } from '../host/running.ts'
import type { StateFolder } from '../host/state-folder.ts'

export interface ServedPages {
  /** Tells every process of the project; returns how to take it back. */
  announce(page: ServedPage): () => void
  /** Those of processes that run. */
  list(): ServedPage[]
}

/** Where this project's pages are served: one 0600 file for each, named after its process, gone with it. */
export function openServedPages(state: StateFolder): ServedPages {
  let folder: StateFolder | undefined
  const open = (): StateFolder => (folder ??= state.sub('serving'))
  const names = (): string[] => {
    const running = (name: string): boolean => isRunning(name.split('.', 1)[0] as string)
    const [alive, gone] = [
      open().names().filter(running),
      open()
        .names()
        .filter((name) => !running(name)),
    ]
    for (const name of gone) open().remove(name)
    return alive
  }
  return {
    announce(page) {
      names()
      const name = `${ownName()}.${randomBytes(8).toString('hex')}`
      open().create(name, Buffer.from(JSON.stringify(page)))
      return () => open().remove(name)
    },
    list: () =>
      names().flatMap((name) => {
        try {
          return [JSON.parse(open().read(name)?.toString('utf8') ?? '') as ServedPage]
        } catch {
          // It is being written, or was taken back meanwhile.
          return []
        }
      }),
  }
}

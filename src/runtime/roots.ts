import type { NamedRoot } from '../contracts/roots.ts'
import type { RuntimeOptions } from '../contracts/runtime.ts'
import { identityRoot } from '../host/identity-files.ts'
import { isSameRoot, openFurtherRoot, readRoot, whyNot } from '../host/roots.ts'
import { stageHomes } from '../host/stage/places.ts'
import { closeRoot, type Root } from '../host/walk.ts'
import type { RootNames } from '../stores/roots.ts'
import { rootMark } from '../text/root-path.ts'
import type { Place } from './place.ts'
import type { LoadedSettings } from './settings.ts'

/** The folders besides the project. Each is opened when the settings name it, and stays open: what was begun in it is ended in it. */
export interface Roots {
  /** All that were opened, by what stands in front of their paths, and their folders by name. Both grow with the settings. */
  readonly opened: ReadonlyMap<string, Root>
  readonly folders: ReadonlyMap<string, string>
  /** Those the settings name, also where they cannot be used. */
  named(): readonly NamedRoot[]
  /** Takes up what the settings say; each root is judged again. */
  take(settings: LoadedSettings): void
  /** Opens what a killed process was at work in, also where the settings no longer name it. */
  openPending(settings: LoadedSettings): void
  close(): void
}

export function openRoots(place: Place, { allows = [] }: RuntimeOptions, names: () => RootNames): Roots {
  const { root: project, kept, environment } = place
  const opened = new Map<string, Root>()
  const folders = new Map<string, string>()
  const closing: Root[] = []
  let named: NamedRoot[] = []

  /** Opens and judges it; the same folder is opened once. */
  const open = (name: string, path: string, others: Iterable<Root>, { config }: LoadedSettings): Root => {
    const own = [kept.base.path, ...stageHomes(kept.base.path, environment, config.stage.stagePlace)]
    const root = openFurtherRoot(path, others, { project, environment, allows, own })
    const known = opened.get(rootMark(name))
    if (known === undefined || !isSameRoot(known, root)) return root
    closeRoot(root)
    return known
  }
  const use = (name: string, root: Root): void => {
    if (opened.get(rootMark(name)) !== root) closing.push(root)
    opened.set(rootMark(name), root)
    folders.set(name, root.path)
  }

  return {
    opened,
    folders,
    named: () => named,
    take(settings) {
      const taken = new Map<string, Root>()
      named = allRoots(settings).map((said): NamedRoot => {
        const { name, path } = readRoot(said)
        try {
          if (taken.has(name)) return { name, path, why: 'two roots have this name' }
          const root = open(name, path, taken.values(), settings)
          if (names().bind(name, root.path)) {
            use(name, root)
            taken.set(name, root)
            return { name, path: root.path }
          }
          closeRoot(root)
          const why = `what is kept of this project under ${rootMark(name)} is of ${names().path(name)}; call this one by another name`
          return { name, path: root.path, why }
        } catch (fault) {
          return { name, path, why: whyNot(fault) }
        }
      })
    },
    openPending(settings) {
      for (const name of names().pending()) {
        const path = names().path(name)
        if (path === undefined || opened.has(rootMark(name))) continue
        try {
          const root = open(name, path, opened.values(), settings)
          if (root.path === path) use(name, root)
          else closeRoot(root)
        } catch {
          // Not there now: what was left in it waits.
        }
      }
    },
    close() {
      for (const root of closing) closeRoot(root)
    },
  }
}

/** Those of the settings, and the agent's own files, unless a root has that name already. */
function allRoots({ config, identity }: LoadedSettings): readonly string[] {
  if (identity === undefined || config.roots.some((said) => readRoot(said).name === identityRoot)) return config.roots
  return [...config.roots, `${identityRoot}=${identity}`]
}

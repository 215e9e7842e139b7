import { join } from 'node:path'
import type { Written } from '../contracts/tool.ts'
import type { Files } from '../host/files.ts'
import { fingerprint } from '../host/fingerprint.ts'
import { existsAt, fingerprintsAt, mayExecuteAt } from '../host/path-state.ts'
import { asWritten, pathRules, splitPath } from '../host/paths.ts'
import { rootOf } from '../text/root-path.ts'
import type { WorldPort } from '../kernel/ports.ts'
import type { Kept } from '../stores/journal.ts'
import { others } from '../stores/retention.ts'
import { runPromptly } from '../text/steps.ts'
import type { Reach } from './reach.ts'
import type { Stores } from './stores.ts'

/** The project as the kernel sees it: files by the rules in force, changes through the journal. */
export function openWorld(
  { root, rules, links }: Reach,
  files: Files,
  { snapshots, projectLock, rootLocks, pins, journal, audit }: Stores,
  /** Puts right what killed processes left; with the lock held. */
  recover: () => Promise<void>,
): WorldPort {
  const keptBoth = ({ written, pruned }: Kept, call: string): Written[] => {
    const tell = (gone: string[], message: string): void =>
      void (gone.length && audit.note({ event: 'snapshot.pruned', snapshots: gone, call, message }))
    tell(pruned.written, 'older than limits.snapshotRetention')
    tell(
      pruned.others,
      `states Handrail did not write: beyond the newest ${others.stay} of their file and older than ${others.days} days, or beyond the newest ${others.ever}`,
    )
    return written
  }
  const anywhere = pathRules([], [], false, { ...rules.roots })
  /** The further roots of these paths, each with its folder. */
  const rootsOf = (paths: readonly string[]): [string, string][] =>
    [...new Set(paths.map(rootOf))].flatMap((mark): [string, string][] => {
      const other = mark === undefined ? undefined : root.others?.get(mark)
      return mark === undefined || other === undefined ? [] : [[mark, other.path]]
    })
  let changing: Promise<unknown> | undefined
  return {
    normal: (path) => files.normal(path),
    asWritten: (path) => asWritten(path, rules),
    whichRoots: (paths) => rootsOf(paths).map(([mark, folder]) => `${mark} is ${folder}.`),
    read: (path) => files.peek(path),
    hideLinkedSecrets: links.hideLinkedSecrets,
    links: links.scan,
    mayExecute: (path) => mayExecuteAt(root, splitPath(path, rules)),
    exists: (path) => existsAt(root, splitPath(path, anywhere)),
    states: (paths) => runPromptly(fingerprintsAt(root, paths, (path) => splitPath(path, rules))),
    newest: () => snapshots.newest(),
    changedSince: (paths, newest) => snapshots.newest() !== newest && paths.some((path) => snapshots.newest(path) > newest),
    exclusive: (act, signal, paths = []) =>
      projectLock.hold(async () => {
        await recover()
        return rootLocks.hold(
          rootsOf(paths).map(([, folder]) => folder),
          async () => {
            try {
              return await act()
            } finally {
              // A call may give up on its deadline; the lock is held until what it began is done.
              await changing
            }
          },
          signal,
        )
      }, signal),
    // What an agent did and took back again is no longer what the person saw either.
    fingerprint: async (scope, signal) =>
      `${await fingerprint(join(root.path, scope), ['.handrail'], signal)} ${scope === '' ? snapshots.lastChange()?.id : ''}`,
    pin: pins.put,
    pinConflict: pins.conflict,
    async commit(changes, origin, ...told) {
      const paths = changes.map((change) => change.path)
      const held = origin.person ? undefined : pins.conflict(paths, origin.call)
      if (held) throw held
      const linksChange = changes.some(({ form, after }) => form !== undefined || after === null)
      if (linksChange) links.changed()
      const doing = journal.commit(changes, origin, ...told).finally(() => linksChange && links.changed())
      changing = doing.catch(() => undefined)
      return keptBoth(await doing, origin.call)
    },
    record: async (changes, origin) => keptBoth(await journal.record(changes, origin), origin.call),
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'

/** The secrets that a person lets the session of the present call read, as paths; nothing outside of such a call. */
const present = new AsyncLocalStorage<ReadonlySet<string>>()

/** Whatever is done within may read these, and nobody else at the same time. */
export function withSecretGrants<T>(paths: ReadonlySet<string>, act: () => T): T {
  return present.run(paths, act)
}

export function isSecretGranted(path: string): boolean {
  return present.getStore()?.has(path) ?? false
}

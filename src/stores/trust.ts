import type { Loosening } from '../contracts/project-settings.ts'
import type { StateFolder } from '../host/state-folder.ts'

/** The file it is kept in, to be watched by servers. */
export const trustFile = 'trust.json'

/** What a person agreed to: exactly these loosenings, by exactly these bytes, in this project. */
export interface TrustRecord {
  project: string
  digest: string
  at: string
  loosenings: Pick<Loosening, 'key' | 'from' | 'to'>[]
}

export interface TrustStore {
  /** What was trusted, where it is about this project and these bytes. */
  find(digest: string): TrustRecord | undefined
  grant(digest: string, loosenings: readonly Loosening[]): void
  revoke(): boolean
}

/** One trusted file per project: a former one that comes back is asked about again. */
export function openTrust(state: StateFolder, project: string): TrustStore {
  return {
    find(digest) {
      const kept = recordIn(state.read(trustFile))
      return kept?.project === project && kept.digest === digest ? kept : undefined
    },
    grant(digest, loosenings) {
      const record: TrustRecord = {
        project,
        digest,
        at: new Date().toISOString(),
        loosenings: loosenings.map(({ key, from, to }) => ({ key, from, to })),
      }
      state.replace(trustFile, Buffer.from(`${JSON.stringify(record)}\n`))
    },
    revoke() {
      const there = state.has(trustFile)
      state.remove(trustFile)
      return there
    },
  }
}

/** What cannot be read as a record trusts nothing. */
function recordIn(bytes: Buffer | undefined): TrustRecord | undefined {
  if (bytes === undefined) return undefined
  try {
    const { project, digest, at, loosenings } = JSON.parse(bytes.toString('utf8')) as Partial<TrustRecord>
    const whole = typeof project === 'string' && typeof digest === 'string' && Array.isArray(loosenings)
    return whole ? { project, digest, at: String(at), loosenings } : undefined
  } catch {
    return undefined
  }
}

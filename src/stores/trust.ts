import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Loosening, ProjectSettings } from '../contracts/project-settings.ts'
import type { StateFolder } from '../host/state-folder.ts'
import type { AuditStore } from './audit.ts'

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

/** A person's trust in the project's own settings, as they were read. */
export function trusting(
  settings: () => { project: ProjectSettings | undefined; trust: TrustStore },
  audit: Pick<AuditStore, 'write'>,
): Operator['trust'] {
  return {
    grant(digest, by) {
      const { project, trust } = settings()
      const { digest: read, loosenings = [] } = project ?? {}
      if (read === undefined || digest !== read)
        throw new Fault('conflict', 'The project’s settings are not the ones that were to be trusted', {
          details: { expected: digest, found: read ?? null },
          hint: 'Look at the file again: `handrail trust --status`.',
        })
      audit.write({ event: 'trust.granted', by, details: { digest, settings: loosenings.map(({ key }) => key) } }, true)
      trust.grant(digest, loosenings)
    },
    revoke(by) {
      const revoked = settings().trust.revoke()
      if (revoked) audit.write({ event: 'trust.revoked', by }, true)
      return revoked
    },
  }
}

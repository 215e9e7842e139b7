import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Loosening, ProjectSettings } from '../contracts/project-settings.ts'
import type { StateFolder } from '../host/state-folder.ts'
import type { AuditStore } from './audit.ts'

/** The file it is kept in, to be watched by servers. */
export const trustFile = 'trust.json'

/** What a person agreed to: exactly these loosenings, by exactly these bytes, and templates of exactly these bytes, in this project. */
export interface TrustRecord {
  project: string
  /** Of the settings; empty where only templates are trusted. */
  digest: string
  at: string
  loosenings: Pick<Loosening, 'key' | 'from' | 'to'>[]
  templates: TrustedTemplate[]
}

interface TrustedTemplate {
  file: string
  digest: string
  at: string
}

export interface TrustStore {
  /** What was trusted, where it is about this project and these bytes. */
  find(digest: string): TrustRecord | undefined
  grant(digest: string, loosenings: readonly Loosening[]): void
  /** Digests of the templates that were trusted in this project. */
  templates(): ReadonlySet<string>
  /** Trusts one of the templates there are. What was trusted of those that are no longer there is forgotten. */
  grantTemplate(template: Omit<TrustedTemplate, 'at'>, there: readonly string[]): void
  revoke(): boolean
}

/** One trusted file of settings per project, and the templates there are: a former one that comes back is asked about again. */
export function openTrust(state: StateFolder, project: string): TrustStore {
  const now = (): TrustRecord => {
    const kept = recordIn(state.read(trustFile))
    return kept?.project === project ? kept : { project, digest: '', at: '', loosenings: [], templates: [] }
  }
  const keep = (record: TrustRecord): void => state.replace(trustFile, Buffer.from(`${JSON.stringify(record)}\n`))
  return {
    find(digest) {
      const kept = now()
      return kept.digest === digest ? kept : undefined
    },
    grant(digest, loosenings) {
      const shown = loosenings.map(({ key, from, to }) => ({ key, from, to }))
      keep({ ...now(), digest, at: new Date().toISOString(), loosenings: shown })
    },
    templates: () => new Set(now().templates.map(({ digest }) => digest)),
    grantTemplate(template, there) {
      const kept = now()
      const others = kept.templates.filter(({ digest }) => digest !== template.digest && there.includes(digest))
      keep({ ...kept, templates: [...others, { ...template, at: new Date().toISOString() }] })
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
    const { project, digest, at, loosenings, templates = [] } = JSON.parse(bytes.toString('utf8')) as Partial<TrustRecord>
    const whole =
      typeof project === 'string' && typeof digest === 'string' && Array.isArray(loosenings) && Array.isArray(templates)
    const trusted = whole ? templates.filter((one: Partial<TrustedTemplate> | null) => typeof one?.digest === 'string') : []
    return whole ? { project, digest, at: String(at), loosenings, templates: trusted } : undefined
  } catch {
    return undefined
  }
}

/** A person's trust in what the project brings: its settings and its templates, as they were read. */
export function trusting(
  settings: () => { project: ProjectSettings | undefined; trust: TrustStore },
  templates: () => readonly { file: string; digest: string }[],
  audit: Pick<AuditStore, 'write'>,
): Operator['trust'] {
  return {
    grant(digest, by) {
      const { project, trust } = settings()
      const { digest: read, loosenings = [] } = project ?? {}
      const there = templates()
      const template = there.find((one) => one.digest === digest)
      if (read !== undefined && digest === read) {
        audit.write({ event: 'trust.granted', by, details: { digest, settings: loosenings.map(({ key }) => key) } }, true)
        trust.grant(digest, loosenings)
      } else if (template) {
        audit.write({ event: 'trust.granted', by, details: { digest, template: template.file } }, true)
        trust.grantTemplate(
          { file: template.file, digest },
          there.map((one) => one.digest),
        )
      } else
        throw new Fault('conflict', 'The project’s settings and templates are not the ones that were to be trusted', {
          details: { expected: digest, found: read ?? null, templates: there.map((one) => one.digest).slice(0, 20) },
          hint: 'Look at the files again: `handrail trust --status`.',
        })
    },
    revoke(by) {
      const revoked = settings().trust.revoke()
      if (revoked) audit.write({ event: 'trust.revoked', by }, true)
      return revoked
    },
  }
}

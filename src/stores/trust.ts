import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Loosening, ProjectSettings } from '../contracts/project-settings.ts'
import type { StateFolder } from '../host/state-folder.ts'
import type { AuditStore } from './audit.ts'

/** The file it is kept in, to be watched by servers. */
export const trustFile = 'trust.json'

/** What a person agreed to: exactly these loosenings, by exactly these bytes, and templates, skills and prompts of exactly these bytes, in this project. */
export interface TrustRecord {
  project: string
  /** Of the settings; empty where only templates are trusted. */
  digest: string
  at: string
  loosenings: Pick<Loosening, 'key' | 'from' | 'to'>[]
  templates: TrustedFile[]
  /** Skills, by a digest over all of their files, and prompts. */
  texts: TrustedFile[]
}

interface TrustedFile {
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
  grantTemplate(template: Omit<TrustedFile, 'at'>, there: readonly string[]): void
  /** Digests of the skills and prompts that were trusted in this project, by where they lie. */
  texts(): ReadonlyMap<string, string>
  /** Trusts skills or prompts. One that takes the place of another is the only one in it. */
  grantTexts(texts: readonly Omit<TrustedFile, 'at'>[]): void
  revoke(): boolean
}

/** So many skills and prompts of one project are remembered, the newest. */
const mostTexts = 50_000

/** One trusted file of settings per project, and the templates there are: a former one that comes back is asked about again. */
export function openTrust(state: StateFolder, project: string): TrustStore {
  const now = (): TrustRecord => {
    const kept = recordIn(state.read(trustFile))
    return kept?.project === project ? kept : { project, digest: '', at: '', loosenings: [], templates: [], texts: [] }
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
    texts: () => new Map(now().texts.map(({ file, digest }) => [file, digest])),
    grantTexts(texts) {
      const kept = now()
      const at = new Date().toISOString()
      const files = new Set(texts.map(({ file }) => file))
      const others = kept.texts.filter(({ file }) => !files.has(file))
      keep({ ...kept, texts: [...others, ...texts.map((one) => ({ ...one, at }))].slice(-mostTexts) })
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
    const {
      project,
      digest,
      at,
      loosenings,
      templates = [],
      texts = [],
    } = JSON.parse(bytes.toString('utf8')) as Partial<TrustRecord>
    const whole =
      typeof project === 'string' &&
      typeof digest === 'string' &&
      Array.isArray(loosenings) &&
      Array.isArray(templates) &&
      Array.isArray(texts)
    if (!whole) return undefined
    const isFile = (one: Partial<TrustedFile> | null): boolean => typeof one?.digest === 'string' && typeof one.file === 'string'
    return { project, digest, at: String(at), loosenings, templates: templates.filter(isFile), texts: texts.filter(isFile) }
  } catch {
    return undefined
  }
}

/** A person's trust in what the project brings: its settings and its templates, as they were read. */
export function trusting(
  settings: () => { project: ProjectSettings | undefined; trust: TrustStore },
  templates: () => readonly { file: string; digest: string }[],
  /** Skills and prompts, as they were last shown. */
  texts: () => readonly { file: string; digest: string }[],
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
      } else if (texts().some((one) => one.digest === digest)) this.grantTexts([digest], by)
      else
        throw new Fault(
          'conflict',
          'The project’s settings, templates, skills and prompts are not the ones that were to be trusted',
          {
            details: { expected: digest, found: read ?? null, templates: there.map((one) => one.digest).slice(0, 20) },
            hint: 'Look at the files again: `handrail trust --status`.',
          },
        )
    },
    grantTexts(digests, by) {
      const wanted = new Set(digests)
      const granted = texts().filter((one) => wanted.has(one.digest))
      const files = granted.map(({ file }) => file)
      audit.write({ event: 'trust.granted', by, details: { texts: files.slice(0, 20), count: files.length } }, true)
      settings().trust.grantTexts(granted.map(({ file, digest }) => ({ file, digest })))
      return files.length
    },
    revoke(by) {
      const revoked = settings().trust.revoke()
      if (revoked) audit.write({ event: 'trust.revoked', by }, true)
      return revoked
    },
  }
}

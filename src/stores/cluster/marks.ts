import { createHash } from 'node:crypto'
import type { RunRecord } from '../../contracts/run-ports.ts'
import { ownSession } from '../../contracts/run.ts'
import type { Template } from '../../contracts/template.ts'
import type { StepRow } from '../run-steps.ts'

/** A mark under a text that only this machine can make. */
export type Sign = (text: string) => string

/** Everything of a run that says what is done, for whom and under whose rules; as the tables have it. */
export interface Handed {
  id: string
  origin: string
  session_id: string | null
  mode: string
  timeout_ms: number
  submitter: string
  authority: string
}
export interface HandedBody {
  template: string
  inputs: string
  secrets: string | null
  output_schema: string | null
}

const digestOf = (secrets: string | null): string =>
  secrets === null ? '' : createHash('sha256').update(secrets).digest('base64url')

const runText = (run: Handed, body: HandedBody, secrets: string): string =>
  JSON.stringify([
    'run',
    run.id,
    run.origin,
    run.session_id,
    run.mode,
    run.timeout_ms,
    run.submitter,
    run.authority,
    body.template,
    body.inputs,
    body.output_schema,
    secrets,
  ])

/** Secrets go with the end of a run; a digest of how they were sealed stays in its mark. */
export function runMark(sign: Sign, run: Handed, body: HandedBody): string {
  const secrets = digestOf(body.secrets)
  return `${secrets}.${sign(runText(run, body, secrets))}`
}

/** Whether it is as this machine wrote it; `ended`: its secrets may be gone. */
export function isMarked(sign: Sign, run: Handed, body: HandedBody & { mac: string }, ended: boolean): boolean {
  const [secrets = '', mark] = body.mac.split('.', 2)
  const isWhole = secrets === digestOf(body.secrets) || (ended && body.secrets === null)
  return isWhole && mark === sign(runText(run, body, secrets))
}

export function stepMark(sign: Sign, run: string, row: Omit<StepRow, 'at'>): string {
  const { step, item, state, call, output, error, artifacts } = row
  return sign(JSON.stringify(['step', run, step, item, state, call, output, error, artifacts]))
}

/** What was sealed of the inputs. Undefined where it is anything but what the template hides, sealed as it is here. */
export function sealedIn({ secrets: names = [] }: Template, text: string | null): Record<string, unknown> | undefined {
  if (text === null) return {}
  const all = JSON.parse(text) as Record<string, unknown>
  return Object.entries(all).every(([name, value]) => names.includes(name) && isSealed(value)) ? all : undefined
}

function isSealed(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'sealed') return false
  const { sealed } = value as { sealed: unknown }
  return typeof sealed === 'string' && /^[\w-]+$/.test(sealed)
}

/** Apart from the rest, so that they go with the end of the run without anybody taking the rest apart. */
export function splitSecrets({ secrets = [] }: Template, inputs: Record<string, unknown>) {
  const isSecret = ([name]: [string, unknown]): boolean => secrets.includes(name)
  const all = Object.entries(inputs)
  const sealed = all.filter(isSecret)
  return {
    open: Object.fromEntries(all.filter((entry) => !isSecret(entry))),
    sealed: sealed.length > 0 ? Object.fromEntries(sealed) : null,
  }
}

/** Whose run it is said to be is what anybody could have written: it is nobody's here, comes from another machine, and has no session but its own. */
export function asForeign(run: RunRecord): RunRecord {
  const { sessionId, ...rest } = run
  return {
    ...rest,
    origin: { surface: 'cluster', client: 'another machine', session: `foreign:${run.id}`, peer: `address foreign ${run.id}` },
    ...(sessionId !== undefined && { sessionId: ownSession(run.id) }),
  }
}

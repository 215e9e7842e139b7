import { createHash } from 'node:crypto'
import { canonical } from '../../../text/canonical.ts'
import { parseJson } from '../../../text/json.ts'
import { PlaneFault } from './plane-fault.ts'

/** One artifact of a folder, or why it is none. */
export interface Read {
  file: string
  value?: unknown
  digest?: string
  wrong?: string
}

interface Reading {
  call<T>(tool: string, input: object): Promise<T>
  read(path: string): Promise<string>
}

const mostFiles = 200
/** Of one folder, all together: they are held at once, and another folder beside them. */
const mostBytes = 16_777_216
const mostPaths = 200
const longestPath = 1_000
/** What a run did, not what the project is: another one is no violation. */
const nonGating = new Set(['trace.slim.json', 'trial.report.json', 'context.pack.json'])

/** The JSON files of a folder. */
export async function readArtifacts({ call, read }: Reading, folder: string): Promise<Read[]> {
  const { entries } = await call<{ entries: string[] }>('list_files', { path: folder, globs: ['*.json'] })
  const names = entries.filter((one) => /^[^/]+\.json$/.test(one)).toSorted()
  if (names.length > mostFiles) throw new PlaneFault('CLI_INVALID_INPUT', `${folder} holds more than ${mostFiles} artifacts`)
  const found: Read[] = []
  let left = mostBytes
  for (const file of names) {
    const text = await read(`${folder}/${file}`)
    left -= text.length
    if (left < 0) throw new PlaneFault('CLI_INVALID_INPUT', `${folder} holds more than ${mostBytes} bytes of artifacts`)
    await turn()
    try {
      const value = parseJson(text)
      found.push({ file, value, digest: digestOf(value) })
    } catch {
      found.push({ file, wrong: 'JSON' })
    }
  }
  return found
}

interface Judged {
  report: {
    schemaVersion: 1
    kind: string
    status: 'pass' | 'violation' | 'error'
    reasonCodes: string[]
    [field: string]: unknown
  }
  fault?: PlaneFault
}

/** Whether everything is there, is JSON and says what it is. */
export function checkArtifacts(found: readonly Read[], required: readonly string[]): Judged {
  const missing = required.filter((file) => !found.some((one) => one.file === file)).toSorted()
  const broken = found.filter((one) => one.wrong !== undefined).map(({ file }) => file)
  const shapeless = found
    .filter(({ value, wrong }) => wrong === undefined && !isArtifact(value))
    .map(({ file }) => file)
    .filter((file) => !nonGating.has(file))
  const status = broken.length > 0 ? 'error' : missing.length > 0 || shapeless.length > 0 ? 'violation' : 'pass'
  const reasonCodes = [
    ...missing.map((file) => `MISSING_REQUIRED_FILE:${file}`),
    ...(broken.length > 0 ? ['PARSE_ERROR:JSON'] : []),
    ...(shapeless.length > 0 ? ['SHAPE_ERROR'] : []),
  ]
  const report = {
    schemaVersion: 1 as const,
    kind: 'ArtifactValidateReport',
    status,
    reasonCodes,
    files: found.map(({ file, value, digest, wrong }) => ({
      file,
      ok: wrong === undefined && (isArtifact(value) || nonGating.has(file)),
      ...(wrong === undefined && { digest }),
    })),
    missingRequiredFiles: missing,
  } satisfies Judged['report']
  if (status === 'pass') return { report }
  const fault =
    status === 'error'
      ? new PlaneFault('CLI_INVALID_INPUT', `Not JSON: ${broken.join(', ')}`)
      : new PlaneFault(
          'CLI_VIOLATION_ARTIFACT_VALIDATE',
          missing.length > 0 ? `Missing: ${missing.join(', ')}` : `No artifact: ${shapeless.join(', ')}`,
        )
  return { report, fault }
}

const isArtifact = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { kind?: unknown }).kind === 'string' &&
  Number.isInteger((value as { schemaVersion?: unknown }).schemaVersion)

const digestOf = (value: unknown): string => `sha256:${createHash('sha256').update(canonical(value)).digest('hex')}`

/** What changed between two folders: what gates, and apart from it what does not. */
export async function compareArtifacts(before: readonly Read[], after: readonly Read[]): Promise<Judged> {
  const broken = [...before, ...after].filter((one) => one.wrong !== undefined).map(({ file }) => file)
  const sides = [new Map(before.map((one) => [one.file, one])), new Map(after.map((one) => [one.file, one]))] as const
  const added = [...sides[1].keys()].filter((file) => !sides[0].has(file)).toSorted()
  const removed = [...sides[0].keys()].filter((file) => !sides[1].has(file)).toSorted()
  const changed = []
  for (const file of [...sides[0].keys()].toSorted()) {
    const [one, other] = [sides[0].get(file), sides[1].get(file)]
    if (!other || one?.digest === other.digest) continue
    await turn()
    const paths: string[] = []
    const more = differences(one?.value, other.value, '', paths)
    changed.push({ file, gating: !nonGating.has(file), changedPaths: paths, ...(more && { truncated: true }) })
  }
  const gates = (files: readonly string[]): boolean => files.some((file) => !nonGating.has(file))
  const violated = gates(added) || gates(removed) || changed.some(({ gating }) => gating)
  const status = broken.length > 0 ? 'error' : violated ? 'violation' : 'pass'
  const reasonCodes = [
    ...(broken.length > 0 ? ['PARSE_ERROR:JSON'] : []),
    ...(gates(added) ? ['DIFF_ADDED_FILES'] : []),
    ...(gates(removed) ? ['DIFF_REMOVED_FILES'] : []),
    ...(changed.some(({ gating }) => gating) ? ['DIFF_CHANGED_FILES'] : []),
    ...([...added, ...removed].some((file) => nonGating.has(file)) || changed.some(({ gating }) => !gating)
      ? ['DIFF_NON_GATING_CHANGES']
      : []),
  ]
  const report = {
    schemaVersion: 1 as const,
    kind: 'ArtifactDiffReport',
    status,
    reasonCodes,
    added,
    removed,
    changed,
  } satisfies Judged['report']
  if (status === 'pass') return { report }
  return {
    report,
    fault:
      status === 'error'
        ? new PlaneFault('CLI_INVALID_INPUT', `Not JSON: ${broken.join(', ')}`)
        : new PlaneFault(
            'CLI_VIOLATION_ARTIFACT_DIFF',
            `${added.length} added, ${removed.length} removed, ${changed.length} changed`,
          ),
  }
}

/** Large folders are not gone through in one turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Where two values differ, as JSON pointers; answers whether there are more than are listed. Each value is looked at once. */
function differences(before: unknown, after: unknown, at: string, found: string[]): boolean {
  if (before === after) return false
  const isOpen = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (!isOpen(before) || !isOpen(after) || Array.isArray(before) !== Array.isArray(after)) {
    if (found.length >= mostPaths) return true
    found.push(at === '' ? '/' : at.slice(0, longestPath))
    return false
  }
  for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted())
    if (differences(before[key], after[key], `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, found)) return true
  return false
}

import { appendFileSync, readFileSync, statSync } from 'node:fs'
import type { Anchor } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'

const mostBytes = 16 << 20

/** Adds where a log stands now to a file of the person's choice, one JSON line each. */
export function keepAnchor(file: string, anchor: Anchor): void {
  try {
    appendFileSync(file, `${JSON.stringify(anchor)}\n`, { mode: 0o600, flush: true } as object)
  } catch (cause) {
    throw fault(`The anchor cannot be written to ${file}`, cause)
  }
}

/** The anchors of a project that a file holds. */
export function anchorsIn(file: string, project: string): Anchor[] {
  let text: string
  try {
    if (statSync(file).size > mostBytes) throw new Error('it is too large')
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw fault(`The anchors in ${file} cannot be read`, cause)
  }
  const anchors = text.split('\n').flatMap((line) => {
    const anchor = parse(line)
    return anchor && anchor.project === project ? [anchor] : []
  })
  if (anchors.length === 0)
    throw new Fault('bad-input', `${file} holds no anchor of this project`, {
      hint: '`handrail audit anchor --to FILE` adds one. A hash can be given instead of a file.',
    })
  return anchors
}

function parse(line: string): Anchor | undefined {
  try {
    const found = JSON.parse(line) as Partial<Anchor> | null
    return Number.isSafeInteger(found?.seq) && /^[0-9a-f]{64}$/.test(found?.hash ?? '') ? (found as Anchor) : undefined
  } catch {
    return undefined
  }
}

function fault(message: string, cause: unknown): Fault {
  return new Fault('io', `${message}: ${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}`, {
    hint: 'Name a file this user may read and write.',
    cause,
  })
}

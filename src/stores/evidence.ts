import { bounds } from '../contracts/kept.ts'
import { runInSlices, type Steps } from '../text/steps.ts'
import type { StateFolder } from '../host/state-folder.ts'
import { daysAgo } from './retention.ts'

/** What is kept of calls for a person to look at later, beside the log that names it. */
export interface EvidenceStore {
  keep(call: string, kind: string, content: string | Uint8Array): string
  close(): Promise<void> | undefined
}

export interface EvidenceFile {
  name: string
  bytes: number
  changedMs: number
}

export function openEvidence(state: StateFolder): EvidenceStore {
  let folder: StateFolder | undefined
  let tidying: Promise<void> | undefined
  const tidy = function* (own: StateFolder): Steps<void> {
    for (const { name } of yield* evidenceBeyond(own, bounds.evidence.days)) {
      own.remove(name)
      yield
    }
  }
  return {
    keep(call, kind, content) {
      const name = `${call}.${kind}`
      folder ??= state.sub('evidence')
      folder.create(name, Buffer.from(content as string))
      // What cannot be tidied up now is so the next time.
      tidying ??= runInSlices(tidy(folder))
        .catch(() => undefined)
        .finally(() => (tidying = undefined))
      return `evidence/${name}`
    },
    close: () => tidying,
  }
}

/** The oldest beyond number, age and size. */
export function* evidenceBeyond(folder: StateFolder, days: number): Steps<EvidenceFile[]> {
  const { most, bytes: room } = bounds.evidence
  const all: EvidenceFile[] = []
  for (const name of folder.names()) {
    const stat = folder.stat(name)
    if (stat) all.push({ name, bytes: stat.bytes, changedMs: stat.changedMs })
    yield
  }
  all.sort((a, b) => b.changedMs - a.changedMs)
  const least = daysAgo(days)
  let sum = 0
  return all.filter(({ bytes, changedMs }, index) => (sum += bytes) > room || index >= most || changedMs < least)
}

import type { StateFolder } from '../host/state-folder.ts'

/** What is kept of calls for a person to look at later, beside the log that names it. */
export interface EvidenceStore {
  keep(call: string, kind: string, text: string): string
}

export function openEvidence(state: StateFolder): EvidenceStore {
  let folder: StateFolder | undefined
  return {
    keep(call, kind, text) {
      const name = `${call}.${kind}`
      folder ??= state.sub('evidence')
      folder.create(name, Buffer.from(text))
      return `evidence/${name}`
    },
  }
}

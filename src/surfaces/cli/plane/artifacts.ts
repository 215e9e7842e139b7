import { createHash } from 'node:crypto'
import type { ArtifactOutput } from '../../../contracts/command-result.ts'
import { canonical } from '../../../text/canonical.ts'

/** What a command made, before it is known where it goes. */
export interface Made {
  outputKey: string
  kind: string
  value: unknown
  reasonCodes?: string[]
}

/** Sorted keys, two blanks, and a newline at the end. */
export const prettyStable = (value: unknown): string => `${JSON.stringify(JSON.parse(canonical(value)), null, 2)}\n`

export interface Placed {
  artifacts: ArtifactOutput[]
  /** What is to be written, where there is a folder for it. */
  files: { name: string; text: string }[]
}

/** In files of the out folder where there is one, else in the result, cut where it is over the budget. */
export function placeArtifacts(
  made: readonly Made[],
  names: Readonly<Record<string, string>>,
  out: boolean,
  budgetBytes: number | undefined,
): Placed {
  const files: Placed['files'] = []
  const artifacts = made.map(({ outputKey, kind, value, reasonCodes }): ArtifactOutput => {
    const text = canonical(value)
    const bytes = Buffer.byteLength(text)
    const schemaVersion = (value as { schemaVersion?: unknown } | null)?.schemaVersion
    const base = {
      outputKey,
      kind,
      ok: true,
      ...(typeof schemaVersion === 'number' && { schemaVersion }),
      digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
      ...(reasonCodes && { reasonCodes: [...new Set(reasonCodes)].toSorted() }),
      ...(budgetBytes !== undefined && { budgetBytes, actualBytes: bytes }),
    }
    if (out) {
      const name = names[outputKey] ?? `${outputKey}.json`
      files.push({ name, text: prettyStable(value) })
      return { ...base, file: name }
    }
    if (budgetBytes === undefined || bytes <= budgetBytes) return { ...base, inline: JSON.parse(text) as unknown }
    return { ...base, truncated: true, inline: { _tag: 'oversized', bytes, preview: beginning(text, 256) } }
  })
  return { artifacts: artifacts.toSorted((a, b) => (a.outputKey < b.outputKey ? -1 : 1)), files }
}

/** As many whole characters as fit into so many bytes. */
function beginning(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text.slice(0, bytes)).subarray(0, bytes)).replace(/\uFFFD$/, '')
}

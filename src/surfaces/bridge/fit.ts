import type { CliConfig, Outcome } from '../../contracts/bridge.ts'
import type { CommandOutcome } from '../../contracts/command-result.ts'
import { canonical } from '../../text/canonical.ts'

/** An answer beyond this would be more than may wait unread for anybody. */
const mostResult = 2 << 20
const previewBytes = 256

interface Oversized {
  _tag: 'oversized'
  bytes: number
  preview: string
}

/** The beginning of a text, in whole characters. */
function beginning(text: string, most: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(most, bytes.length)
  if (end < bytes.length) while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

const oversized = (text: string, bytes: number): Oversized => ({
  _tag: 'oversized',
  bytes,
  preview: beginning(text, previewBytes),
})

/** The settings within their budget: beyond it their beginning, and that it is one. */
export function fitConfig(found: CliConfig, maxBytes: number): CliConfig {
  if (!found.found || !found.ok) return found
  const text = canonical(found.config)
  const bytes = Buffer.byteLength(text)
  return bytes <= maxBytes ? found : { ...found, config: oversized(text, bytes), truncated: true }
}

/** What a command left, within what one answer may hold: the largest parts are shown by their beginning, as they are under `--budgetBytes`. */
export function fitOutcome(given: CommandOutcome): Outcome {
  if (given.kind !== 'result') return given
  const outcome: Outcome & { kind: 'result' } = { kind: 'result', result: given.result as never, exitCode: given.exitCode }
  const texts = outcome.result.artifacts.map(({ inline }) => (inline === undefined ? '' : canonical(inline)))
  const sizes = texts.map((text) => Buffer.byteLength(text))
  let together = sizes.reduce((sum, one) => sum + one, 0)
  if (together <= mostResult) return outcome
  const cut = new Set<number>()
  for (const at of [...sizes.keys()].sort((one, other) => (sizes[other] as number) - (sizes[one] as number))) {
    if (together <= mostResult) break
    cut.add(at)
    together -= sizes[at] as number
  }
  const artifacts = outcome.result.artifacts.map((artifact, at) => {
    const bytes = sizes[at] as number
    return cut.has(at)
      ? {
          ...artifact,
          inline: oversized(texts[at] as string, bytes),
          truncated: true,
          budgetBytes: mostResult,
          actualBytes: bytes,
        }
      : artifact
  })
  return { ...outcome, result: { ...outcome.result, artifacts } }
}

import type { Diagnostic } from '../contracts/diagnostic.ts'

export interface Checked {
  check: string
  ok: boolean
  diagnostics: readonly Diagnostic[]
}

/** More are not told apart: what is beyond counts as new. */
const most = 2_000

/** A failure, known again although lines were added above it. */
const nameOf = (check: string, { code, message, pointer }: Diagnostic): string =>
  JSON.stringify([check, code, pointer?.file ?? '', message.slice(0, 300)])

/** What fails in the project, each as often as it does. */
export function failuresIn(results: readonly Checked[]): Record<string, number> {
  const found: Record<string, number> = {}
  for (const { check, diagnostics } of results)
    for (const one of errorsOf(diagnostics).slice(0, most)) found[nameOf(check, one)] = (found[nameOf(check, one)] ?? 0) + 1
  return found
}

/** What fails now and did not before, and how much did so before already. */
export function newFailures(
  results: readonly Checked[],
  before: Readonly<Record<string, number>>,
): { fresh: Checked[]; old: number } {
  const left = { ...before }
  let old = 0
  const fresh = results.flatMap((result) => {
    const diagnostics = errorsOf(result.diagnostics).filter((one) => {
      const name = nameOf(result.check, one)
      if (!left[name]) return true
      left[name]--
      old++
      return false
    })
    // What it printed holds the old ones, too.
    return diagnostics.length > 0 ? [{ check: result.check, ok: false, diagnostics }] : []
  })
  return { fresh, old }
}

const errorsOf = (diagnostics: readonly Diagnostic[]): Diagnostic[] => diagnostics.filter(({ severity }) => severity === 'error')

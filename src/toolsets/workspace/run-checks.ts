import Type from 'typebox'
import { checkNames, CheckResult, type CheckEvent } from '../../contracts/diagnostic.ts'
import { asFault, Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { CheckInput, lookAt } from './run-check.ts'
import { defineTool } from './use.ts'

export const runChecks = defineTool({
  name: 'run_checks',
  title: 'Type check, lint and test the project',
  description:
    "Run the project's type check, linter and tests and get what they found: file, line, column, message, and a command a person can run. Finds the tools by package.json and their settings: tsc, eslint, biome, oxlint, vitest, jest, mocha, node --test; anything else by its script. Each runs on a stage without network, and nothing that it writes reaches the project. ok of a result is false where something is wrong; that is an answer, not an error.",
  risk: 'R0',
  input: Type.Object(
    {
      checks: Type.Array(Type.Enum([...checkNames], { type: 'string' }), { maxItems: 16 }),
      ...CheckInput,
    },
    closed,
  ),
  output: Type.Object({ ok: Type.Boolean(), results: Type.Array(CheckResult) }, closed),
  faults: ['path-denied', 'not-found', 'cancelled', 'unsupported', 'io'],
  examples: [
    {
      says: 'nothing is set up',
      given: { 'package.json': '{"name":"plain"}' },
      input: { checks: ['lint'] },
      output: { ok: false },
    },
    { says: 'no check, no result', input: { checks: [] }, output: { ok: true, results: [] } },
  ],
  unhurried: true,
  async execute({ checks, cwd = '', timeoutMs }, { files, call }, context) {
    const results: CheckResult[] = []
    const tell = (event: CheckEvent): void => context.tell(event)
    for (const [index, check] of checks.entries()) {
      context.progress(index, checks.length, check)
      tell({ kind: 'check.started', payload: { check } })
      const began = performance.now()
      const input = { check, cwd, ...(timeoutMs !== undefined && { timeoutMs }) }
      let result: CheckResult
      let over: Fault | undefined
      try {
        context.signal.throwIfAborted()
        result = (await call('run_check', input, context, { signal: context.signal })) as CheckResult
      } catch (thrown) {
        over = context.signal.aborted ? cancelled() : asFault(thrown)
        const { endedResult } = await import('./checks/results.ts')
        const ended = over.reason === 'timeout' || over.reason === 'over-limit' || over.reason === 'cancelled'
        result = endedResult(over, Math.round(performance.now() - began), await lookAt(files, check, cwd))
        if (ended && over.reason !== 'cancelled') over = undefined
      }
      results.push(result)
      const { ok, exitCode, durationMs, diagnostics } = result
      if (diagnostics.length > 0) tell({ kind: 'check.diagnostics', payload: { check, diagnostics } })
      tell({ kind: 'check.finished', payload: { check, ok, exitCode, durationMs } })
      // What was found before is not lost: whoever cancelled gets it with the fault.
      if (over)
        throw new Fault(over.reason, over.message, {
          details: { ...over.details, results },
          ...(over.hint !== undefined && { hint: over.hint }),
          cause: over,
        })
    }
    context.progress(checks.length, checks.length)
    return { ok: results.every((one) => one.ok), results }
  },
})

const cancelled = (): Fault =>
  new Fault('cancelled', 'The checks were cancelled', { hint: 'details.results holds those that came to an end.' })

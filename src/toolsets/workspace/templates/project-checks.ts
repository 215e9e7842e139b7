import type { Template } from '../../../contracts/template.ts'

export const projectChecks: Template = {
  id: 'project_checks',
  version: '1.0.0',
  title: 'Type check, lint and test the project',
  description:
    'Runs the checks of the project one after the other on a stage. A check that finds something is part of the result, with file, line, column and a command to run; the run itself is done.',
  trust: ['local'],
  inputs: {
    type: 'object',
    properties: {
      checks: { type: 'array', minItems: 1, maxItems: 3, uniqueItems: true, items: { enum: ['typecheck', 'lint', 'test'] } },
      cwd: { type: 'string', maxLength: 4_096, default: '' },
      timeout_ms: { type: 'integer', minimum: 1_000, maximum: 600_000, default: 120_000 },
    },
    required: ['checks'],
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: { summary: { type: 'object' }, items: { type: 'array' } },
    required: ['summary', 'items'],
  } as Template['results'],
  example: { checks: ['typecheck', 'lint', 'test'] },
  limits: { timeoutMs: 600_000, maxItems: 3, partial: 0 },
  expects: { msPerItem: 10_000 },
  steps: [
    {
      id: 'check',
      tool: 'run_check',
      each: 'inputs.checks',
      input: { check: { $: 'item' }, cwd: { $: 'inputs.cwd' }, timeoutMs: { $: 'inputs.timeout_ms' } },
      report: { check: { $: 'item' }, success: { $: 'success' }, result: { $: 'output' }, error: { $: 'error' } },
      timeoutMs: 600_000,
    },
  ],
  result: { summary: { $: 'steps.check.summary' }, items: { $: 'steps.check.items' } },
}

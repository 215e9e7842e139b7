import type { Template } from '../../contracts/template.ts'

export const batchValidate: Template = {
  id: 'batch_validate',
  version: '1.0.0',
  title: 'Check many scenes',
  description:
    'Checks WebGAL scenes one by one. A scene that the engine would misread, or that cannot be read, is a failed item with its reason.',
  trust: ['local', 'remote'],
  inputs: {
    type: 'object',
    properties: {
      paths: { type: 'array', minItems: 1, maxItems: 1_000, items: { type: 'string', minLength: 1, maxLength: 4_096 } },
    },
    required: ['paths'],
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: { summary: { type: 'object' }, items: { type: 'array' } },
    required: ['summary', 'items'],
  } as Template['results'],
  example: { paths: ['game/scene/start.txt'] },
  limits: { timeoutMs: 600_000, maxItems: 1_000, partial: 0.5 },
  expects: { msPerItem: 50 },
  steps: [
    {
      id: 'check',
      tool: 'validate_script',
      each: 'inputs.paths',
      input: { path: { $: 'item' } },
      check: 'valid',
      timeoutMs: 60_000,
    },
  ],
  result: { summary: { $: 'steps.check.summary' }, items: { $: 'steps.check.items' } },
}

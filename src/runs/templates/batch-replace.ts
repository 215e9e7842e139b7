import type { Template } from '../../contracts/template.ts'

export const batchReplace: Template = {
  id: 'batch_replace',
  version: '1.0.0',
  title: 'Replace in many files',
  description:
    'Replaces text in many files at once, all of them or none: one change, one card where a person is asked, one undo. The diff of every file is looked at first.',
  trust: ['local'],
  inputs: {
    type: 'object',
    properties: {
      paths: { type: 'array', minItems: 1, maxItems: 1_000, items: { type: 'string', minLength: 1, maxLength: 4_096 } },
      find: { type: 'string', minLength: 1, maxLength: 65_536 },
      replace: { type: 'string', maxLength: 65_536 },
      flags: { type: 'string', maxLength: 8 },
    },
    required: ['paths', 'find', 'replace'],
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: { count: { type: 'integer' }, files: { type: 'array' }, snapshots: { type: 'array' } },
    required: ['count', 'files'],
  } as Template['results'],
  example: { paths: ['game/scene/start.txt'], find: 'Mara', replace: 'Mira' },
  limits: { timeoutMs: 300_000, maxItems: 1_000 },
  expects: { ms: 2_000, msPerItem: 10 },
  steps: [
    {
      id: 'replace',
      tool: 'replace_in_files',
      input: {
        paths: { $: 'inputs.paths' },
        find: { $: 'inputs.find' },
        replace: { $: 'inputs.replace' },
        flags: { $: 'inputs.flags' },
      },
    },
  ],
  result: { count: { $: 'steps.replace.output.count' }, files: { $: 'steps.replace.output.files' } },
}

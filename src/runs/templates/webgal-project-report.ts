import type { Template } from '../../contracts/template.ts'

export const webgalProjectReport: Template = {
  id: 'webgal_project_report',
  version: '1.0.0',
  title: 'Report on a WebGAL game',
  description:
    'Every diagnostic of every scene, resources that no scene uses, lines and words per character, and how the scenes lead to each other. The whole of it is the artifact.',
  trust: ['local', 'remote'],
  inputs: {
    type: 'object',
    properties: { limit: { type: 'integer', minimum: 0, maximum: 10_000, description: 'Most diagnostics in the report' } },
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: { report: { type: 'object' }, graph: { type: 'object' } },
    required: ['report', 'graph'],
  } as Template['results'],
  example: { limit: 200 },
  limits: { timeoutMs: 300_000 },
  expects: { ms: 5_000 },
  steps: [
    { id: 'report', tool: 'project_report', input: { limit: { $: 'inputs.limit' } } },
    { id: 'graph', tool: 'scene_graph', input: {} },
  ],
  result: { report: { $: 'steps.report.output' }, graph: { $: 'steps.graph.output' } },
}

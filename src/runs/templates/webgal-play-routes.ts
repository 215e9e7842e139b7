import type { Template } from '../../contracts/template.ts'

export const webgalPlayRoutes: Template = {
  id: 'webgal_play_routes',
  version: '1.0.0',
  title: 'Play every route of a WebGAL game',
  description:
    'The game is played in the real engine along every route up to a limit: crashes, dead ends, missing files, scenes never reached, lines never shown. filmstrip names the HTML file of the project that gets a picture of every scene.',
  trust: ['local'],
  inputs: {
    type: 'object',
    properties: {
      maxRoutes: { type: 'integer', minimum: 1, maximum: 500 },
      maxSeconds: { type: 'integer', minimum: 5, maximum: 3_600 },
      filmstrip: { type: 'string', pattern: '\\.html$' },
      against: { type: 'string', pattern: '\\.html$' },
    },
    required: ['filmstrip'],
    additionalProperties: false,
  } as Template['inputs'],
  results: { type: 'object', properties: { played: { type: 'object' } }, required: ['played'] } as Template['results'],
  example: { maxRoutes: 30, filmstrip: 'filmstrip.html' },
  limits: { timeoutMs: 3_700_000 },
  expects: { ms: 120_000 },
  steps: [
    {
      id: 'play',
      tool: 'play_routes',
      input: {
        maxRoutes: { $: 'inputs.maxRoutes' },
        maxSeconds: { $: 'inputs.maxSeconds' },
        pictures: true,
        against: { $: 'inputs.against' },
      },
    },
    { id: 'save', tool: 'save_filmstrip', input: { film: { $: 'steps.play.output.film' }, path: { $: 'inputs.filmstrip' } } },
  ],
  result: { played: { $: 'steps.play.output' } },
}

import { Locator, WaitFor } from '../find.ts'
import { Extract } from '../visit.ts'

/** Pieces that the inputs of several templates are made of. */

export const address: object = { type: 'string', minLength: 1, maxLength: 8_192 }

export const urls = (most: number): object => ({ type: 'array', minItems: 1, maxItems: most, items: address })

export const atOnce: object = { type: 'integer', minimum: 1, maximum: 5, default: 3, description: 'Pages at once' }

export const extract: object = Extract

export const locator: object = Locator

export const wait: object = WaitFor

/** What is told of a page that was visited, or why it was not. */
export const reported = {
  url: { $: 'item' },
  success: { $: 'success' },
  title: { $: 'output.title' },
  elementCount: { $: 'output.elementCount' },
  pageInfo: { $: 'output.pageInfo' },
  content: { $: 'output.content' },
  contentLength: { $: 'output.contentLength' },
  truncated: { $: 'output.truncated' },
  evidence: { $: 'output.evidence' },
  artifacts: { $: 'artifacts' },
  error: { $: 'error' },
}

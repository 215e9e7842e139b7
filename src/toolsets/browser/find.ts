import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import type { Find, LeasedPage, Wait } from './use.ts'

const words = (description: string) => Type.String({ minLength: 1, maxLength: 1_000, description })

/** Locator of seed 002. */
export const Locator = Type.Unsafe<Find>({
  anyOf: [
    Type.Object({ mode: Type.String({ const: 'selector' }), selector: words('CSS selector') }, closed),
    Type.Object({ mode: Type.String({ const: 'semantic' }), query: words('Its label, its name or the words on it') }, closed),
  ],
})

const kinds = ['selector', 'urlContains', 'textIncludes', 'stable']

/** Wait of seed 002. */
export const WaitFor = Type.Unsafe<Wait>({
  ...Type.Object(
    {
      type: Type.Enum(kinds, { type: 'string' }),
      value: Type.Optional(words('What is waited for; not for stable')),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 120_000, default: 10_000 })),
    },
    closed,
  ),
  if: { properties: { type: { enum: kinds.slice(0, 3) } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
  then: { required: ['type', 'value'] },
})

/** What should have come and did not is told with where the page is instead, and with what it was not let send. */
export async function mustCome(page: LeasedPage, wait: Wait | undefined, what: string): Promise<void> {
  if (!wait || (await page.waitFor(wait))) return
  const { url } = await page.where()
  const notSent = page.takeNotSent()
  throw new Fault('page-timeout', `${what} did not come: ${url.slice(0, 200)}`, {
    details: { waitedFor: wait, url: url.slice(0, 2_000), ...(notSent.length > 0 && { notSent }) },
    hint:
      notSent.length > 0
        ? 'The page wanted to send something, and only pages are asked for here. Use the template submit_and_verify, which asks a person.'
        : 'Wait for something else, or allow more time.',
  })
}

import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'

/**
 * What an attack made us use of memory or processor. No test fails by it: on another machine it is another number. `npm run bench -- ceilings` runs
 * the same attacks at their full length and sets each beside what it should stay below.
 */
export function ceiling(unit: 'MB' | 's', used: number, most: number): void {
  const file = process.env['HANDRAIL_CEILINGS']
  if (file === undefined) return
  const what = expect.getState().currentTestName
  appendFileSync(file, `${JSON.stringify({ what, unit, used, most })}\n`)
}

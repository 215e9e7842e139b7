import { test } from 'vitest'
import { requirements, type RequirementId } from '../requirements.ts'

/** A test that proves one promise of a contract; `npm run proof` prints both side by side. */
export function proves(id: RequirementId, name: string, run: () => Promise<void> | void): void {
  if (!(id in requirements)) throw new Error(`no such requirement: ${id}`)
  test(`[${id}] ${name}`, run)
}

import { test } from 'vitest'
import { requirements, type RequirementId } from '../requirements.ts'

/** A test that proves a promise of a contract, or several at once; `npm run proof` prints each beside its tests. */
export function proves(ids: RequirementId | readonly RequirementId[], name: string, run: () => Promise<void> | void): void {
  const named = [ids].flat() as RequirementId[]
  for (const id of named) if (!(id in requirements)) throw new Error(`no such requirement: ${id}`)
  test(`[${named.join(' ')}] ${name}`, run)
}

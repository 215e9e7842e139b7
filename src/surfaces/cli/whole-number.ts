import { Fault } from '../../contracts/faults/fault.ts'

/** The longest a timer can wait, in milliseconds; one that is set for longer goes off at once. */
export const longestTimer = 2_147_483_647

/** A number that was given as an option; nothing where none was. */
export function wholeNumber(given: string | boolean | undefined, name: string, least: number, most: number): number | undefined {
  if (given === undefined) return undefined
  const number = Number(given)
  if (typeof given === 'string' && given.trim() !== '' && Number.isInteger(number) && number >= least && number <= most)
    return number
  throw new Fault('bad-input', `--${name} must be a whole number from ${least} to ${most}`, {
    hint: `Not ${String(given).slice(0, 40)}.`,
  })
}

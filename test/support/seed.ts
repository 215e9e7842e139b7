import { createHash, randomBytes } from 'node:crypto'

/** The seed of this run, printed as it begins: `HANDRAIL_SEED=<it> npm test <file>` draws the same again. */
export const seed = Number(process.env['HANDRAIL_SEED'] ?? randomBytes(4).readUInt32LE())

/** Numbers below a bound: the same for the same seed and purpose, whatever else is drawn and whichever tests run. */
export function draws(purpose: string): (below: number) => number {
  let drawn = 0
  return (below) => createHash('sha256').update(`${seed}/${purpose}/${drawn++}`).digest().readUInt32BE() % below
}

/** Words of letters, drawn likewise. */
export function drawsWords(purpose: string): (length: number, letters: string) => string {
  const below = draws(purpose)
  return (length, letters) => Array.from({ length }, () => letters[below(letters.length)]).join('')
}

/** Noise, drawn likewise. */
export function drawBytes(purpose: string, length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, at) =>
    createHash('sha256').update(`${seed}/${purpose}/${at}`).digest(),
  )
  return Buffer.concat(blocks).subarray(0, length)
}

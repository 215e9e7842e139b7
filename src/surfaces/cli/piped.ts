import { Fault } from '../../contracts/faults/fault.ts'

/** Input of a tool, a run or a plan: more than any of them takes. */
export const mostPiped = 32 << 20

/** All that is piped in; whoever pipes without end is not listened to for longer than there is use for it. */
export async function piped(most = mostPiped): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of process.stdin as AsyncIterable<string | Buffer>) {
    pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece)
    bytes += pieces.at(-1)?.length ?? 0
    if (bytes > most) throw new Fault('too-large', `More than ${most} bytes were piped in`, { hint: 'Nothing was done with it.' })
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}

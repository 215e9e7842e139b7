import type { Config } from '../contracts/config.ts'
import type { Extent } from '../contracts/stage.ts'
import { tooMuch } from './extent.ts'

/** So many programs as large as may be, within the hour. */
const times = 10

/** What programs did unasked adds up: little by little, nobody removes or fills a project without a question. Why a person is asked about one that is little by itself. */
export function cumulativeExcess(before: Extent, extent: Extent, policies: Config['policies']): string[] {
  const most = {
    ...policies,
    unaskedRemovals: policies.unaskedRemovals * times,
    unaskedFiles: policies.unaskedFiles * times,
    unaskedBytes: policies.unaskedBytes * times,
  }
  const all = {
    removals: before.removals + extent.removals,
    files: before.files + extent.files,
    bytes: before.bytes + extent.bytes,
  }
  return tooMuch(all, most).map((why) => `${why}, together with what programs did unasked within the hour`)
}

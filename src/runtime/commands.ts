import type { CliPlane } from '../contracts/command-result.ts'
import type { Operator } from '../contracts/operator.ts'
import { openCliPlane } from '../surfaces/cli/plane/plane.ts'

/** The one-shot commands on a runtime; who calls says with each command who it is. */
export function commandsOf(operator: Operator): CliPlane {
  return openCliPlane({
    call: operator.call,
    project: operator.project,
    version: operator.version,
    settingsText: () => operator.projectSettings?.text,
  })
}

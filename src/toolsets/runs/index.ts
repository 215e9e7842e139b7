import { cancelTaskRun } from './cancel-task-run.ts'
import { getArtifact } from './get-artifact.ts'
import { getRuntimeProfile } from './get-runtime-profile.ts'
import { getTaskRun } from './get-task-run.ts'
import { listTaskRuns } from './list-task-runs.ts'
import { listTaskTemplates } from './list-task-templates.ts'
import { runTaskTemplate } from './run-task-template.ts'
import { subscribeTaskRunEvents } from './subscribe-task-run-events.ts'

/** Work that outlives its request (contract 002). */
export const runs = [
  listTaskTemplates,
  runTaskTemplate,
  getTaskRun,
  listTaskRuns,
  cancelTaskRun,
  getArtifact,
  getRuntimeProfile,
  subscribeTaskRunEvents,
]
export type { RunsUse } from './use.ts'

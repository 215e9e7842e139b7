import { anchorIndex } from './anchor-index.ts'
import { applyPatchPlan } from './apply-patch-plan.ts'
import { planAutofill } from './plan-autofill.ts'
import { planTransform } from './plan-transform.ts'
import { runCheck } from './run-check.ts'
import { runChecks } from './run-checks.ts'
import { trialRun } from './trial-run.ts'
import { writeArtifacts } from './write-artifacts.ts'

export type { WorkspaceUse } from './use.ts'

/** What a workspace of JavaScript or TypeScript can be asked for: its checks, its definitions, and changes of these by plan. */
export const workspace = [runChecks, runCheck, anchorIndex, planAutofill, planTransform, applyPatchPlan, trialRun, writeArtifacts]

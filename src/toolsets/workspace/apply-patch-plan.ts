import Type from 'typebox'
import { PatchPlan, WriteBackResult } from '../../contracts/anchors.ts'
import { closed } from '../../contracts/shapes.ts'
import type { ParseCall } from '../../host/source-parser.ts'
import type { Rewritten } from './anchors/patch-plan.ts'
import { defineTool, parserFor, type WorkspaceUse } from './use.ts'

export const applyPatchPlan = defineTool({
  name: 'apply_patch_plan',
  title: 'Carry out a patch plan',
  description:
    'Carry out a plan of plan_autofill or plan_transform. Of each file all of it or nothing: a file that is not the one the plan was made for, or that would not be a program any more, is left as it is, and failed says why. What is written can be undone.',
  risk: 'R1',
  input: Type.Object({ plan: PatchPlan }, closed),
  output: WriteBackResult,
  faults: ['path-denied', 'conflict', 'policy', 'busy', 'unsupported', 'io'],
  examples: [
    {
      says: 'an empty plan',
      input: {
        plan: {
          schemaVersion: 1,
          kind: 'PatchPlan',
          mode: 'write' as const,
          operations: [],
          summary: { operationsTotal: 0, writableTotal: 0, skippedTotal: 0, failedTotal: 0 },
        },
      },
      output: { modifiedFiles: [], skipped: [], failed: [] },
    },
  ],
  private: ['plan'],
  touches: ({ plan }) => filesOf(plan).map((path) => ({ path, access: 'write' as const })),
  async card({ plan }, use) {
    const { texts } = await carriedOut(plan, use)
    const changes = []
    for (const [path, { before, after }] of texts) changes.push({ path, diff: await use.diffs.lines(before, after) })
    return { title: `Change ${texts.size === 1 ? 'one file' : `${texts.size} files`} by a patch plan`, changes }
  },
  async drafts({ plan }, use) {
    return [...(await carriedOut(plan, use)).texts].map(([path, { after }]) => ({ path, text: after }))
  },
  async execute({ plan }, use, call) {
    const { texts, skipped, failed } = await carriedOut(plan, use, call)
    if (texts.size > 0) await call.change([...texts].map(([path, { after }]) => ({ path, content: Buffer.from(after) })))
    return {
      schemaVersion: 1,
      kind: 'WriteBackResult',
      mode: 'write' as const,
      modifiedFiles: [...texts.keys()].toSorted().map((file) => ({ file, changeKind: 'updated' as const })),
      skipped,
      failed,
    }
  },
})

const filesOf = ({ operations }: PatchPlan): string[] => [
  ...new Set(operations.filter(({ decision }) => decision === 'write').map(({ file }) => file)),
]

/** Cards are made for whoever is asked, so all of them share one place in the line. */
const forCards: ParseCall = { client: 'cards' }

async function carriedOut(plan: PatchPlan, { files, sources }: WorkspaceUse, call = forCards): Promise<Rewritten> {
  const { carryOut } = await import('./anchors/patch-plan.ts')
  const operations = plan.operations.map((op) => ({ ...op, file: op.decision === 'write' ? files.normal(op.file) : op.file }))
  return carryOut(files, parserFor(sources, call), { operations }, call.signal)
}

import type { Factory, PatchPlan, PatchPreview, Span, TransformDelta } from '../../../contracts/anchors.ts'
import type { Files } from '../../../host/files.ts'
import { objectsNamed } from './definitions.ts'
import { makePlan, openSource, opKeyOf, previewOf, type Wish } from './patch-plan.ts'
import { placesIn, propertiesOf, unwrapped, type Node, type Parse } from './syntax.ts'

interface OpReport {
  [field: string]: unknown
  file: string
  op: string
  path: string
  status: 'planned' | 'noop' | 'skipped'
  reason?: string
  opKey?: string
}

/** What deltas come to, op by op, in their own order. */
export async function transform(
  files: Files,
  parse: Parse,
  factories: readonly Factory[],
  deltas: readonly TransformDelta[],
  signal: AbortSignal,
): Promise<{ plan: PatchPlan; preview: PatchPreview; ops: OpReport[] }> {
  const wishes = new Map<string, Wish>()
  const ops: OpReport[] = []
  for (const { target, ops: wanted } of deltas) {
    const file = files.normal(target.file)
    const opened = await openSource(files, parse, file)
    signal.throwIfAborted()
    const place = 'source' in opened ? placesIn(opened.source.text) : undefined
    const named = 'source' in opened ? objectsNamed(opened.source.syntax, opened.source.text, factories, target) : []
    for (const op of wanted) {
      const path = op.path ?? []
      const report: OpReport = { file, op: op.op, path: [...path, op.name].join('.'), status: 'planned' }
      ops.push(report)
      const skip = (reason: string): void => void Object.assign(report, { status: 'skipped', reason })
      if ('reason' in opened) {
        skip(opened.reason)
        continue
      }
      const objects = named.flatMap((one) => within(one, path) ?? [])
      const [object] = objects
      if (!object || !place || objects.length > 1) {
        skip(object ? 'rewriter.target.object_ambiguous' : 'rewriter.target.object_not_found')
        continue
      }
      const targetSpan: Span = place(object.start, object.end)
      const wish: Wish = {
        file,
        targetSpan,
        property: { name: op.name, valueCode: op.value },
        reasonCodes: [`transform.op=${op.op}`],
      }
      report.opKey = opKeyOf(wish)
      // The same twice is once.
      if (!wishes.has(report.opKey)) wishes.set(report.opKey, wish)
    }
  }
  const plan = await makePlan(files, parse, [...wishes.values()], 'report', signal)
  const operations = new Map(plan.operations.map((one) => [one.opKey, one]))
  for (const report of ops) {
    const planned = operations.get(report.opKey ?? '')
    if (planned?.decision === 'skip') report.status = 'noop'
    else if (planned?.decision === 'fail') report.status = 'skipped'
    if (planned && planned.decision !== 'write') report.reason = planned.reasonCodes[1] ?? planned.reasonCodes[0] ?? ''
  }
  return { plan, preview: await previewOf(files, parse, plan, signal), ops }
}

/** The object literal that a path of property names leads to, each written out in place. */
function within(object: Node, path: readonly string[]): Node | undefined {
  let at: Node | undefined = object
  for (const name of path) {
    const property: Node | undefined = at && propertiesOf(at).names.get(name)
    const value: Node | undefined = property?.['kind'] === 'init' ? unwrapped(property['value']) : undefined
    at = value?.type === 'ObjectExpression' ? value : undefined
  }
  return at
}

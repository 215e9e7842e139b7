import type { AutofillTarget, Definition, Factory, PatchPlan, PatchPreview } from '../../../contracts/anchors.ts'
import type { Files } from '../../../host/files.ts'
import { indexSources, type KnownAnchors } from './index-sources.ts'
import { byText, makePlan, previewOf, type Wish } from './patch-plan.ts'
import type { Parse } from './syntax.ts'

export interface Autofilled {
  plan: PatchPlan
  preview: PatchPreview
  /** Of each definition what is filled in, and what is left as it is and why; by file, id and field. */
  changes: { file: string; moduleId?: string; decisions: Decision[] }[]
}

type Decision = { kind: string } & (
  | { status: 'written'; changes: { field: string; valueCode: string }[] }
  | { status: 'skipped'; reason: Reason }
)
interface Reason {
  code: string
  message: string
}

const reasons = {
  already_declared: 'The author has declared it',
  unsafe_to_patch: 'The object holds what is only known when it runs',
  unsupported_shape: 'It is not written out in place',
} as const

export async function autofill(
  files: Files,
  parse: Parse,
  factories: readonly Factory[],
  options: { folder: string; signal: AbortSignal; known: KnownAnchors },
): Promise<Autofilled> {
  const { signal } = options
  const index = await indexSources(files, parse, factories, options)
  const filling = factories.filter(({ fields }) => fields && fields.length > 0)
  const fieldsOf = new Map(filling.map((one) => [`${one.module}#${one.callee}`, one.fields ?? []]))
  const wishes: Wish[] = []
  const changes: Autofilled['changes'] = []
  const definitions = index.entries.filter((one): one is Definition => one.kind !== 'AutofillTarget')
  const targets = new Map(
    index.entries
      .filter((one): one is AutofillTarget => one.kind === 'AutofillTarget')
      .map((one) => [placeOf(one.file, one.target.defSpan), one]),
  )
  for (const definition of definitions) {
    const fields = fieldsOf.get(definition.factory)
    if (!fields || !definition.defSpan) continue
    const target = targets.get(placeOf(definition.file, definition.defSpan))
    const decisions = fields.map(({ name }): Decision => {
      const missing = target?.missing.find(({ field }) => field === name)
      if (missing) return { kind: name, status: 'written', changes: [{ field: name, valueCode: missing.valueCode }] }
      const code = definition.properties?.includes(name) ? 'already_declared' : 'unsafe_to_patch'
      return { kind: name, status: 'skipped', reason: { code, message: reasons[code] } }
    })
    changes.push({ file: definition.file, moduleId: definition.idLiteral, decisions })
    for (const { field, valueCode } of target?.missing ?? [])
      wishes.push({
        file: definition.file,
        targetSpan: definition.defSpan,
        property: { name: field, valueCode },
        reasonCodes: [`autofill.target=${definition.kind}:${definition.idLiteral}`, `autofill.anchor=${definition.entryKey}`],
      })
  }
  for (const { file, reasonCodes } of index.rawMode)
    if (filling.some(({ kind }) => reasonCodes[0]?.startsWith(kind.replace(/Def$/, '').toLowerCase())))
      changes.push({
        file,
        decisions: [
          { kind: 'raw', status: 'skipped', reason: { code: 'unsupported_shape', message: reasons.unsupported_shape } },
        ],
      })
  const plan = await makePlan(files, parse, wishes, 'report', signal)
  return {
    plan,
    preview: await previewOf(files, parse, plan, signal),
    changes: changes.toSorted((a, b) => byText(a.file, b.file) || byText(a.moduleId ?? '', b.moduleId ?? '')),
  }
}

const placeOf = (file: string, span: Definition['span']): string => `${file}:${span.start.offset}:${span.end.offset}`

import { createHash } from 'node:crypto'
import type { FilePatch, PatchOperation, PatchPlan, PatchPreview, Span, WriteBackResult } from '../../../contracts/anchors.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Files } from '../../../host/files.ts'
import { canonical } from '../../../text/canonical.ts'
import { addProperty, applyEdits, objectsAt, type Edit, type Parse, type Verdict } from './rewrite.ts'
import { eachNode, placesIn, propertiesOf, type Syntax } from './syntax.ts'

/** Something a plan shall do, before it is known whether it can be. */
export interface Wish {
  file: string
  targetSpan: Span
  property: { name: string; valueCode: string }
  reasonCodes: string[]
}

export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Named by what it does, so that the same wish has the same name in every plan. */
export function opKeyOf({ file, targetSpan, property }: Pick<PatchOperation, 'file' | 'targetSpan' | 'property'>): string {
  const named = createHash('sha256')
    .update(canonical({ kind: 'AddObjectProperty', file, targetSpan, property }))
    .digest('hex')
  return `AddObjectProperty:${named.slice(0, 16)}`
}

/** A source file as the bytes say, and what it is made of. */
export interface Source {
  text: string
  digest: string
  syntax: Syntax
}

export type Opened = { source: Source } | { reason: string }

/** Not there, not text, and not a program are reasons, not faults. What may not be read at all is a fault. */
export function openSource(files: Files, parse: Parse, file: string): Opened {
  let bytes: Buffer
  let text: string
  try {
    bytes = files.read(file)
    text = files.readText(file)
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.reason === 'path-denied') throw fault
    return { reason: fault.reason === 'not-found' ? 'rewriter.file.not_found' : 'rewriter.file.not_text' }
  }
  const syntax = parse(file, text)
  return syntax.broken ? { reason: 'rewriter.file.not_parsed' } : { source: { text, digest: digestOf(bytes), syntax } }
}

/** Report and write plans for the same input are the same but for `mode`. */
export function makePlan(files: Files, parse: Parse, wishes: readonly Wish[], mode: PatchPlan['mode']): PatchPlan {
  const opened = new Map<string, Opened>()
  const operations = wishes.map((wish): PatchOperation => {
    const known = opened.get(wish.file) ?? openSource(files, parse, wish.file)
    opened.set(wish.file, known)
    const base = {
      opKey: opKeyOf(wish),
      file: wish.file,
      kind: 'AddObjectProperty' as const,
      targetSpan: wish.targetSpan,
      property: wish.property,
    }
    if ('reason' in known) return { ...base, decision: 'fail', reasonCodes: [known.reason, ...wish.reasonCodes] }
    const verdict = judge(wish, known.source, parse)
    const why = verdict.decision === 'write' ? [] : [verdict.reason]
    return {
      ...base,
      expectedFileDigest: known.source.digest,
      decision: verdict.decision,
      reasonCodes: [`rewriter.planned.${verdict.decision}`, ...why, ...wish.reasonCodes],
    }
  })
  const sorted = operations.toSorted(
    (a, b) =>
      byText(a.file, b.file) ||
      a.targetSpan.start.offset - b.targetSpan.start.offset ||
      a.targetSpan.end.offset - b.targetSpan.end.offset ||
      byText(a.property.name, b.property.name),
  )
  const total = (decision: PatchOperation['decision']): number => sorted.filter((one) => one.decision === decision).length
  return {
    schemaVersion: 1,
    kind: 'PatchPlan',
    mode,
    operations: sorted,
    summary: {
      operationsTotal: sorted.length,
      writableTotal: total('write'),
      skippedTotal: total('skip'),
      failedTotal: total('fail'),
    },
  }
}

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function judge(op: Pick<PatchOperation, 'file' | 'targetSpan' | 'property'>, { text, syntax }: Source, parse: Parse): Verdict {
  const { start, end } = op.targetSpan
  const objects = objectsAt(syntax, start.offset, end.offset)
  const [object] = objects
  if (!object) return { decision: 'fail', reason: 'rewriter.target.object_not_found' }
  if (objects.length > 1) return { decision: 'fail', reason: 'rewriter.target.object_ambiguous' }
  return addProperty(op.file, text, syntax, object, op.property, parse)
}

export interface Rewritten {
  /** The new text of each file that can be written, whole. */
  texts: Map<string, { before: string; after: string; edits: Edit[] }>
  skipped: WriteBackResult['skipped']
  failed: WriteBackResult['failed']
}

/** What a plan comes to on the files as they are now: of each file all of it or nothing, and nothing that is not a program any more. */
export function carryOut(files: Files, parse: Parse, plan: Pick<PatchPlan, 'operations'>): Rewritten {
  const done: Rewritten = { texts: new Map(), skipped: [], failed: [] }
  const groups = new Map<string, PatchOperation[]>()
  for (const op of plan.operations) groups.set(op.file, [...(groups.get(op.file) ?? []), op])
  for (const [file, ops] of groups) {
    const failures = new Map<PatchOperation, string>()
    const edits: { edit: Edit; op: PatchOperation }[] = []
    const wanted = ops.filter((op) => op.decision === 'write')
    for (const op of ops.filter((one) => one.decision === 'fail')) failures.set(op, op.reasonCodes[1] ?? 'rewriter.planned.fail')
    for (const op of ops.filter((one) => one.decision === 'skip'))
      done.skipped.push({ opKey: op.opKey, reasonCodes: op.reasonCodes })
    if (wanted.length > 0) {
      const opened = openSource(files, parse, file)
      for (const op of wanted) {
        const reason =
          'reason' in opened
            ? opened.reason
            : op.expectedFileDigest === undefined
              ? 'rewriter.file.expected_digest_missing'
              : op.expectedFileDigest !== opened.source.digest
                ? 'rewriter.file.changed_since_plan'
                : op.opKey !== opKeyOf(op)
                  ? 'rewriter.plan.op_key_mismatch'
                  : undefined
        const verdict: Verdict =
          reason === undefined ? judge(op, (opened as { source: Source }).source, parse) : { decision: 'fail', reason }
        if (verdict.decision === 'write') edits.push(...verdict.edits.map((edit) => ({ edit, op })))
        else if (verdict.decision === 'skip') done.skipped.push({ opKey: op.opKey, reasonCodes: [verdict.reason] })
        else failures.set(op, verdict.reason)
      }
      if (failures.size === 0 && edits.length > 0) {
        const { text, syntax } = (opened as { source: Source }).source
        const once = withoutRepeats(edits.map(({ edit }) => edit))
        const after = applyEdits(text, once)
        if (holds(syntax, after, file, new Set(edits.map(({ op }) => op)), parse))
          done.texts.set(file, { before: text, after, edits: once })
        else for (const op of wanted) failures.set(op, 'rewriter.apply.failed')
      } else if (failures.size > 0) for (const op of wanted) if (!failures.has(op)) failures.set(op, 'rewriter.apply.failed')
    }
    for (const [op, reason] of failures) done.failed.push({ opKey: op.opKey, reasonCodes: [reason] })
  }
  const byKey = (a: { opKey: string }, b: { opKey: string }): number => byText(a.opKey, b.opKey)
  done.skipped.sort(byKey)
  done.failed.sort(byKey)
  return done
}

/** Two properties behind the same last one need one comma between them and it, and one each between themselves. */
function withoutRepeats(edits: Edit[]): Edit[] {
  const commas = new Set<number>()
  const last = new Map<number, Edit>()
  return edits.flatMap((edit) => {
    if (edit.text === ',') {
      if (commas.has(edit.at)) return []
      commas.add(edit.at)
      return [edit]
    }
    const before = last.get(edit.at)
    if (before && !/,\s*$/.test(before.text)) before.text = `${before.text.trimEnd()},`
    last.set(edit.at, edit)
    return [edit]
  })
}

/** Parsed again before it is kept: still a program, with exactly the properties more that were wanted. */
function holds(before: Syntax, after: string, file: string, ops: ReadonlySet<PatchOperation>, parse: Parse): boolean {
  const syntax = parse(file, after)
  if (syntax.broken) return false
  const [old, now] = [countNames(before), countNames(syntax)]
  for (const { property } of ops) old.set(property.name, (old.get(property.name) ?? 0) + 1)
  // A value may bring objects of its own.
  return [...old].every(([name, count]) => (now.get(name) ?? 0) >= count)
}

function countNames({ program }: Syntax): Map<string, number> {
  const counts = new Map<string, number>()
  eachNode(program, (node) => {
    if (node.type !== 'ObjectExpression') return
    for (const name of propertiesOf(node).names.keys()) counts.set(name, (counts.get(name) ?? 0) + 1)
  })
  return counts
}

/** The same as a person's editor shows it. */
export function previewOf(files: Files, parse: Parse, plan: PatchPlan): PatchPreview {
  const { texts } = carryOut(files, parse, plan)
  const patches = [...texts].map(([file, { before, edits }]): FilePatch => {
    const place = placesIn(before)
    const digest = plan.operations.find((op) => op.file === file)?.expectedFileDigest
    return {
      file,
      kind: 'update',
      ...(digest !== undefined && { baseContentHash: digest }),
      edits: edits.map(({ at, text }) => ({ range: rangeOf(place(at, at)), newText: text })),
    }
  })
  return {
    schemaVersion: 1,
    kind: 'PatchPreview',
    anchors: plan.operations.map(({ file, targetSpan, expectedFileDigest }) => ({
      file,
      range: rangeOf(targetSpan),
      ...(expectedFileDigest !== undefined && { contentHash: expectedFileDigest }),
    })),
    patches,
  }
}

const rangeOf = ({ start, end }: Span): { start: { line: number; column: number }; end: { line: number; column: number } } => ({
  start: { line: start.line, column: start.column },
  end: { line: end.line, column: end.column },
})

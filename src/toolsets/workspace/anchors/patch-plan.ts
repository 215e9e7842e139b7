import { createHash } from 'node:crypto'
import { mostOperations } from '../../../contracts/anchors.ts'
import type { FilePatch, PatchOperation, PatchPlan, PatchPreview, Span, WriteBackResult } from '../../../contracts/anchors.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { decodeText, type Files } from '../../../host/files.ts'
import { canonical } from '../../../text/canonical.ts'
import { openPace } from '../../../text/steps.ts'
import { addProperty, applyEdits, openManuscript, type Edit, type Manuscript, type Verdict } from './rewrite.ts'
import { eachNode, placesIn, propertiesOf, type Parse, type Syntax } from './syntax.ts'

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
export interface Source extends Manuscript {
  digest: string
  syntax: Syntax
}

export type Opened = { source: Source } | { reason: string }

/** Not there, not text, and not a program are reasons, not faults. What may not be read at all is a fault. */
export async function openSource(files: Files, parse: Parse, file: string): Promise<Opened> {
  let bytes: Buffer
  let text: string
  try {
    bytes = files.read(file)
    text = decodeText(bytes, file)
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.reason === 'path-denied') throw fault
    return { reason: fault.reason === 'not-found' ? 'rewriter.file.not_found' : 'rewriter.file.not_text' }
  }
  const syntax = await parse(file, text)
  if (syntax.broken !== false) return { reason: `rewriter.file.${syntax.broken}` }
  return { source: { ...openManuscript(file, text, syntax), digest: digestOf(bytes), syntax } }
}

/** Report and write plans for the same input are the same but for `mode`. */
export async function makePlan(
  files: Files,
  parse: Parse,
  wishes: readonly Wish[],
  mode: PatchPlan['mode'],
  signal?: AbortSignal,
): Promise<PatchPlan> {
  if (wishes.length > mostOperations)
    throw new Fault('too-large', `${wishes.length} additions are more than one plan holds (${mostOperations})`, {
      details: { additions: wishes.length, most: mostOperations },
      hint: 'Plan a part at a time: name a folder, or fewer definitions.',
    })
  let opened: { file: string; known: Opened } | undefined
  const pace = openPace(signal)
  const planned = async (wish: Wish): Promise<PatchOperation> => {
    if (opened?.file !== wish.file) opened = { file: wish.file, known: await openSource(files, parse, wish.file) }
    const { known } = opened
    const base = {
      opKey: opKeyOf(wish),
      file: wish.file,
      kind: 'AddObjectProperty' as const,
      targetSpan: wish.targetSpan,
      property: wish.property,
    }
    if ('reason' in known) return { ...base, decision: 'fail', reasonCodes: [known.reason, ...wish.reasonCodes] }
    const verdict = await checkOperation(wish, known.source, parse)
    const why = verdict.decision === 'write' ? [] : [verdict.reason]
    return {
      ...base,
      expectedFileDigest: known.source.digest,
      decision: verdict.decision,
      reasonCodes: [`rewriter.planned.${verdict.decision}`, ...why, ...wish.reasonCodes],
    }
  }
  const sorted: PatchOperation[] = []
  // File by file: the tree of one is in memory at a time.
  for (const wish of wishes.toSorted(inOrder)) {
    if (pace.due()) await pace.turn()
    sorted.push(await planned(wish))
  }
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

const inOrder = (a: Wish, b: Wish): number =>
  byText(a.file, b.file) ||
  a.targetSpan.start.offset - b.targetSpan.start.offset ||
  a.targetSpan.end.offset - b.targetSpan.end.offset ||
  byText(a.property.name, b.property.name)

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

async function checkOperation(
  { targetSpan, property }: Pick<Wish, 'targetSpan' | 'property'>,
  source: Source,
  parse: Parse,
): Promise<Verdict> {
  const objects = source.objectsAt(targetSpan.start.offset, targetSpan.end.offset)
  const [object] = objects
  if (!object) return { decision: 'fail', reason: 'rewriter.target.object_not_found' }
  if (objects.length > 1) return { decision: 'fail', reason: 'rewriter.target.object_ambiguous' }
  return addProperty(source, object, property, parse)
}

export interface Rewritten {
  /** The new text of each file that can be written, whole. */
  texts: Map<string, { before: string; after: string; edits: Edit[] }>
  skipped: WriteBackResult['skipped']
  failed: WriteBackResult['failed']
}

/** What a plan comes to on the files as they are now: of each file all of it or nothing, and nothing that is not a program any more. */
export async function carryOut(
  files: Files,
  parse: Parse,
  plan: Pick<PatchPlan, 'operations'>,
  signal?: AbortSignal,
): Promise<Rewritten> {
  const done: Rewritten = { texts: new Map(), skipped: [], failed: [] }
  const pace = openPace(signal)
  const groups = new Map<string, PatchOperation[]>()
  for (const op of plan.operations) {
    const group = groups.get(op.file)
    if (group) group.push(op)
    else groups.set(op.file, [op])
  }
  for (const [file, ops] of groups) {
    const failures = new Map<PatchOperation, string>()
    const edits: { edit: Edit; op: PatchOperation }[] = []
    const wanted = ops.filter((op) => op.decision === 'write')
    for (const op of ops.filter((one) => one.decision === 'fail')) failures.set(op, op.reasonCodes[1] ?? 'rewriter.planned.fail')
    for (const op of ops.filter((one) => one.decision === 'skip'))
      done.skipped.push({ opKey: op.opKey, reasonCodes: op.reasonCodes })
    if (wanted.length > 0) {
      const opened = await openSource(files, parse, file)
      for (const op of wanted) {
        if (pace.due()) await pace.turn()
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
          reason === undefined
            ? await checkOperation(op, (opened as { source: Source }).source, parse)
            : { decision: 'fail', reason }
        if (verdict.decision === 'write') edits.push(...verdict.edits.map((edit) => ({ edit, op })))
        else if (verdict.decision === 'skip') done.skipped.push({ opKey: op.opKey, reasonCodes: [verdict.reason] })
        else failures.set(op, verdict.reason)
      }
      if (failures.size === 0 && edits.length > 0) {
        const { text, syntax } = (opened as { source: Source }).source
        const once = withoutRepeats(edits.map(({ edit }) => edit))
        const after = applyEdits(text, once)
        if (await holds(syntax, after, file, new Set(edits.map(({ op }) => op)), parse))
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
async function holds(
  before: Syntax,
  after: string,
  file: string,
  ops: ReadonlySet<PatchOperation>,
  parse: Parse,
): Promise<boolean> {
  const syntax = await parse(file, after)
  if (syntax.broken !== false) return false
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
export async function previewOf(files: Files, parse: Parse, plan: PatchPlan, signal?: AbortSignal): Promise<PatchPreview> {
  const { texts } = await carryOut(files, parse, plan, signal)
  const digests = new Map(plan.operations.map((op) => [op.file, op.expectedFileDigest]))
  const patches = [...texts].map(([file, { before, edits }]): FilePatch => {
    const place = placesIn(before)
    const digest = digests.get(file)
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

import { outsideFences } from './markdown-lines.ts'
import { lazy } from './lazy.ts'

/** One step that a skill asks for. */
export interface SkillStep {
  text: string
  /** Its line in the body, counted from one. */
  line: number
  /** What stands below it, code included: it is text, and nothing of it is ever run by itself. */
  detail: string
}

const mostSteps = 200
const longestText = 500
const longestDetail = 8_000

interface Line {
  at: number
  line: string
  fenced: boolean
  level: number
  title: string
  /** The text of a numbered line, and how far it stands in. */
  item?: { text: string; indent: number }
  bullet?: { text: string; indent: number }
}

const numerals = '[0-9０-９一二三四五六七八九十]{1,4}'
const count = `(?:${numerals}|[A-Za-z]|[IVX]{1,5}|one|two|three|four|five|six|seven|eight|nine|ten)`
/** `Step 1`, `Phase II`, `步骤一`, `第一步`, `阶段 2`, with whatever decoration before it. */
const stepTitle = lazy(
  () =>
    new RegExp(
      `^[^\\p{L}\\p{N}]{0,8}(?:(?:sub-?)?(?:step|phase|stage|part|pass|task|round|milestone)s?\\s*#?\\s*${count}(?![\\p{L}\\p{N}])|(?:步骤|步驟|阶段|階段|环节|任务)\\s*${numerals}|第\\s*${numerals}\\s*(?:步|阶段|階段|部分|环节))`,
      'iu',
    ),
)
const numberedTitle = lazy(
  () => new RegExp(`^[^\\p{L}\\p{N}]{0,8}(?:${numerals}(?:\\.\\d+)?\\s*[.)、．:：）]|[①-⑳])\\s*\\S`, 'u'),
)
/** A heading below which one says what to do. */
const stepsLike =
  /\b(?:steps?|work-?flows?|process(?:es|ing)?|procedures?|instructions?|how\s+to|how\s+it\s+works|usage|using|getting\s+started|quick\s*-?start|phases?|stages?|pipelines?|execution|executing|implementation|implementing|method(?:s|ology)?|approach|protocols?|playbook|runbook|check-?lists?|plan|planning|guide|guidelines|tasks?|algorithm|flow|sequence|walk-?through|recipe|to-?do|operations?|routine|loop|what\s+(?:to|you|i)\s+do|your\s+(?:job|task)|setup|installation|commands?|best\s+practices|rules)\b|步骤|步驟|流程|工作流|阶段|階段|使用方法|用法|操作|执行|指南|任务|快速开始|实施/i

const item = new RegExp(
  `^(\\s*)(?:[-*]\\s+)?(?:\\*\\*|__)?(?:${numerals}\\s*(?:[.)](?:\\s|\\*)|[、．）])|[（(]${numerals}[）)]|[①-⑳])\\s*(.+)$`,
  'u',
)
const stepLine = /^(\s*)(?:[-*]\s+)?(?:\*\*|__)((?:step|phase|stage|步骤|阶段|第)\s*.{1,6}.*)$/iu
const bulletLine = /^(\s*)[-*+•]\s+(?:\[[ xX]\]\s*)?(.+)$/u

/**
 * The steps of a skill, found by how people write them: headings `Step 1` and `Phase 1`, numbered headings, numbered lists below a heading that
 * speaks of steps, then weaker signs. The first of these that has two or more is taken; none is better than a wrong one.
 */
export function stepsIn(body: string): SkillStep[] {
  const lines = [...outsideFences(body)].map(marked)
  const heads = lines.filter(({ level }) => level > 0)
  const below = lines.filter(belowStepsHeading())
  const ways: (() => Line[])[] = [
    () => atOneLevel(heads.filter(({ title }) => stepTitle().test(title))),
    () => listed(below),
    () => atOneLevel(heads.filter(({ title }) => numberedTitle().test(title))),
    () => lines.filter(({ line, fenced }) => !fenced && stepLine.test(line)),
    () => listed(lines),
    () => outermost(below, ({ bullet }) => bullet),
    () => subHeadings(lines),
  ]
  for (const way of ways) {
    const found = way()
    if (found.length >= 2) return withDetails(lines, found.slice(0, mostSteps))
  }
  return []
}

/** Whether a skill has a heading below which steps are to be expected. */
export const hasStepsHeading = (body: string): boolean =>
  [...outsideFences(body)].map(marked).some(({ level, title }) => level > 0 && (stepsLike.test(title) || stepTitle().test(title)))

function marked({ line, fenced, at }: { line: string; fenced: boolean; at: number }): Line {
  const plain: Line = { at, line, fenced, level: 0, title: '' }
  if (fenced || line.length > 4_000) return plain
  const [, hashes, title] = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/.exec(line) ?? []
  if (hashes !== undefined) return { ...plain, level: hashes.length, title: title as string }
  const [, indent, text] = item.exec(line) ?? []
  if (indent !== undefined) return { ...plain, item: { text: text as string, indent: widthOf(indent) } }
  const [, inset, said] = bulletLine.exec(line) ?? []
  return inset === undefined ? plain : { ...plain, bullet: { text: said as string, indent: widthOf(inset) } }
}

const widthOf = (blank: string): number => blank.replaceAll('\t', '    ').length

/** Lines in the part of a heading that speaks of steps, its sub-headings included. */
function belowStepsHeading(): (line: Line) => boolean {
  let open = 0
  return ({ level, title }) => {
    if (level > 0) {
      const speaks = stepsLike.test(title) || stepTitle().test(title)
      if (open === 0 || level <= open) open = speaks ? level : 0
    }
    return open > 0
  }
}

/** Phases hold steps: of several levels the one with the most is taken, the outer one where they have as many. */
function atOneLevel(heads: readonly Line[]): Line[] {
  const counts = new Map<number, number>()
  for (const { level } of heads) counts.set(level, (counts.get(level) ?? 0) + 1)
  const [best] = [...counts].sort(([a, many], [b, more]) => more - many || a - b)
  return heads.filter(({ level }) => level === best?.[0])
}

const listed = (lines: readonly Line[]): Line[] => outermost(lines, (line) => line.item)

/** Those that stand in no further than the first of their list: what stands in further belongs to the one above. */
function outermost(lines: readonly Line[], of: (line: Line) => { indent: number } | undefined): Line[] {
  let edge: number | undefined
  return lines.filter((line) => {
    if (line.level > 0) edge = undefined
    const found = of(line)
    if (!found) return false
    edge = Math.min(edge ?? found.indent, found.indent)
    return found.indent <= edge + 1
  })
}

/** `## Workflow` and below it `### Analyse`, `### Build`. */
function subHeadings(lines: readonly Line[]): Line[] {
  let open = 0
  let found: Line[] = []
  for (const line of lines) {
    if (line.level === 0) continue
    if (open > 0 && line.level === open + 1) found.push(line)
    else if (line.level <= open || open === 0) {
      if (found.length >= 2) return found
      found = []
      open = stepsLike.test(line.title) ? line.level : 0
    }
  }
  return found
}

function withDetails(lines: readonly Line[], found: readonly Line[]): SkillStep[] {
  return found.map((head, index) => {
    const next = found[index + 1]?.at ?? lines.length
    const below = lines.slice(head.at + 1, next)
    const stop = below.findIndex(({ level }) => level > 0 && (head.level === 0 || level <= head.level))
    const detail = (stop === -1 ? below : below.slice(0, stop)).map(({ line }) => line).join('\n')
    return { text: bare(textOf(head)), line: head.at + 1, detail: detail.trimEnd().slice(0, longestDetail) }
  })
}

const textOf = ({ title, item: numbered, bullet, line }: Line): string => title || (numbered ?? bullet)?.text || line

/** Without what only makes it bold. */
const bare = (text: string): string =>
  text
    .replace(/\*\*|__/g, '')
    .replace(/^[\s*_:：.-]+/, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longestText) || text.trim().slice(0, longestText)

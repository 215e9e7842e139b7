import { relative } from 'node:path'
import type { CheckName, CheckResult, Diagnostic } from '../../../contracts/diagnostic.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Files } from '../../../host/files.ts'
import { redact } from '../../../text/redact/redact.ts'
import { shellWords } from '../../../text/shell-words.ts'
import { columnUnits, inUtf16 } from './columns.ts'
import { framesOf, readCompilerText, readers, readPlainText, type Found } from './diagnostics.ts'
import type { StageAnswer, StageRun } from './on-stage.ts'
import { execWords, scriptCommand, type PackageManager } from './package-manager.ts'
import type { CheckPlan } from './plan.ts'

const most = 200
/** A report may be forged: so many problems of it are put in order at most. */
const mostFound = 5_000
/** Of files that are read to tell a column in our units, all together. */
const mostReadBytes = 16_777_216
const previewBytes = 4_096
const messageLength = 2_048

/** What a result is made from, besides what the stage said. */
export interface Surroundings {
  check: CheckName
  files: Files
  /** Where it was run, from the project root. */
  folder: string
  plan: CheckPlan
  manager: PackageManager
}

/** What came of a check. Nothing in the answer is believed: it was made beside the project's own code. */
export function resultOf(answer: StageAnswer, ms: number, around: Surroundings): CheckResult {
  const { check, plan, manager } = around
  const { tool } = answer
  if (tool === '' || answer.runs.length === 0) return notConfigured(around)
  const command = commandOf(tool, around)
  const exitCode = answer.runs.find(({ code }) => code !== 0)?.code ?? (answer.runs.every(({ code }) => code === 0) ? 0 : 1)
  const found = answer.runs.flatMap((run) => readRun(tool, run))
  const all = inOrder(found.slice(0, mostFound).map((one) => placed(one, around)))
  const beyond = Math.max(0, found.length - mostFound) + Math.max(0, all.length - most)
  const dropped = beyond + answer.runs.reduce((sum, run) => sum + run.dropped, 0)
  const lineOf = openLines(around.files)
  const diagnostics = all.slice(0, most).map((one) => diagnosticOf(one, tool, command, around, lineOf))
  if (exitCode !== 0 && !diagnostics.some(({ severity }) => severity === 'error'))
    diagnostics.push(failed(exitCode, firstWords(answer.runs), command, tool))
  if (dropped > 0)
    diagnostics.push({
      severity: 'info',
      code: 'CHECK_MORE',
      message: `${dropped} more are not listed`,
      action: { kind: 'run.command', command },
      data: { dropped },
    })
  if (manager.conflict)
    diagnostics.push({
      severity: 'warning',
      code: 'PACKAGE_MANAGER_CONFLICT',
      message: `Locks of ${manager.conflict.join(' and ')} lie side by side; ${manager.name} is taken`,
      action: { kind: 'run.command', command: `npm pkg set packageManager=${manager.name}` },
    })
  const preview = previewOf(answer.runs.map(({ text }) => text).join('\n'))
  return {
    check,
    ok: exitCode === 0 && !diagnostics.some(({ severity }) => severity === 'error'),
    exitCode,
    durationMs: ms,
    ...(preview !== '' && { preview }),
    diagnostics,
    tool: plan.script !== undefined && tool === 'script' ? 'script' : tool,
    command,
  }
}

function readRun(tool: string, run: StageRun): Found[] {
  const printed = run.text
  if (tool === 'tsc') return readCompilerText(printed)
  const reader = Object.hasOwn(readers, tool) ? readers[tool] : undefined
  if (reader) return run.report === undefined ? [] : reader(run.report)
  return run.code === 0 ? [] : readPlainText(printed)
}

/** What a person types to see it again: the tool, or the script it came from. */
function commandOf(tool: string, { plan, manager, folder }: Surroundings): string {
  const attempt = plan.attempts.find((one) => one.tool === tool)
  const inFolder = folder === '' ? '' : `cd ${shellWords([folder])} && `
  if (plan.script !== undefined) return inFolder + scriptCommand(manager, plan.script)
  const args = (attempt?.runs[0] ?? []).filter((word) => !forReports.test(word))
  return inFolder + shellWords(tool === 'node' ? ['node', ...args] : [...execWords(manager), tool, ...args])
}

/** What only makes a report of it: a person reads what the tool prints by itself. */
const forReports =
  /\{(out|reporter)\}|^(json|false|-f|-o|--reporter-option)$|^--(reporter(=json)?|json|colors=off|max-diagnostics=none|includeTaskLocation|testLocationInResults|pretty|incremental|composite)$/

/** The same for one file or one test, where the tool can be asked so. */
function actionOf(found: Found, file: string | undefined, tool: string, command: string, around: Surroundings): string {
  if (file === undefined || tool === 'script' || tool === 'tsc') return command
  const { manager, folder } = around
  const inFolder = folder === '' ? '' : `cd ${shellWords([folder])} && `
  const here = folder === '' ? file : relative(folder, file)
  const words = (...args: string[]): string => inFolder + shellWords([...execWords(manager), tool, ...args])
  const named = found.test?.slice(0, 200)
  switch (tool) {
    case 'eslint':
    case 'oxlint':
      return words(here)
    case 'biome':
      return words('lint', here)
    case 'vitest':
      return named ? words('run', here, '-t', escaped(named)) : words('run', here)
    case 'jest':
      return named ? words(here, '-t', escaped(named)) : words(here)
    case 'mocha':
      return named ? words(here, '-f', named) : words(here)
    default:
      return inFolder + shellWords(['node', '--test', ...(named ? ['--test-name-pattern', escaped(named)] : []), here])
  }
}

const escaped = (name: string): string => name.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/** A problem and where it is in the project. */
interface Placed extends Found {
  own?: string | undefined
}

function placed(found: Found, { files, folder }: Surroundings): Placed {
  const own = (path: string): string | undefined => inProject(path, files, folder)
  const frame = found.stack ? framesOf(found.stack).find(({ file }) => own(file) !== undefined) : undefined
  if (!frame) return { ...found, own: found.file ? own(found.file) : undefined }
  return { ...found, own: own(frame.file), line: frame.line, column: frame.column }
}

type LineOf = (file: string, line: number) => string | undefined

function diagnosticOf(found: Placed, tool: string, command: string, around: Surroundings, lineOf: LineOf): Diagnostic {
  const { own: file, line, column } = found
  const testFile = found.file ? inProject(found.file, around.files, around.folder) : undefined
  return {
    severity: found.severity,
    code: found.code.slice(0, 200),
    message: clean(found.test ? `${found.test}: ${found.message}` : found.message) || found.code.slice(0, 200),
    ...(file !== undefined && { pointer: pointerAt(file, line, column, tool, lineOf) }),
    action: { kind: 'run.command', command: actionOf(found, testFile ?? file, tool, command, around) },
    data: { source: tool, ...(found.test && { test: clean(found.test) }) },
  }
}

function pointerAt(file: string, line: number | undefined, column: number | undefined, tool: string, lineOf: LineOf) {
  if (line === undefined) return { file }
  if (column === undefined) return { file, line }
  const unit = Object.hasOwn(columnUnits, tool) ? columnUnits[tool] : undefined
  const text = unit && lineOf(file, line)
  return { file, line, column: unit && text !== undefined ? inUtf16(column, text, unit) : column }
}

/** Lines of files, which are asked for one file after the other. */
function openLines(files: Files): LineOf {
  let left = mostReadBytes
  let last: { file: string; lines: string[] } | undefined
  return (file, line) => {
    if (last?.file !== file) {
      if (left <= 0) return undefined
      let text = ''
      try {
        text = files.readText(file)
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault
      }
      left -= text.length
      last = { file, lines: text.split(/\r\n|[\n\r\u2028\u2029]/) }
    }
    return last.lines[line - 1] ?? ''
  }
}

/** From the project root, where it is a file of the project's own; nothing where it is not, or may not be named. */
function inProject(path: string, files: Files, folder: string): string | undefined {
  const whole = path.startsWith('/') ? path : `${files.root}/${folder === '' ? '' : `${folder}/`}${path}`
  const inside = relative(files.root, whole).replaceAll('\\', '/')
  if (inside === '' || inside.startsWith('../') || inside.split('/').includes('node_modules')) return undefined
  try {
    return files.normal(inside)
  } catch (fault) {
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

function inOrder(found: Placed[]): Placed[] {
  const key = ({ own = '', line = 0, column = 0, code, test = '', message }: Placed): (string | number)[] =>
    own === '' ? ['', 0, 0, code, test, message] : [own, line, column, code, test, message]
  const compare = (a: Placed, b: Placed): number => {
    const [one, other] = [key(a), key(b)]
    for (let at = 0; at < one.length; at++) {
      const [left, right] = [one[at] as string | number, other[at] as string | number]
      if (left !== right) return left < right ? -1 : 1
    }
    return 0
  }
  const sorted = found.toSorted(compare)
  // Projects that refer to each other are checked one by one, and say the same of a file they share.
  return sorted.filter((one, at) => at === 0 || compare(one, sorted[at - 1] as Placed) !== 0)
}

const clean = (words: string): string =>
  redact(stripped(words.slice(0, 3 * messageLength)))
    .trim()
    .slice(0, messageLength)
    .toWellFormed()
// oxlint-disable-next-line no-control-regex
const stripped = (words: string): string => words.replace(/\u001B\[[0-9;]*[A-Za-z]/g, '')

/** What it printed, from the beginning, cut between characters. */
export function previewOf(printed: string): string {
  const shown = redact(stripped(printed.slice(0, 3 * previewBytes))).trim()
  if (Buffer.byteLength(shown) <= previewBytes) return shown
  const bytes = Buffer.from(shown).subarray(0, previewBytes - 3)
  return `${new TextDecoder().decode(bytes).replace(/\uFFFD+$/, '')}…`
}

function firstWords(runs: readonly StageRun[]): string {
  const line = runs
    .flatMap(({ text }) => text.split('\n'))
    .map((one) => one.trim())
    .find(Boolean)
  return clean(line ?? 'It printed nothing')
}

const failed = (exitCode: number, words: string, command: string, tool: string): Diagnostic => ({
  severity: 'error',
  code: 'CHECK_FAILED',
  message: `Exited ${exitCode}: ${words}`,
  action: { kind: 'run.command', command },
  data: { source: tool },
})

const advice: Readonly<Record<CheckName, { says: string; command: (exec: PackageManager) => string }>> = {
  typecheck: {
    says: 'No type check is set up: package.json has no script "typecheck", and there is no tsconfig.json with TypeScript installed',
    command: (manager) => `${adds(manager)} typescript`,
  },
  lint: {
    says: 'No linter is set up: package.json has no script "lint", and none of ESLint, Biome and oxlint is installed with its settings',
    command: (manager) => `${adds(manager)} eslint`,
  },
  test: {
    says: 'No tests are set up: package.json has no script "test", and none of Vitest, Jest and Mocha is installed',
    command: (manager) => `${adds(manager)} vitest`,
  },
}

const adds = ({ name, real }: PackageManager): string =>
  name === 'pnpm' ? 'pnpm add -D' : name === 'yarn' ? 'yarn add -D' : real === 'bun' ? 'bun add -d' : 'npm install -D'

export function notConfigured({ check, manager, plan }: Pick<Surroundings, 'check' | 'manager' | 'plan'>): CheckResult {
  const wanted = plan.attempts.find((one) => one.package !== undefined)
  const { says, command } = advice[check]
  return {
    check,
    ok: false,
    exitCode: 127,
    durationMs: 0,
    diagnostics: [
      {
        severity: 'warning',
        code: 'CHECK_NOT_CONFIGURED',
        message: wanted ? `${wanted.package} is not installed in the project, which its settings ask for` : says,
        action: { kind: 'run.command', command: wanted ? `${adds(manager)} ${wanted.package}` : command(manager) },
      },
    ],
  }
}

/** A check that did not come to its end: the time was up, it was cancelled, or it broke a limit. */
export function endedResult(fault: Fault, ms: number, around: Surroundings): CheckResult {
  const [code, exitCode, severity] =
    fault.reason === 'timeout'
      ? (['CHECK_TIMEOUT', 124, 'error'] as const)
      : fault.reason === 'cancelled'
        ? (['CHECK_CANCELLED', 130, 'warning'] as const)
        : (['CHECK_FAILED', 1, 'error'] as const)
  const { check, plan } = around
  return {
    check,
    ok: false,
    exitCode,
    durationMs: ms,
    diagnostics: [
      {
        severity,
        code,
        message: clean(fault.message),
        action: { kind: 'run.command', command: commandOf(plan.attempts[0]?.tool ?? '', around) },
      },
    ],
  }
}

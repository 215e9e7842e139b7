import { fileURLToPath } from 'node:url'
import type { Diagnostic } from '../../../contracts/diagnostic.ts'

/** What a report says of one problem, before it is made sure of: the file as the tool wrote it, the column in the tool's own units. */
export interface Found {
  severity: Diagnostic['severity']
  code: string
  message: string
  file?: string | undefined
  line?: number | undefined
  column?: number | undefined
  /** For a test: its name, and the stack in which its place is looked for. */
  test?: string | undefined
  stack?: string | undefined
}

type Json = Record<string, unknown>

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as unknown[]).filter(isObject) : [])
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const count = (value: unknown): number | undefined =>
  Number.isInteger(value) && (value as number) > 0 ? (value as number) : undefined

const severities: Readonly<Record<string, Diagnostic['severity']>> = {
  error: 'error',
  fatal: 'error',
  warning: 'warning',
  warn: 'warning',
}

/** What each tool's report becomes. Nothing in a report is trusted to be there. */
export const readers: Readonly<Record<string, (report: unknown) => Found[]>> = {
  eslint: (report) =>
    list(report).flatMap((file) =>
      list(file['messages']).map((one) => ({
        severity: one['severity'] === 2 || one['fatal'] === true ? ('error' as const) : ('warning' as const),
        code: text(one['ruleId']) || (one['fatal'] === true ? 'parse-error' : 'eslint'),
        message: text(one['message']),
        file: text(file['filePath']),
        line: count(one['line']),
        column: count(one['column']),
      })),
    ),
  oxlint: (report) =>
    list(isObject(report) ? report['diagnostics'] : undefined).map((one) => {
      const [label] = list(one['labels'])
      const span = isObject(label?.['span']) ? label['span'] : {}
      return {
        severity: severities[text(one['severity'])] ?? 'info',
        code: text(one['code']) || 'syntax-error',
        message: text(one['message']),
        file: text(one['filename']),
        line: count(span['line']),
        column: count(span['column']),
      }
    }),
  biome: (report) =>
    list(isObject(report) ? report['diagnostics'] : undefined).map((one) => {
      const location = isObject(one['location']) ? one['location'] : {}
      const start = isObject(location['start']) ? location['start'] : {}
      return {
        severity: severities[text(one['severity'])] ?? 'info',
        code: text(one['category']) || 'biome',
        message: text(one['message']),
        file: text(location['path']),
        line: count(start['line']),
        column: count(start['column']),
      }
    }),
  vitest: suites,
  jest: suites,
  mocha: (report) =>
    list(isObject(report) ? report['failures'] : undefined).map((one) => {
      const err = isObject(one['err']) ? one['err'] : {}
      return {
        severity: 'error' as const,
        code: 'TEST_FAILED',
        message: text(err['message']) || text(one['fullTitle']),
        file: text(one['file']),
        test: text(one['fullTitle']),
        stack: text(err['stack']),
      }
    }),
  node: (report) =>
    list(report).map((one) => ({
      severity: 'error' as const,
      code: 'TEST_FAILED',
      message: text(one['message']),
      file: text(one['file']),
      line: count(one['line']),
      column: count(one['column']),
      test: text(one['name']),
      stack: text(one['stack']),
    })),
}

function suites(report: unknown): Found[] {
  return list(isObject(report) ? report['testResults'] : undefined).flatMap((suite): Found[] => {
    const file = text(suite['name'])
    const failed = list(suite['assertionResults']).filter((one) => one['status'] === 'failed')
    if (failed.length === 0)
      return [
        { severity: 'error', code: 'TEST_SUITE_FAILED', message: text(suite['message']), file, stack: text(suite['message']) },
      ]
    return failed.map((one) => {
      const location = isObject(one['location']) ? one['location'] : {}
      const [message] = Array.isArray(one['failureMessages']) ? (one['failureMessages'] as unknown[]) : []
      return {
        severity: 'error' as const,
        code: 'TEST_FAILED',
        message: withoutStack(text(message)),
        file,
        line: count(location['line']),
        column: count(location['column']),
        test: text(one['fullName']),
        stack: text(message),
      }
    })
  })
}

function withoutStack(message: string): string {
  const lines = message.split('\n')
  const at = lines.findIndex((line, index) => index > 0 && /^\s+at /.test(line))
  return at < 0 ? message : lines.slice(0, at).join('\n')
}

const compilerLine = /^(?:(.+?)\((\d+),(\d+)\): )?(error|warning|message|suggestion) (TS\d+): (.*)$/

/** What tsc prints with `--pretty false`; the same in TypeScript 5, 6 and 7. Lines that are moved in belong to the one before. */
export function readCompilerText(printed: string): Found[] {
  const found: Found[] = []
  for (const line of printed.split(/\r?\n/)) {
    const match = compilerLine.exec(line)
    const last = found.at(-1)
    if (match) {
      const [, file, at, column, category, code, message] = match
      const severity = category === 'error' || category === 'warning' ? category : 'info'
      found.push({
        severity,
        code: code as string,
        message: message as string,
        file,
        line: file === undefined ? undefined : Number(at),
        column: file === undefined ? undefined : Number(column),
      })
    } else if (last && /^ {2,}\S/.test(line)) last.message += `\n${line}`
    else if (line.trim() === '') continue
  }
  return found
}

/** Begun only where none could have begun before: a megabyte of brackets is looked through once. */
const place = /(?<=^|[\s"']|[^\w@.()[\]/-]\()([\w@.()[\]/-]+\.[cm]?[jt]sx?):(\d{1,9}):(\d{1,9})/g
const mostPlaces = 50
const longestLine = 2_048

/** What a script printed that we know nothing of: the compiler's lines, and places in files. */
export function readPlainText(printed: string): Found[] {
  const compiled = readCompilerText(printed)
  if (compiled.length > 0) return compiled
  const found: Found[] = []
  for (const { 1: file = '', 2: line, 3: column, index } of printed.matchAll(place)) {
    found.push({
      severity: 'error',
      code: 'CHECK_POINTER',
      message: lineAround(printed, index),
      file: withoutBracket(file),
      line: Number(line),
      column: Number(column),
    })
    if (found.length === mostPlaces) break
  }
  return found
}

/** `(src/a.ts` of `(src/a.ts:1:2)`; a folder may be called `(shop)`. */
function withoutBracket(file: string): string {
  const open = file.split('(').length - file.split(')').length
  return open > 0 ? file.replace(new RegExp(`^\\({0,${Math.min(open, 1_000)}}`), '') : file
}

function lineAround(printed: string, at: number): string {
  const before = printed.slice(Math.max(0, at - longestLine), at)
  const after = printed.slice(at, at + longestLine)
  const end = after.indexOf('\n')
  return (before.slice(before.lastIndexOf('\n') + 1) + (end < 0 ? after : after.slice(0, end))).trim()
}

export interface Frame {
  file: string
  line: number
  column: number
}

/** More is of no use to find the innermost one in the project. */
const mostFrames = 100

/** The places a stack names, innermost first. */
export function framesOf(stack: string): Frame[] {
  return stack
    .split('\n', mostFrames)
    .map(frameIn)
    .filter((frame) => frame !== undefined)
}

/** `    at work (/project/a.ts:1:2)`, `    at async file:///project/a.ts:1:2`: what stands last. */
function frameIn(line: string): Frame | undefined {
  const last = line.slice(-longestLine).trimEnd()
  const end = /:(\d{1,9}):(\d{1,9})\)?$/.exec(last)
  if (!end) return undefined
  const before = last.slice(0, end.index)
  const bracket = before.lastIndexOf('(')
  const named = bracket >= 0 ? before.slice(bracket + 1) : /^\s+at (?:async )?(.*)$/.exec(before)?.[1]
  if (named === undefined || !/^(?:file:\/\/)?(?!node:)[^()\s:][^():]*$/.test(named)) return undefined
  return { file: asPath(named), line: Number(end[1]), column: Number(end[2]) }
}

function asPath(file: string): string {
  if (!file.startsWith('file://')) return file
  try {
    return fileURLToPath(file)
  } catch {
    return file
  }
}

import type { Dialect, DialectRow } from '../../contracts/dialect.ts'
import { contract001 } from '../../contracts/faults/contract-001.ts'
import { Fault, hintFor } from '../../contracts/faults/fault.ts'
import type { Profile } from '../../contracts/profile.ts'
import type { TurnError } from '../../contracts/turn.ts'
import { logFault } from '../log-fault.ts'

/** Contract 001's path rules: absolute paths, too, below the project and the roots that the person named for it; never a folder of the system. */
export const gatewayProfile: Profile = {
  paths: 'absolute',
  roots: ({ gateway }) => gateway.gatewayRoots,
  systemFolders: 'refused',
  dryRun: false,
}

type Fields = Readonly<Record<string, unknown>>

export type ToolResult = Record<string, unknown> & { ok: boolean; text: string }

/** What came of a call, in contract 001's words. */
export type Outcome = { result: ToolResult; call?: string } | { error: TurnError }

/** Here paths may be absolute, and no grant lets a session read a secret. */
const whereToGo =
  'Use a path below the project or one of the gateway’s roots, relative or absolute, without "..". Links, secrets and folders of the system are out of reach.'

/** What a read gives where the caller does not say how much. */
const readBytes = 65_536
const longestRunSeconds = 120

/** The kernel's tools have more fields than this contract, and mean other things by some: no other gets through. */
function only(given: Fields, names: readonly string[]): void {
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  if (unknown.length === 0) return
  throw new Fault('bad-input', `No such field: ${unknown.join(', ').slice(0, 200)}`, {
    details: { fields: unknown.slice(0, 20).map((name) => name.slice(0, 100)) },
    hint: `It has ${names.join(', ')}.`,
  })
}

/** A number, or a text that is one. None, or one that is not positive, is the default. */
function secondsIn(given: unknown): unknown {
  const number = typeof given === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(given) ? Number(given) : given
  if (typeof number !== 'number' || !Number.isFinite(number)) return number
  return number <= 0 ? undefined : Math.min(Math.ceil(number), longestRunSeconds)
}

const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const noteOf = ({ approvalNote }: Fields): Record<string, unknown> =>
  approvalNote === undefined ? {} : { approval_note: approvalNote }

/** What each takes, in the callers' words. */
const fieldsOf = {
  read_file: ['path', 'max_bytes'],
  create_file: ['path', 'content'],
  update_file: ['path', 'content', 'mode'],
  shell: ['command', 'cwd', 'timeout_seconds'],
} as const

export const rows = {
  read_file: {
    tool: 'read_file',
    input(given) {
      only(given, fieldsOf.read_file)
      const { path, max_bytes: maxBytes } = given
      return defined({ path, maxBytes: maxBytes ?? readBytes, cut: true })
    },
    result({ content, bytes, truncated }, { path }) {
      const note = `\n[truncated: the file has ${String(bytes)} bytes]`
      return { ok: true, path, size: bytes, truncated, content, text: truncated === true ? `${String(content)}${note}` : content }
    },
  },
  create_file: {
    tool: 'write_to_file',
    input(given) {
      only(given, fieldsOf.create_file)
      const { path, content } = given
      return defined({ path, content, dryRun: false, mustExist: false })
    },
    result(output, { path }) {
      const { bytesWritten: size, snapshotId } = output
      const text = `created ${String(path)} (${String(size)} bytes)`
      return { ok: true, path, size, text, snapshot_id: snapshotId, ...noteOf(output) }
    },
  },
  update_file: {
    tool: 'write_to_file',
    input(given) {
      only(given, fieldsOf.update_file)
      const { path, content, mode } = given
      return defined({ path, content, mode: mode ?? 'overwrite', dryRun: false, mustExist: true })
    },
    result(output, { path, mode }) {
      const { bytesWritten: size, snapshotId } = output
      const how = typeof mode === 'string' ? mode : 'overwrite'
      const text = `updated ${String(path)} with mode=${how}`
      return { ok: true, path, mode: how, size, text, snapshot_id: snapshotId, ...noteOf(output) }
    },
  },
  shell: {
    tool: 'shell',
    input(given) {
      only(given, fieldsOf.shell)
      const { command, cwd, timeout_seconds: seconds } = given
      return defined({ command, cwd: cwd === '' ? undefined : cwd, timeout_seconds: secondsIn(seconds) })
    },
    result(output, { command }) {
      const { changes } = output as { changes?: readonly unknown[] }
      return { command, ...ranFields(output), effects: changes?.length ? 'applied' : 'none', ...noteOf(output) }
    },
  },
} as const satisfies Record<string, DialectRow>

/** What a program printed and how it ended. `effects` beside it says what became of what it changed. */
function ranFields(output: Fields): ToolResult {
  const { ok, exit_code, stdout = '', stderr = '', changes, left, not_applied, duration_ms, confined } = output
  const [out, err] = [String(stdout), String(stderr)]
  const printed = out !== '' && err !== '' && !out.endsWith('\n') ? `${out}\n${err}` : out + err
  const text = [not_applied, printed === '' ? `(no output, exit code ${String(exit_code)})` : printed].filter(
    (part) => part !== undefined,
  )
  return {
    ok: ok === true,
    exit_code,
    output: printed,
    text: text.join('\n'),
    ...defined({ changes, left, not_applied, duration_ms, confined }),
  }
}

/** Two of the callers' names stand for one tool of ours, and one of their fields has another name there. */
function inCallersWords(fault: Fault, name: string): Fault {
  const { fields } = fault.details ?? {}
  if (!Object.hasOwn(fieldsOf, name) || !isProblems(fields)) return fault
  const theirs = fields.map(({ field, problem }) => ({ field: field === 'maxBytes' ? 'max_bytes' : field, problem }))
  const words = theirs.map(({ field, problem }) => `${field} ${problem}`).join('; ')
  return new Fault(fault.reason, `Bad arguments for ${name}: ${words}`, {
    details: { ...fault.details, fields: theirs },
    hint: `It has ${fieldsOf[name as keyof typeof fieldsOf].join(', ')}.`,
  })
}

const isProblems = (fields: unknown): fields is { field: string; problem: string }[] =>
  Array.isArray(fields) &&
  fields.every((one: unknown) => typeof one === 'object' && one !== null && 'field' in one && 'problem' in one)

/** Contract 001 for one call of a caller: its rows, its results, its codes. */
export function dialectFor({ name, input }: { name: string; input: Fields }): Dialect<Outcome> {
  return {
    rows,
    answer: (result, { callId }) => ({ result: result as ToolResult, call: callId }),
    failure(given, names) {
      const fault = given.reason === 'bad-input' ? inCallersWords(given, name) : given
      if (fault.reason === 'internal') logFault('handrail: gateway:', fault.cause ?? fault)
      const row = contract001[fault.reason]
      const hint = fault.reason === 'path-denied' ? whereToGo : hintFor(fault, names)
      const { ran, approvalId, ...details } = fault.details ?? {}
      const says = hint === undefined ? fault.message : `${fault.message}. ${hint}`
      if ('ok' in row) {
        const waits = fault.reason === 'needs-approval'
        return {
          result: {
            ...(ran !== undefined && { command: input['command'], ...ranFields(ran as Fields) }),
            ok: false,
            effects: waits ? 'waiting' : 'declined',
            ...(approvalId !== undefined && { approval_id: approvalId }),
            text: says,
          },
        }
      }
      return {
        error: {
          status: row.status,
          code: row.code,
          message: fault.message,
          details: {
            ...details,
            ...(approvalId !== undefined && { approval_id: approvalId }),
            ...defined({ ran, hint }),
            reason: fault.reason,
          },
        },
      }
    },
  }
}

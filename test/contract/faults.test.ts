import { expect, test } from 'vitest'
import { cliPlane, exits } from '../../src/contracts/faults/cli-plane.ts'
import { codes000, errorBodyOf, errorTable } from '../../src/contracts/faults/contract-000.ts'
import { contract001, statuses001 } from '../../src/contracts/faults/contract-001.ts'
import { advice002, contract002, runErrorOf, toolErrorOf } from '../../src/contracts/faults/contract-002.ts'
import { bridgeErrorOf, codes003, contract003, more003 } from '../../src/contracts/faults/contract-003.ts'
import { asFault, Fault, hintFor, reasons, type Reason } from '../../src/contracts/faults/fault.ts'

const all = Object.keys(reasons) as Reason[]
/** Reasons that are told with a code. */
const toldWith = (table: Record<string, unknown>, told: unknown): string[] =>
  Object.keys(table).filter((reason) => JSON.stringify(table[reason]) === JSON.stringify(told))

test.for(Object.entries({ codes000, contract001, contract002, contract003, cliPlane }))(
  '%s has a row for every reason',
  ([, table]) => {
    expect(Object.keys(table).sort()).toEqual([...all].sort())
  },
)

test('contract 000: every code of the seed is told for some reason, and says the same about trying again as the reason', () => {
  expect(new Set(Object.values(codes000))).toEqual(new Set(Object.keys(errorTable)))
  for (const reason of all)
    expect([reason, reasons[reason].recoverable]).toEqual([reason, errorTable[codes000[reason]].recoverable])
})

test('contract 000: what its wire cannot tell apart stays apart inside', () => {
  expect(toldWith(codes000, 'E_TIMEOUT')).toEqual(['timeout', 'cancelled', 'page-timeout'])
  const policy = ['policy', 'needs-approval', 'declined', 'no-dry-run', 'read-only', 'over-limit', 'busy']
  expect(toldWith(codes000, 'E_POLICY_VIOLATION')).toEqual(expect.arrayContaining(policy))
})

test('contract 001: the six codes of the seed, each with one status; a person who says no, or nothing yet, is an answer', () => {
  const seed = ['invalid_tool_input', 'tool_forbidden_path', 'tool_not_found', 'tool_conflict', 'tool_error', 'tool_disabled']
  const rows = Object.values(contract001)
  const used = new Set(rows.flatMap((row) => ('code' in row ? [row.code] : [])))
  expect([...used]).toEqual(expect.arrayContaining(seed))
  expect(used).toEqual(new Set(Object.keys(statuses001)))
  for (const row of rows) if ('code' in row) expect(row.status).toBe(statuses001[row.code])
  const status = { invalid_tool_input: 400, tool_forbidden_path: 403, tool_disabled: 403, tool_not_found: 404 }
  expect(statuses001).toMatchObject({ ...status, tool_conflict: 409, tool_error: 500 })
  expect(toldWith(contract001, { ok: false, status: 200 })).toEqual(['needs-approval', 'declined'])
  for (const reason of ['timeout', 'too-large', 'encoding'] as const)
    expect([reason, contract001[reason]]).toEqual([reason, { code: 'tool_error', status: 500 }])
  expect([contract001['unknown-tool'], contract001['not-found']]).toMatchObject([
    { code: 'tool_not_found' },
    { code: 'tool_not_found' },
  ])
})

test('contract 002: the sixteen codes of the seed, each told for some reason, with advice', () => {
  const seed =
    'ELEMENT_NOT_FOUND NAVIGATION_TIMEOUT SESSION_NOT_FOUND PAGE_CRASHED INVALID_PARAMETER EXECUTION_ERROR TEMPLATE_NOT_FOUND RUN_NOT_FOUND RUN_TIMEOUT RUN_CANCELED STEP_EXECUTION_FAILED TRUST_LEVEL_NOT_ALLOWED TEMPLATE_VERSION_UNSUPPORTED ARTIFACT_NOT_FOUND ARTIFACT_EXPIRED TPL_LOGIN_FIELD_NOT_FOUND'
  expect(Object.keys(advice002)).toEqual(seed.split(' '))
  expect(new Set(Object.values(contract002))).toEqual(new Set(seed.split(' ')))
})

test('contract 002: policy, declined and unanswered are one code, and the details name the reason', () => {
  for (const reason of ['policy', 'declined', 'needs-approval'] as const) {
    const fault = new Fault(reason, 'No.', { details: { approvalId: 'appr_1' }, hint: 'Ask.' })
    const told = { errorCode: 'EXECUTION_ERROR', recoverHint: 'Ask.', details: { approvalId: 'appr_1', reason } }
    expect(toolErrorOf(fault, () => undefined)).toEqual({ error: 'No.', ...told })
    expect(runErrorOf(fault, () => undefined)).toEqual({ message: 'No.', ...told })
  }
  const gone = new Fault('run-not-found', 'No such run')
  expect(toolErrorOf(gone, () => undefined).recoverHint).toBe(advice002.RUN_NOT_FOUND)
})

test('contract 003: the nine codes of the seed, none of them for another meaning', () => {
  const seed =
    'ERR_INVALID_REQUEST ERR_METHOD_NOT_FOUND ERR_INVALID_PARAMS ERR_DUPLICATE_REQUEST_ID ERR_UNAUTHORIZED ERR_FORBIDDEN ERR_NOT_FOUND ERR_CANCELLED ERR_INTERNAL'
  expect(codes003).toEqual(seed.split(' '))
  expect(new Set(Object.values(contract003))).toEqual(new Set([...codes003, ...more003]))
  expect(toldWith(contract003, 'ERR_CANCELLED')).toEqual(['cancelled'])
  expect(toldWith(contract003, 'ERR_INTERNAL')).toEqual(['io', 'internal'])
  expect(toldWith(contract003, 'ERR_UNAUTHORIZED')).toEqual(['unauthorized'])
  for (const reason of ['policy', 'declined', 'needs-approval', 'read-only'] as const)
    expect(bridgeErrorOf(new Fault(reason, 'No.', { details: { approvalId: 'appr_1' } }), () => undefined)).toEqual({
      code: 'ERR_FORBIDDEN',
      message: 'No.',
      data: { approvalId: 'appr_1', reason },
    })
})

test('the command line behind contract 003: the exit code follows from the code, and a no is 2', () => {
  expect(new Set(Object.values(cliPlane))).toEqual(new Set(Object.keys(exits)))
  for (const reason of ['policy', 'declined', 'needs-approval'] as const) expect(cliPlane[reason]).toBe('CLI_VIOLATION_POLICY')
  for (const [code, exit] of Object.entries(exits))
    expect([code, exit]).toEqual([code, /^CLI_(VIOLATION|INVALID)/.test(code) ? 2 : 1])
})

test('a hint names tools as the caller does, or is not given', () => {
  const fault = new Fault('not-found', 'Gone', { hint: (name) => `Look with ${name('list_files')} or ${name('read_file')}.` })
  expect(errorBodyOf(fault).error.hint).toBe('Look with list_files or read_file.')
  expect(hintFor(fault, (tool) => `my.${tool}`)).toBe('Look with my.list_files or my.read_file.')
  expect(hintFor(fault, (tool) => (tool === 'read_file' ? 'open' : undefined))).toBeUndefined()
  expect(hintFor(new Fault('not-found', 'Gone', { hint: 'Use {read_file} {name}' }), () => 'x')).toBe('Use {read_file} {name}')
})

test('what is thrown by nobody on purpose is a fault of ours, and says nothing of its cause', () => {
  const fault = asFault(new TypeError('secret'))
  expect([fault.reason, (fault.cause as Error).message]).toEqual(['internal', 'secret'])
  expect(
    JSON.stringify([errorBodyOf(fault), toolErrorOf(fault, () => undefined), bridgeErrorOf(fault, () => undefined)]),
  ).not.toContain('secret')
})

import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { errorBodyOf } from '../../contracts/faults/contract-000.ts'
import { asFault } from '../../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import { skillResources } from './skills.ts'

/** One kind of address: how it is listed, which tool reads it, and what may be filled in. Reading goes the road of any call. */
interface Kind {
  tool: string
  address: RegExp
  list: { uri: string } | { uriTemplate: string }
  says: { name: string; title: string; description: string; mimeType: string }
  input(found: string, rest: string): Record<string, unknown>
  /** The text of what was read. */
  text(output: Record<string, unknown>): string
  /** What a template's variable may be, by what was typed of it. */
  fill?(gate: AgentGate, typed: string): string[]
}

/** What was addressed is not there. */
const nowhere = ['not-found', 'bad-input', 'run-not-found']

const json = (value: unknown): string => JSON.stringify(value, null, 1)

const kinds: readonly Kind[] = [
  {
    tool: 'read_audit',
    address: /^handrail:\/\/audit$/,
    list: { uri: 'handrail://audit' },
    says: {
      name: 'audit',
      title: 'Audit log',
      description: 'The newest 50 lines of what was asked, decided and done in this project.',
      mimeType: 'application/json',
    },
    input: () => ({ last: 50 }),
    text: ({ lines }) => json(lines),
  },
  {
    tool: 'read_audit',
    address: /^handrail:\/\/audit\/(\d{1,15})$/,
    list: { uriTemplate: 'handrail://audit/{seq}' },
    says: {
      name: 'audit line',
      title: 'One line of the audit log',
      description: 'A line by its number.',
      mimeType: 'application/json',
    },
    input: (seq) => ({ seq: Number(seq) }),
    text: ({ lines }) => json((lines as unknown[])[0]),
    fill: (gate, typed) => numbersLike(typed, gate.lastLine(), 100),
  },
  {
    tool: 'list_snapshots',
    address: /^handrail:\/\/snapshots$/,
    list: { uri: 'handrail://snapshots' },
    says: {
      name: 'snapshots',
      title: 'Kept states of files',
      description: 'The newest 50 states kept of files that were changed, any of which can be brought back.',
      mimeType: 'application/json',
    },
    input: () => ({ limit: 50 }),
    text: ({ snapshots }) => json(snapshots),
  },
  {
    tool: 'restore_snapshot',
    address: /^handrail:\/\/snapshots\/(snap_[0-9A-Za-z_]{1,60})$/,
    list: { uriTemplate: 'handrail://snapshots/{id}' },
    says: {
      name: 'snapshot',
      title: 'One kept state of a file',
      description: 'The content of a file as it was.',
      mimeType: 'text/plain',
    },
    input: (snapshotId) => ({ snapshotId }),
    text: ({ content }) => content as string,
    fill: (gate, typed) => gate.snapshotIds().filter((id) => id.startsWith(typed)),
  },
  {
    tool: 'get_task_run',
    address: /^handrail:\/\/runs\/(run_[0-9a-f]{32})$/,
    list: { uriTemplate: 'handrail://runs/{runId}' },
    says: {
      name: 'run',
      title: 'One run',
      description: 'How far a run is and what came of it. Subscribe to be told when something happens to it.',
      mimeType: 'application/json',
    },
    input: (runId) => ({ runId }),
    text: json,
  },
  {
    tool: 'webgal_reference',
    address: /^handrail:\/\/webgal\/commands$/,
    list: { uri: 'handrail://webgal/commands' },
    says: {
      name: 'webgal commands',
      title: 'WebGAL command reference',
      description: 'Every command of the WebGAL script language with its arguments. Read it before writing a scene.',
      mimeType: 'text/markdown',
    },
    input: () => ({}),
    text: ({ text }) => text as string,
  },
  {
    tool: 'read_skill',
    address: /^handrail:\/\/skills\/([^/?#]{1,600})$/,
    list: { uriTemplate: 'handrail://skills/{id}' },
    says: {
      name: 'skill',
      title: 'One skill',
      description: 'How a kind of work is done here, step by step. A text to follow, which grants nothing.',
      mimeType: 'text/markdown',
    },
    input: (id) => ({ id: decoded(id) }),
    text: ({ text }) => text as string,
  },
  {
    tool: 'read_skill',
    address: /^handrail:\/\/skills\/([^/?#]{1,600})\/([^?#]{1,2000})$/,
    list: { uriTemplate: 'handrail://skills/{id}/{+path}' },
    says: {
      name: 'file of a skill',
      title: 'One file of a skill',
      description: 'What a skill refers to, by its path in the skill.',
      mimeType: 'text/plain',
    },
    input: (id, path) => ({ id: decoded(id), path: decoded(path) }),
    text: ({ text }) => text as string,
  },
]

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The highest numbers from 1 to `last` that begin with these digits, highest first: reckoned, because a log may be long. */
function numbersLike(typed: string, last: number, most: number): string[] {
  if (!/^([1-9]\d{0,14})?$/.test(typed)) return []
  const found: string[] = []
  for (let size = String(last).length - typed.length; size >= 0 && found.length < most; size--) {
    const first = typed === '' ? 10 ** (size - 1) : Number(typed) * 10 ** size
    const end = typed === '' ? 10 ** size - 1 : first + 10 ** size - 1
    for (let seq = Math.min(end, last); seq >= Math.max(1, first) && found.length < most; seq--) found.push(String(seq))
  }
  return found
}

const offered = (gate: AgentGate): Kind[] => kinds.filter(({ tool }) => gate.offers(tool))

export async function listResources(gate: AgentGate): Promise<object[]> {
  const ours = offered(gate).flatMap(({ list, says }) => ('uri' in list ? [{ ...list, ...says }] : []))
  return [...ours, ...(await skillResources(gate))]
}

export function listTemplates(gate: AgentGate): object[] {
  return offered(gate).flatMap(({ list, says }) => ('uriTemplate' in list ? [{ ...list, ...says }] : []))
}

export async function readResource(gate: AgentGate, uri: string, caller: AgentCaller, signal: AbortSignal): Promise<object> {
  for (const kind of offered(gate)) {
    const found = kind.address.exec(uri)
    if (!found) continue
    try {
      const { output } = await gate.call(kind.tool, kind.input(found[1] ?? '', found[2] ?? ''), caller, {
        signal,
        asResource: true,
      })
      return { contents: [{ uri, mimeType: kind.says.mimeType, text: kind.text(output as Record<string, unknown>) }] }
    } catch (thrown) {
      const fault = asFault(thrown)
      if (nowhere.includes(fault.reason)) throw new ResourceNotFoundError(uri)
      throw new ProtocolError(ProtocolErrorCode.InternalError, fault.message, errorBodyOf(fault).error)
    }
  }
  throw new ResourceNotFoundError(uri.slice(0, 1_000))
}

export function fillTemplate(gate: AgentGate, template: string, typed: string): string[] {
  const kind = offered(gate).find(({ list }) => 'uriTemplate' in list && list.uriTemplate === template)
  return kind?.fill?.(gate, typed) ?? []
}

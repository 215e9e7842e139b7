import { randomBytes } from 'node:crypto'
import type { CallOptions, Caller } from '../contracts/call.ts'
import type { Config } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { CallResult } from '../contracts/gate.ts'
import type { Risk, Tool } from '../contracts/tool.ts'
import { checkInput } from './check.ts'
import { marksInOrder, nothingUnderWay, type UnderWay } from './marks-in-order.ts'
import { marksAsk, openMarks, type Mark } from './marks.ts'
import { openPathScheduler, type PathScheduler, type SchedulerLimits } from './path-scheduler.ts'
import { perform } from './pipeline.ts'
import { openPolicy } from './policy.ts'
import type { Ports } from './ports.ts'
import type { KernelContext } from './call-context.ts'
import { isMountedId } from '../text/mount-names.ts'
import { nearest } from '../text/nearest.ts'
import { scrub } from './redacted-input.ts'
import { newSites } from './sites.ts'
import { openDuplicateCalls, type DuplicateCalls } from './duplicate-calls.ts'

const longestPath = 4_096

/** What calls have in common, whichever settings they were judged by: whose turn it is, who is at the same thing, and their ids. */
export interface Traffic {
  scheduler: PathScheduler
  duplicates: DuplicateCalls
  judged: UnderWay
  nextId(): string
  /** Aborted when Handrail is closed here. */
  readonly closing: AbortSignal
  /** Calls that wait for a person are suspended, and this is written down: to be closed before everything else. */
  close(): Promise<void>
}

export function openTraffic(limits: SchedulerLimits): Traffic {
  // Ids name calls, they guard nothing: a random start and a count are unique and cost no randomness per call.
  const start = randomBytes(8).toString('hex')
  let count = 0
  const closing = new AbortController()
  return {
    scheduler: openPathScheduler(limits),
    duplicates: openDuplicateCalls(),
    judged: nothingUnderWay(),
    nextId: () => `call_${start}${(++count).toString(16).padStart(8, '0')}`,
    closing: closing.signal,
    async close() {
      closing.abort()
      // All who wait are told by now, and what they write is written.
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** The kernel's public face: what is offered, and the one way to ask for it. */
export interface Kernel {
  /** Tools that are switched on for agents. */
  readonly tools: readonly Tool[]
  offers(name: string): boolean
  /** Why a tool that there is cannot be called; nothing where it can, or there is none. */
  whyOff(name: string): Fault | undefined
  accepts(name: string, input: unknown): boolean
  /** The risk that a call would have now; throws what it would throw before its risk is known. */
  assess(name: string, input: unknown, caller: Caller): Promise<Risk>
  /** Why a change of this file would be more than any change. */
  marksOn(path: string): Promise<Mark[]>
  call(name: string, input: unknown, caller: Caller, options?: CallOptions): Promise<CallResult>
}

/** One kernel for one set of settings; those that follow each other share their traffic. */
export function openKernel(tools: readonly Tool[], config: Config, ports: Ports, traffic: Traffic): Kernel {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  if (byName.size !== tools.length) throw new Error('two tools share a name')
  const policy = openPolicy(config, ports.grants.letsRead)
  // Its tools may not be known yet.
  const names = new Set(['mounts', ...tools.flatMap((tool) => [tool.name, tool.toolset])])
  const unknown = config.tools.flatMap((entry) => entry.split('+')).find((name) => !names.has(name) && !isMountedId(name))
  if (unknown !== undefined)
    throw new Fault('bad-input', `No such toolset or tool: ${unknown}`, {
      hint: `Toolsets: ${[...new Set(tools.map((tool) => tool.toolset))].join(', ')}. \`handrail tools\` lists the tools.`,
    })
  const offered = tools.filter((tool) => tool.audience === 'agent' && policy.offers(tool))
  const marksNow = openMarks(config, ports.world, ports.approvals.declined)
  const marks = marksInOrder(marksNow, traffic.judged)
  const kernel: KernelContext = {
    ports,
    policy,
    marks,
    marksNow,
    scheduler: traffic.scheduler,
    duplicates: traffic.duplicates,
    closing: traffic.closing,
    config,
    offered: offered.map((tool) => tool.name),
  }
  return {
    tools: offered,
    offers(name) {
      const tool = byName.get(name)
      return tool !== undefined && tool.audience !== 'person' && policy.offers(tool)
    },
    whyOff(name) {
      const tool = byName.get(name)
      if (tool === undefined || tool.audience !== 'agent' || policy.offers(tool)) return undefined
      try {
        policy.authorize(tool, [])
        return undefined
      } catch (thrown) {
        return thrown as Fault
      }
    },
    accepts(name, input) {
      const tool = byName.get(name)
      if (!tool || !policy.offers(tool)) return false
      try {
        checkInput(tool, input)
        return true
      } catch {
        return false
      }
    },
    async assess(name, raw, { session }) {
      const tool = byName.get(name)
      if (!tool || !policy.offers(tool) || tool.audience !== 'agent') throw unknownTool(name, kernel.offered)
      const input = checkInput(tool, raw)
      const touches = (await tool.touches(input)).map((touch) =>
        'path' in touch ? { ...touch, path: ports.world.normal(touch.path) } : touch,
      )
      policy.authorize(tool, touches)
      const marked = marksAsk(await marksNow({ touches }), (mark) => ports.grants.mayChange(session, mark))
      const sites = newSites(touches, (host) => policy.allowsSite(host))
      const failures = (path: string): number => ports.sessions.failures(session, path)
      return policy.risk(tool.risk(input), touches, failures, undefined, marked || sites.length > 0)
    },
    marksOn: (path) => marksNow({ touches: [{ path, access: 'write' }] }),
    async call(name, input, caller, options = {}) {
      const tool = byName.get(name)
      const closed =
        (tool?.audience === 'person' && caller.role !== 'person') || (tool?.audience === 'resource' && !options.asResource)
      if (!tool || closed) throw unknownTool(name, kernel.offered)
      // What a client calls itself is its own words, and is written down with everything it does.
      const known = { ...caller, client: scrub(caller.client) }
      const id = options.id ?? traffic.nextId()
      const act = (): Promise<CallResult> => perform(kernel, tool, input, { id, caller: known, options })
      const path = (input as { path?: unknown } | null)?.path
      // What is longer is no path, and is refused further on: nothing looks through it before.
      if (typeof path !== 'string' || path.length > longestPath || options.sharesAnswer) return act()
      return ports.grants.reading(ports.world.asWritten(path), { id, session: caller.session }, act)
    },
  }
}

function unknownTool(name: string, tools: readonly string[]): Fault {
  const near = nearest(name.slice(0, 100), tools, 3)
  return new Fault('unknown-tool', `No such tool: ${name.slice(0, 100)}`, {
    details: { tools },
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}Choose one of the listed tools.`,
  })
}

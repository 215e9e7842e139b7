import { isWebAddress } from '../text/address.ts'
import { allowsHost, coversHost } from '../text/host-name.ts'
import type { Config } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { secretOn } from '../text/secret-files.ts'
import type { Steps } from '../text/steps.ts'
import { risks, type Risk, type Tool, type Touch } from '../contracts/tool.ts'
import type { Caller } from '../contracts/call.ts'

export interface Policy {
  /** Whether the tool is switched on at all. */
  offers(tool: Tool): boolean
  /** Throws where the mode, a switch, a host or a command forbids the call. Paths are judged by the world itself. */
  authorize(tool: Tool, touches: readonly Touch[]): void
  /** Whether pages may be sent to this site without asking. */
  allowsSite(host: string): boolean
  /** The same of very many, in steps. */
  authorizeAll(tool: Tool, touches: readonly Touch[]): Steps<void>
  /** The risk in force: the tool's floor, what the arguments imply, and whatever raises it. Nothing lowers it. */
  risk(floor: Risk, touches: readonly Touch[], failures: (path: string) => number, raised?: Risk, marked?: boolean): Risk
  asks(risk: Risk): boolean
  /** Throws where one call changes more lines, in all its files together, than a person could look over. */
  checkSize(lines: number, caller: Caller): void
}

/** `letThrough` says whether a person lets the session of the present call read this secret. */
export function openPolicy(config: Config, letThrough: (path: string) => boolean = () => false): Policy {
  const { policies } = config
  const developer = config.mode === 'developer'
  const disabled = new Set(config.disabledTools)
  const picked = config.tools.map((entry) => entry.split('+'))
  const isPicked = ({ toolset, name }: Tool): boolean =>
    picked.length === 0 || picked.some((parts) => parts.every((part) => part === toolset || part === name))
  const hosts = new Set(policies.browserAllowedHosts.map((host) => host.toLowerCase()))

  const forbids = coversHost(policies.browserForbiddenHosts)
  const authorizeTouch = (touch: Touch): void => {
    if ('command' in touch && !policies.allowedCommands.includes(touch.command))
      throw new Fault('policy', `Command not allowed: ${touch.command}`, {
        details: { command: touch.command, allowed: policies.allowedCommands },
        hint: 'Only the scripts in policies.allowedCommands may be run.',
      })
    if ('url' in touch && !isWebAddress(touch.url, ({ hostname }) => hosts.has(hostname.toLowerCase())))
      throw new Fault('policy', `Address not allowed: ${touch.url.slice(0, 200)}`, {
        details: { allowed: [...hosts] },
        hint: 'Only http(s) addresses on policies.browserAllowedHosts may be opened.',
      })
    if ('host' in touch && forbids(touch.host))
      throw new Fault('policy', `Site not allowed: ${touch.host.slice(0, 200)}`, {
        details: { host: touch.host.slice(0, 253) },
        hint: 'It is on policies.browserForbiddenHosts.',
      })
    // Tools reach one only where a person let its session read it, whether it is told by its name or by what it holds.
    if ('path' in touch && touch.access === 'write' && (letThrough(touch.path) || secretOn(touch.path.split('/')) !== undefined))
      throw new Fault('path-denied', `Path not allowed: ${touch.path} was let through for reading, not for writing`, {
        details: { path: touch.path },
        hint: 'Tell the person what to write there.',
      })
    if (config.readOnly && ('command' in touch || ('path' in touch && touch.access === 'write')))
      throw new Fault('read-only', 'This project is read-only here', {
        details: touch,
        hint: 'The setting readOnly forbids every change.',
      })
  }

  const policy: Policy = {
    offers: (tool) =>
      !disabled.has(tool.name) &&
      isPicked(tool) &&
      (developer || !tool.developer) &&
      (tool.needs === undefined || config[tool.needs]),
    authorize(tool, touches) {
      if (tool.audience !== 'person' && !isPicked(tool))
        throw new Fault('disabled', `${tool.name} is switched off`, {
          hint: 'It is not among the toolsets and tools in the setting tools.',
        })
      if (disabled.has(tool.name))
        throw new Fault('disabled', `${tool.name} is switched off`, {
          hint: 'It is listed in the setting disabledTools.',
        })
      if (tool.developer && !developer)
        throw new Fault('disabled', `${tool.name} works in developer mode only`, {
          hint: 'Start Handrail with --mode developer.',
        })
      if (tool.needs !== undefined && !config[tool.needs])
        throw new Fault('disabled', `${tool.name} is switched off`, {
          hint: 'A person can switch it on: --enable-shell, HANDRAIL_ENABLE_SHELL=1, or "enableShell": true in their own settings file (a project’s counts after `handrail trust`).',
        })
      for (const touch of touches) authorizeTouch(touch)
    },
    allowsSite: allowsHost(policies.browserAllowedHosts),
    *authorizeAll(tool, touches) {
      policy.authorize(tool, [])
      for (const touch of touches) {
        authorizeTouch(touch)
        yield
      }
    },
    risk(floor, touches, failures, raised = 'R0', marked = false) {
      const implied = touches.some(
        (touch) => 'path' in touch && touch.access === 'write' && failures(touch.path) > policies.maxAutoFix,
      )
      return highest(floor, implied || marked ? 'R2' : 'R0', raised)
    },
    asks: (risk) => risks.indexOf(risk) >= risks.indexOf(policies.askFrom),
    checkSize(lines, caller) {
      if (caller.role === 'person' || lines <= policies.batchMaxLines) return
      throw new Fault('policy', `One call may change ${policies.batchMaxLines} lines; this one changes ${lines}`, {
        details: { lines, batchMaxLines: policies.batchMaxLines },
        hint: 'Make the change in several smaller calls, or raise policies.batchMaxLines.',
      })
    },
  }
  return policy
}

/** The highest of several; a level nobody knows counts as R2. */
export function highest(...given: (Risk | undefined)[]): Risk {
  const known = given.map((risk) => (risk === undefined ? 0 : risks.includes(risk) ? risks.indexOf(risk) : 2))
  return risks[Math.max(0, ...known)] as Risk
}

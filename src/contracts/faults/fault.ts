/**
 * Why something was not done, in words of no contract. Each contract has one table from these to its own codes (beside this file), and
 * nobody decides by reading a message. `recoverable`: the caller can do something about it and try again.
 */
export const reasons = {
  'bad-input': { recoverable: true, says: 'the arguments do not fit the contract' },
  'bad-request': { recoverable: true, says: 'the request itself does not fit the protocol' },
  'duplicate-request': { recoverable: true, says: 'the id of this request is in use' },
  'unknown-tool': { recoverable: false, says: 'there is no tool of that name' },
  unauthorized: { recoverable: true, says: 'the caller did not show who they are' },
  'path-denied': { recoverable: true, says: 'the path is outside the project or forbidden' },
  'not-found': { recoverable: true, says: 'what was named does not exist' },
  'too-large': { recoverable: true, says: 'larger than the limit in force' },
  encoding: { recoverable: false, says: 'not UTF-8 text' },
  parse: { recoverable: false, says: 'stored or given data cannot be parsed' },
  lint: { recoverable: true, says: 'a check could not be carried out' },
  conflict: { recoverable: true, says: 'the world moved since it was looked at' },
  policy: { recoverable: true, says: 'the policy in force does not allow it' },
  'needs-approval': { recoverable: true, says: 'a person must agree, and nobody has answered yet' },
  declined: { recoverable: true, says: 'a person said no' },
  'no-dry-run': { recoverable: true, says: 'exactly this change must be made as a dry run first' },
  'read-only': { recoverable: true, says: 'nothing may be changed here' },
  disabled: { recoverable: false, says: 'the tool is switched off here' },
  'over-limit': { recoverable: true, says: 'a program or page broke a limit it had, and was ended' },
  busy: { recoverable: true, says: 'too much is going on at once' },
  timeout: { recoverable: true, says: 'took longer than allowed' },
  cancelled: { recoverable: true, says: 'the caller took it back' },
  unsupported: { recoverable: false, says: 'not possible on this system' },
  preview: { recoverable: true, says: 'no preview could be shown' },
  io: { recoverable: false, says: 'the disk refused' },
  internal: { recoverable: false, says: 'a fault in Handrail itself' },
  'model-failed': { recoverable: true, says: 'the endpoint of a model cannot be reached, or answered with an error' },
  // Pages.
  'page-timeout': { recoverable: true, says: 'a page did not answer in time' },
  'page-crashed': { recoverable: true, says: 'a page, or its browser, ended' },
  'page-script': { recoverable: true, says: 'a script or step in a page failed' },
  'page-failed': { recoverable: true, says: 'a site cannot be reached, or answered with an error' },
  'mount-failed': { recoverable: true, says: 'a mounted MCP server failed, or answered with an error' },
  'element-not-found': { recoverable: true, says: 'the page has no such element' },
  'login-field-not-found': { recoverable: true, says: 'the page has no such field to sign in with' },
  // Runs.
  'session-not-found': { recoverable: true, says: 'there is no such session of the browser' },
  'template-not-found': { recoverable: true, says: 'there is no such template' },
  'template-version': { recoverable: false, says: 'the template does not exist in that version' },
  'trust-level': { recoverable: true, says: 'the template is not for callers at this level of trust' },
  'run-not-found': { recoverable: true, says: 'there is no such run, or no longer' },
  'step-failed': { recoverable: true, says: 'a step of a run failed' },
  'artifact-not-found': { recoverable: true, says: 'there is no such artifact' },
  'artifact-expired': { recoverable: true, says: 'the artifact was kept for its time, and is gone' },
} as const satisfies Record<string, { recoverable: boolean; says: string }>

export type Reason = keyof typeof reasons

/** What a caller calls a tool of ours; nothing where it has no such tool. */
export type ToolNames = (tool: string) => string | undefined

/** A sentence for whoever called. Where it names a tool, it is made with the name the caller knows that tool by. */
export type Words = string | ((name: (tool: string) => string) => string)

export interface FaultExtras {
  details?: Record<string, unknown>
  hint?: Words
  cause?: unknown
}

/** The only error Handrail throws on purpose: what, why and what next. */
export class Fault extends Error {
  readonly reason: Reason
  readonly details: Record<string, unknown> | undefined
  /** What next, as an act. A surface hands it on with `hintFor`. */
  readonly hint: Words | undefined

  constructor(reason: Reason, message: string, extras: FaultExtras = {}) {
    super(message, { cause: extras.cause })
    this.name = 'Fault'
    this.reason = reason
    this.details = extras.details
    this.hint = extras.hint
  }
}

export const wordsWith = (words: Words, name: (tool: string) => string): string =>
  typeof words === 'string' ? words : words(name)

/** The hint in the caller's own words. One that names a tool the caller does not have would send it nowhere, and is not given. */
export function hintFor({ hint }: Fault, names: ToolNames): string | undefined {
  if (hint === undefined) return undefined
  let unknown = false
  const said = wordsWith(hint, (tool) => {
    const name = names(tool)
    if (name === undefined) unknown = true
    return name ?? tool
  })
  return unknown ? undefined : said
}

/** Whatever was thrown, as a fault. The cause stays for the log and never reaches the wire. */
export function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return new Fault('internal', 'Handrail met an unexpected fault. Nothing is known to be half done.', {
    hint: 'Run `handrail doctor`; the call id in the audit log leads to the cause on stderr.',
    cause: thrown,
  })
}

import type { Static, TSchema } from 'typebox'
import type { Content } from './content.ts'
import type { Reason } from './faults/fault.ts'
import type { LineDiff } from './line-diff.ts'
import type { Form } from './snapshot.ts'
import type { EffectKind, Program, ProgramResult, Sides } from './stage.ts'

/** R0 reads. R1 changes that can be undone. R2 cannot be fully undone, or unknown code. R3 destroys, publishes, spends, or touches secrets. */
export const risks = ['R0', 'R1', 'R2', 'R3'] as const
export type Risk = (typeof risks)[number]

/**
 * What a call reads or changes, stated before it acts. Policy judges it, order and snapshots follow it. `host`: a site that a page is sent to; the
 * person is asked about one they have not allowed.
 */
export type Touch = { path: string; access: 'read' | 'write' } | { command: string } | { url: string } | { host: string }

/** What a tool asks the person in words, with answers to choose from where it has some. */
export interface Asked {
  text: string
  options: readonly string[]
}

/** What a person sees of a call: its effect, not its words. */
export interface Card {
  title: string
  changes: CardChange[]
  notes?: string[]
  /** What is beyond the changes a card lists, by folder: whoever agrees to it agrees unread. */
  rest?: { folder: string; changes: number; bytes: number }[]
  /** How many changes of each kind there are in all, also beyond those that are listed. */
  counts?: Partial<Record<EffectKind, number>>
  /** It reaches, or had, what no undo takes back: said before and louder than anything else. */
  loud?: ('network' | 'unconfined')[]
}

export interface CardChange {
  path: string
  kind?: EffectKind
  /** Where it was before, for `renamed`. */
  from?: string
  /** What happens there, where lines do not say it: deleted, a link, permissions, the size of a picture. */
  says?: string
  diff: LineDiff
  /** Sizes in bytes and content hashes, before and after; null where nothing stands. */
  sizes?: readonly [number | null, number | null]
  hashes?: readonly [string | null, string | null]
  /** It makes other programs run something. */
  sensitive?: true
  /** What the change is inside, where lines do not say it: packages, files of an archive, or rows of a database, each row with its sign. Words of others, as they are. */
  inside?: { what: 'packages' | 'archive' | 'database'; rows: string[]; more?: number }
  /** Which sides are pictures that the page can show. */
  pictures?: { before?: true; after?: true }
  /** The card does not show it: how many lines it is, where they were counted, or what is not there to see. `approvals show --file` has it. */
  unshown?: { lines?: number; why?: string }
}

/** What will stand in a file. */
export interface Draft {
  path: string
  text: string
}

export interface FileChange {
  path: string
  content: Content | null
  /** A picture or the like: one thing to look at, not lines. */
  binary?: true
  /** What shall stand there: a file, unless said otherwise. The content of a link is its target; a folder has none. */
  form?: Form
  /** Permission bits; without them they stay as they are. */
  mode?: number
  /** Snapshots this change takes back. */
  undoes?: readonly string[]
}

export interface Written {
  path: string
  snapshotId: string
  bytes: number
}

/** Something a call leaves beside its answer, for surfaces that can show it. */
export interface Attachment {
  mimeType: string
  bytes: Uint8Array
}

/** Something that happened in a call that goes on, for surfaces that tell it at once. */
export interface ToolNews {
  kind: string
  payload: object
}

/** For whom something is worked out before the call has its turn: it takes that client's place in line, and ends with its call. */
export interface Asker {
  client: string
  signal: AbortSignal | undefined
}

/** What a tool may do while it runs. Writing is a capability of the call, limited to what the tool declared in `touches`. */
export interface ToolContext {
  readonly id: string
  readonly session: string
  /** Whose turn it takes where calls share what there is little of: see `Caller.peer`. */
  readonly client: string
  readonly signal: AbortSignal
  readonly caller: { surface: string; client: string }
  /** The run whose step it is. */
  readonly run?: string | undefined
  /** Every tool that is switched on in this runtime. */
  readonly tools: readonly string[]
  /** What the person answered, where the tool `asks` and the surface could put the question. */
  readonly answer: string | undefined
  /** The `target` that a person agreed to, where one was asked. */
  readonly agreedTo?: readonly string[] | undefined
  /** How the tool's program ran, and what was committed of it. Only for tools that have one. */
  readonly ran: ProgramResult
  readonly committed: readonly Written[]
  /** Where what the tool named as `evidence` is kept. */
  readonly evidence: readonly string[]
  progress(done: number, total?: number, message?: string): void
  /** Tells what happened so far to whoever listens; the answer holds all of it. */
  tell(news: ToolNews): void
  /** Shows something beside the answer; the answer must do without it. Not there where nobody takes it: then it need not be made. */
  readonly attach?: ((attachment: Attachment) => void) | undefined
  /**
   * Changes files, all or none: `content` null removes. Only paths declared as written in `touches` are let through;
   * both sides of every change are kept, and the ids of the new states come back in the same order.
   */
  change(changes: readonly FileChange[]): Promise<Written[]>
  /** Keeps something for a person to look at later; the log names it. */
  keep(kind: string, bytes: Uint8Array): void
  /** The same for a tool with an idempotency key: its answer is made from what was written and stored with the change itself. */
  changeOnce<Out>(changes: readonly FileChange[], answer: (written: Written[]) => Out): Promise<Out>
}

export interface Example {
  says: string
  /** Files that must be there before. */
  given?: Record<string, string>
  input: Record<string, unknown>
  /** Fields the reply must contain. */
  output: Record<string, unknown>
}

export type Infer<S> = S extends TSchema ? Static<S> : never

/** The one form of a tool. Snapshots, consent, audit, timing, order and idempotency are not in it: the kernel does them. */
export interface ToolForm<I extends object, O extends object, Use, In, Out> {
  name: string
  title: string
  description: string
  /** The floor. Arguments may raise it, a model never lowers it. */
  risk: Risk | ((input: In) => Risk)
  input: I
  output: O
  /** Why it may fail, besides the kernel's own reasons. */
  faults: readonly Reason[]
  examples: readonly Example[]
  touches?: (input: In, use: Use) => Touch[] | Promise<Touch[]>
  card?: (input: In, use: Use) => Card | Promise<Card>
  /**
   * What it would be done to, where that is no file: the card begins with it, and a yes is to exactly that. What was agreed to comes with the
   * call: between the yes and the act it may have become something else.
   */
  target?: (input: In, use: Use, asker: Asker & { session: string }) => readonly string[] | Promise<readonly string[]>
  /** What the files it writes will hold, where that can be said before: new scripts are known by it. */
  drafts?: (input: In, use: Use, asker: Asker) => Draft[] | Promise<Draft[]>
  /**
   * For tools that run a program: it runs on a stage, what it changed there is judged, shown and committed like any write, and
   * `execute` only makes the answer of `call.ran`.
   */
  program?: (input: In, use: Use) => Program | Promise<Program>
  /** What is kept of a run for a person to look at later, made before anything of it is taken over; the log names it. */
  evidence?: (input: In, use: Use, ran: ProgramResult, sides: Sides) => Evidence[] | Promise<Evidence[]>
  /** One more line in the log, however a call with a fitting input ends, for tools whose contract names one. */
  record?: (input: In, use: Use, ran: ProgramResult | undefined) => { event: ToolEvent; details: Record<string, unknown> }
  execute: (input: In, use: Use, call: ToolContext) => Out | Promise<Out>
  /** Inputs the contract promises to accept although the schema alone would refuse them. */
  normalizeInput?: (raw: Record<string, unknown>) => Record<string, unknown>
  /** Input fields that hold content: only their size and digest are written down. */
  private?: readonly (keyof In & string)[]
  /** Input fields that carry what stands in files, and so may be as large as those. */
  contents?: readonly (keyof In & string)[]
  /** For tools that need a dry run first: whether this is the dry run, and which fields must be equal between it and the real one. */
  dryRun?: (input: In) => { dry: boolean; same: readonly (keyof In & string)[] }
  /** For tools that check a file: whether it passed, so that `maxAutoFix` can count repairs. */
  verdict?: (input: In, output: Out) => { path: string; passed: boolean } | undefined
  /** Waits for something other than the disk, such as a page, a search or a pattern, and so for longer than a moment. */
  waits?: true | ((input: In) => boolean)
  /** Waits for work that goes the same road itself: it holds no slot, and has no deadline but its caller's. */
  unhurried?: true
  /** Only in developer mode. */
  developer?: boolean
  /** Only where this setting is on. */
  needs?: 'enableShell'
  /** A question to the person, who finds it in every place where they answer. Where the client can show it, it is put before the call and the answer comes with it. */
  asks?: (input: In) => Asked
  /** Answers with pictures beside the words. */
  pictures?: true
  /** `person`: not offered to agents over any surface. `resource`: read by address, not listed among the tools. */
  audience?: Audience
  /**
   * The digest of its definition, where that is somebody else's. Such a schema is never compiled by the kernel: the tool checks its input
   * itself, in `touches`. A yes is to a call of exactly this definition.
   */
  definition?: string
  /** Whether a person can leave its question out for a session or for good, as it is defined now. */
  grantable?: boolean
}

/** A file beside the log: `log` becomes `<call>.log`. */
export interface Evidence {
  kind: string
  text: string
}

/** Events that a contract names for a tool of its own. */
export type ToolEvent = `tool.${string}`

export type Audience = 'agent' | 'person' | 'resource'

/** A tool as the kernel knows it: the form, bound to the slice of the host it may use. */
export interface Tool {
  readonly name: string
  readonly toolset: string
  readonly title: string
  readonly description: string
  readonly input: object
  readonly output: object
  readonly faults: readonly Reason[]
  readonly examples: readonly Example[]
  readonly private: readonly string[]
  readonly contents: readonly string[]
  readonly developer: boolean
  readonly needs: 'enableShell' | undefined
  readonly audience: Audience
  readonly pictures: boolean
  readonly asks: ((input: unknown) => Asked) | undefined
  /** `by input` where the arguments decide. */
  readonly floor: Risk | 'by input'
  readonly definition: string | undefined
  readonly grantable: boolean
  readonly dryRun: ((input: unknown) => { dry: boolean; same: readonly string[] }) | undefined
  readonly verdict: ((input: unknown, output: unknown) => { path: string; passed: boolean } | undefined) | undefined
  normalizeInput(raw: Record<string, unknown>): Record<string, unknown>
  risk(input: unknown): Risk
  waits(input: unknown): boolean
  readonly unhurried: boolean
  touches(input: unknown): Touch[] | Promise<Touch[]>
  card(input: unknown): Card | Promise<Card>
  readonly target:
    | ((input: unknown, asker: Asker & { session: string }) => readonly string[] | Promise<readonly string[]>)
    | undefined
  readonly drafts: ((input: unknown, asker: Asker) => Draft[] | Promise<Draft[]>) | undefined
  readonly program: ((input: unknown) => Program | Promise<Program>) | undefined
  readonly evidence: ((input: unknown, ran: ProgramResult, sides: Sides) => Evidence[] | Promise<Evidence[]>) | undefined
  readonly record:
    | ((input: unknown, ran: ProgramResult | undefined) => { event: ToolEvent; details: Record<string, unknown> })
    | undefined
  execute(input: unknown, call: ToolContext): unknown
}

/** A form waiting for the slice of the host its toolset names. */
export interface Bindable<Use> {
  readonly name: string
  bind(use: Use): Tool
}

/** `const defineTool = toolsUsing<Files>('files')`: a tool can reach only the slice its toolset names. */
export function toolsUsing<Use>(toolset: string) {
  return function defineTool<I extends object, O extends object, In = Infer<I>, Out = Infer<O>>(
    form: ToolForm<I, O, Use, NoInfer<In>, NoInfer<Out>>,
  ): Bindable<Use> {
    // Once for each form, not for each runtime: a schema is compiled where it is new.
    const output = form.risk === 'R0' ? form.output : withNote(form.output)
    const whole = { ...form, output } as ToolForm<object, object, Use, unknown, unknown>
    return { name: form.name, bind: (use) => bindForm(toolset, whole, use) }
  }
}

const note = { type: 'string', description: 'What the person said with their yes: follow it.' } as const

/** Whatever may be asked about can be agreed to with some words, and these reach whoever asked. */
function withNote(output: object): object {
  return { ...output, properties: { ...(output as { properties?: object }).properties, approvalNote: note } }
}

function bindForm<Use>(toolset: string, form: ToolForm<object, object, Use, unknown, unknown>, use: Use): Tool {
  const floor = form.risk
  const { program, record, evidence, drafts, target, waits = false } = form
  return {
    name: form.name,
    toolset,
    title: form.title,
    description: form.description,
    input: form.input,
    output: form.output,
    faults: form.faults,
    examples: form.examples,
    private: (form.private ?? []) as readonly string[],
    contents: (form.contents ?? []) as readonly string[],
    developer: form.developer ?? false,
    needs: form.needs,
    audience: form.audience ?? 'agent',
    definition: form.definition,
    grantable: form.grantable ?? false,
    pictures: form.pictures ?? false,
    asks: form.asks,
    floor: typeof floor === 'function' ? 'by input' : floor,
    dryRun: form.dryRun,
    verdict: form.verdict,
    normalizeInput: form.normalizeInput ?? ((raw) => raw),
    risk: typeof floor === 'function' ? floor : () => floor,
    waits: typeof waits === 'function' ? waits : () => waits,
    unhurried: form.unhurried ?? false,
    touches: (input) => form.touches?.(input, use) ?? [],
    card: (input) => form.card?.(input, use) ?? { title: form.title, changes: [] },
    target: target && ((input, asker) => target(input, use, asker)),
    drafts: drafts && ((input, asker) => drafts(input, use, asker)),
    program: program && ((input) => program(input, use)),
    evidence: evidence && ((input, ran, sides) => evidence(input, use, ran, sides)),
    record: record && ((input, ran) => record(input, use, ran)),
    execute: (input, call) => form.execute(input, use, call),
  }
}

import type { Agent } from './agent.ts'
import type { ClusterView } from './cluster.ts'
import type { Approval, ApprovalHead, ApprovalState, Decision, Page, TextPart } from './approval.ts'
import type { Anchor, AuditEntry, AuditLine, AuditStream, AuditVerdict } from './audit.ts'
import type { CallOptions, Caller } from './call.ts'
import type { Chats } from './chat.ts'
import type { ClientForms } from './client-forms.ts'
import type { Config, Setting } from './config.ts'
import type { AgentGate, CallResult } from './gate.ts'
import type { SavedLogins } from './saved-login.ts'
import type { Fault } from './faults/fault.ts'
import type { Grant } from './grant.ts'
import type { Memory } from './memory.ts'
import type { MountsOfPerson } from './mounts.ts'
import type { ModelKeys } from './model-keys.ts'
import type { Profile } from './profile.ts'
import type { Pruning } from './prune.ts'
import type { Plans } from './plan.ts'
import type { PromptLibrary } from './prompt.ts'
import type { ProjectText, SkillLibrary } from './skill.ts'
import type { ScriptEditor } from './script-editor.ts'
import type { ServerRuns } from './server-run.ts'
import type { ProjectTemplate } from './project-templates.ts'
import type { ProjectSettings } from './project-settings.ts'
import type { NamedRoot } from './roots.ts'
import type { ServedPage } from './served-page.ts'
import type { Question } from './question.ts'
import type { RunsApi } from './run.ts'
import type { Session, SessionNote } from './session.ts'
import type { Snapshot } from './snapshot.ts'
import type { Confinement } from './stage.ts'
import type { Tool } from './tool.ts'

/**
 * What the person holds: all there is to see, their answers, their trust and their credentials. A surface is handed it where only a person gets
 * in: the command line and the page. What serves agents is handed `gate`, and `forms` where it can ask the person through a client.
 */
export interface Operator {
  readonly gate: AgentGate
  /** A gate for a surface whose contract differs from contract 000. The same profile gives the same gate. */
  gateFor(profile: Profile): AgentGate
  readonly forms: ClientForms
  readonly project: string
  /** The folders besides the project that the settings name. */
  readonly roots: readonly NamedRoot[]
  readonly version: string
  readonly config: Config
  readonly settings: readonly Setting[]
  /** Where what Handrail keeps of this project lies: outside of it, in a folder of this user alone. */
  readonly state: {
    /** Below it lies the state of all projects of this user. */
    base: string
    folder: string
    /** The project brings a folder in which older versions kept state; it is ignored. */
    ignored: boolean
  }
  /** The project's own settings file, where it has one. */
  readonly projectSettings: ProjectSettings | undefined
  /** What the project brings as templates of runs, trusted or not. Where `offers` is given, a step whose tool is not offered is wrong. */
  projectTemplates(offers?: (tool: string) => boolean): Promise<ProjectTemplate[]>
  /** What the project brings as skills and prompts, trusted or not, with all that is needed to decide. */
  projectTexts(): Promise<ProjectText[]>
  /** The skills there are, the prompts, and the plans. */
  readonly skills: SkillLibrary
  readonly prompts: PromptLibrary
  readonly plans: Plans
  /** What this system gives us, for `doctor`. */
  readonly capabilities: {
    search: string
    paths: string
    sqlite: string
    browser(): Promise<{ there: boolean; says: string }>
    /** Where spans of what is done go, by the variables of OpenTelemetry; nothing where none names an endpoint. */
    traces(): { endpoint: string; wrong?: string } | undefined
    confinement(): Promise<Confinement>
  }
  /** Everything an agent may call. */
  readonly tools: readonly Tool[]
  /** What an agent is shown of it: the rest is of no use in this project, and can be called all the same. */
  listed(): readonly Tool[]
  /** Whether a tool can be called here, listed or not. */
  offers(tool: string): boolean
  /** What a call of a tool that is switched off would be told; nothing where it is on, or there is none. */
  whyOff(tool: string): Fault | undefined
  /** As a person, or as whoever they stand in for at their own terminal. */
  call(name: string, input: unknown, caller: Caller, options?: CallOptions): Promise<CallResult>
  openSession(session: Pick<Session, 'id' | 'surface' | 'client'>): void
  sessions(): Session[]
  notes(session: string): SessionNote[]
  /** What agents asked in words. */
  questions: {
    /** Those that wait, the oldest first; with `all`, the newest first of all. */
    list(all?: boolean): Question[]
    /** How many wait. */
    count(): number
    get(id: string): Question | undefined
    /** The person's words, which the agent gets when it asks again; throws where it was answered before. */
    answer(id: string, answer: string, by: string): Question
  }
  approvals: {
    /** Newest first, a page at a time, without what is shown of them. */
    list(state?: ApprovalState, page?: Page): ApprovalHead[]
    count(state: ApprovalState): number
    get(id: string): Approval | undefined
    /** For whoever looks again and again: nothing of the card is read. */
    state(id: string): ApprovalState | undefined
    /** The full text of one change of a card, part by part: its diff where that was kept, else what stands on the stage. */
    text(id: string, path: string, from?: number): Promise<TextPart | undefined>
    /** One side of a picture that a card would change, exactly as its hash says; nothing where it is none, or the question no longer waits. */
    picture(id: string, path: string, side: 'before' | 'after'): Promise<{ type: string; bytes: Uint8Array } | undefined>
    /** A person's answer. A card that does not show all needs `unread`. */
    decide(id: string, decision: Decision): Approval
    /** Takes a no back, so that the agent may ask again. */
    lift(id: string, by: string): ApprovalHead
  }
  audit: {
    note(entry: AuditEntry): void
    /** What happens from now on, or happened from a line on. */
    subscribe: AuditStream['subscribe']
    /** Every line, on the spot; also whether the log still holds every line that was anchored. */
    verify(onProgress?: (done: number, total: number) => void, anchors?: readonly Pick<Anchor, 'hash'>[]): AuditVerdict
    /** The same in small steps; what was found whole before is compared byte by byte and not taken apart again, unless `full`. */
    check(asked?: {
      full?: boolean
      anchors?: readonly (Pick<Anchor, 'hash'> & Partial<Pick<Anchor, 'seq'>>)[]
      onProgress?: (done: number, total: number) => void
    }): Promise<AuditVerdict>
    /** The newest that fit, oldest first; of those only that hold these words, byte for byte as they stand there. */
    last(count: number, fits?: (line: AuditLine) => boolean, holding?: readonly string[]): AuditLine[]
    line(seq: number): AuditLine | undefined
    lines(from?: number): Iterable<AuditLine>
    head(): { seq: number; hash: string; at: string }
    /** A person's word after a break: what is left is kept aside, and a new log begins with saying so. Returns the names kept. */
    renew(): string[]
    keepAnchor(file: string): Anchor
    anchorsIn(file: string): Anchor[]
  }
  /** Finds what was done before. */
  memory: Memory
  snapshots(limit: number, prefix: string): Snapshot[]
  /** A few ids of a kind that begin so, for whoever typed the beginning of one. */
  idsLike(kind: 'appr' | 'ask' | 'snap' | 'call' | 'sess' | 'run' | 'grant' | 'plan' | 'artifact', prefix: string): string[]
  /** A secret of this project, made on first use; lives in a 0600 file. One is for agents, the other for the person, and neither stands for the other. */
  token(whose?: 'agent' | 'person'): { token: string; file: string }
  /** Marks a word as used until a time, for every process on the project; false where it was used before. */
  consumeNonce(word: string, until: number): boolean
  /** What was said over the HTTP gateway. */
  readonly chats: Chats
  /** Keys for models, the person's own. */
  readonly modelKeys: ModelKeys
  /** The agent that comes with Handrail, at this gate or another; loaded when it is first asked for. The same gate gives the same agent. */
  agent(gate?: AgentGate): Promise<Agent>
  /** What an editor asks of the scripts of a WebGAL game; it only reads. */
  scriptEditor(): Promise<ScriptEditor>
  /** Where pages of this project are served now, in whichever process that is. */
  servedPages: {
    announce(page: ServedPage): () => void
    list(): ServedPage[]
  }
  /** What is old or no longer named goes; the person says when. */
  pruning: Pruning
  /** Logins that were saved for runs. */
  logins: SavedLogins
  /** What the person lets sessions do beyond the rules. No agent reaches it over any surface. */
  grants: {
    list(): Grant[]
    /** For the reasons that the file is asked about now. Without a session: the only one there is; refused where there are several, with those to choose from. */
    give(wanted: {
      kind: Grant['kind']
      subject: string
      /** For a session, unless said otherwise. */
      scope?: Grant['scope']
      session?: string
      by: string
      ttlMs?: number
    }): Promise<Grant & Partial<Pick<Session, 'client' | 'surface'>>>
    revoke(id: string, by: string): Grant
  }
  /** Other MCP servers behind the gate. */
  mounts: MountsOfPerson
  /** Work that outlives a request. Opened when it is first asked for. */
  runs(): Promise<RunsApi>
  /** How it is with the machines that share the runs; undefined where no database is configured. */
  cluster(): Promise<ClusterView | undefined>
  /** All runs of the project from the embedded store into the shared one, or back. `left` are under way, or of another machine. */
  moveRuns(to: 'shared' | 'embedded'): Promise<{ moved: number; left: number }>
  /** Programs that keep running, as runs of their own kind. */
  servers: ServerRuns
  trust: {
    /**
     * Lets the project's settings loosen what `projectSettings.loosenings` says, or one of its templates be run, as long as no byte of the
     * file changes.
     */
    grant(digest: string, by: string): void
    /** The same for skills and prompts that were shown (`projectTexts`), several with one yes; says how many. */
    grantTexts(digests: readonly string[], by: string): number
    /** False where nothing was trusted. */
    revoke(by: string): boolean
  }
  close(): Promise<void>
}

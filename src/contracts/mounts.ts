import Type, { type Static } from 'typebox'
import { entry, text } from './config-bounds.ts'
import { closed } from './shapes.ts'
import { risks, type Risk } from './tool.ts'

const level = Type.Enum([...risks], { type: 'string' })

/** Another MCP server as the settings name it: a program that Handrail starts, or an address. */
export const Mount = Type.Object(
  {
    command: Type.Optional(Type.String({ minLength: 1, ...text })),
    args: Type.Optional(Type.Array(Type.String(text), { maxItems: 200 })),
    /** Its whole environment besides PATH and the like; `${NAME}` is taken from Handrail's own. */
    env: Type.Optional(Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' }), Type.String(text))),
    /** Folders it may read, and those it may change: absolute, or `.` for the project. */
    reads: Type.Optional(Type.Array(Type.String({ minLength: 1, ...entry }), { maxItems: 50 })),
    writes: Type.Optional(Type.Array(Type.String({ minLength: 1, ...entry }), { maxItems: 50 })),
    network: Type.Optional(Type.Boolean()),
    /** Run as it is, where it does not work confined. */
    unconfined: Type.Optional(Type.Boolean()),
    url: Type.Optional(Type.String({ pattern: '^https?://', ...text })),
    headers: Type.Optional(Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' }), Type.String(text))),
    /** What the person takes its tools for, by name; `*` for the others. Unknown is R2. */
    risks: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 200 }), level)),
    /** Of its tools only these. */
    tools: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 500 })),
    off: Type.Optional(Type.Boolean()),
  },
  closed,
)

export type Mount = Static<typeof Mount> & {
  /** It stands in a project's own file, which a person trusted. */
  ofProject?: true
}

/** No underscore, so that the two of a name on the wire divide it. */
export const mountName = '^[a-z][a-z0-9-]{0,23}$'

export const Mounts = Type.Record(Type.String({ pattern: mountName }), Mount, { maxProperties: 32, additionalProperties: false })

/** A tool as its server defines it, with nothing left out. */
export type Definition = Record<string, unknown> & { name: string }

/** What is known of a tool of a mounted server. */
export interface MountedTool {
  server: string
  /** As the server calls it. */
  tool: string
  /** What an agent may see and call; none where nobody has accepted one. */
  accepted: Definition | undefined
  /** What the server says now, where that is something else; null where it says nothing of it any more. */
  found: Definition | null | undefined
  /** Why it cannot be offered, whatever anybody accepts. */
  wrong?: string
}

/** A mounted server as a person sees it. */
export interface MountView {
  server: string
  /** The program or address, without what signs in. */
  says: string
  ofProject: boolean
  off: boolean
  /** Why it could not be reached when it was last tried here. */
  fault?: string
  /** `foundDigest` names what the server says now, for `accept`. */
  tools: (MountedTool & { id: string; wire: string; risk: Risk; foundDigest?: string })[]
}

/** What the person holds of mounted servers. */
export interface MountsOfPerson {
  /** As it was last seen; `refresh` asks the servers first. */
  list(): MountView[]
  refresh(server?: string): Promise<MountView[]>
  /** What the server says now counts from here on; throws where it is not what was shown (`digest` of `found`). */
  accept(server: string, tools: readonly { tool: string; digest: string }[], by: string): void
  /** Forgets all that was known of it: the next definitions that are seen count as the first. */
  forget(server: string, by: string): number
}

export const grantKinds = ['secret', 'runs', 'host', 'tool'] as const

export const grantScopes = ['once', 'session', 'always'] as const

/**
 * What a person let agents do beyond the rules. `secret`: tools may read this file. `runs`: it may be changed without asking each time,
 * although it makes a program run something on an everyday command. `host`: pages may be sent to this site. `tool`: this tool of a mounted server may be
 * called without asking each time, as it is defined now. Only a person gives one, and a yes to what is R3 leaves none behind.
 */
export interface Grant {
  id: string
  kind: (typeof grantKinds)[number]
  /** `once`: for one use of one session. `session`: for one session. `always`: for every session, until it is revoked. */
  scope: (typeof grantScopes)[number]
  /** Null for `always`. */
  session: string | null
  /** What it is about: the path of a file, a site, or a tool. */
  subject: string
  /**
   * For `runs`: why the file was asked about, in the words of the card. For any other reason the person is asked again. For `host` that is good
   * once: the run or call that has made use of it. For `tool`: the digest of its definition.
   */
  reasons: readonly string[]
  /** Who gave it: the person by name, or the approval that they agreed to. */
  by: string
  givenAt: number
  /** Null where it does not lapse. */
  expiresAt: number | null
}

/** For how long each kind may be given. What touches secrets is not remembered for good; a yes to one change is one use already. */
export const scopesOf: Record<Grant['kind'], readonly Grant['scope'][]> = {
  secret: ['once', 'session'],
  runs: ['session', 'always'],
  host: ['once', 'session', 'always'],
  tool: ['session', 'always'],
}

export const grantKinds = ['secret', 'runs'] as const

/**
 * What a person let one session do beyond the rules, for a while. `secret`: its tools may read this file. `runs`: it may change this
 * file, which makes a program run something on an everyday command, without asking each time.
 */
export interface Grant {
  id: string
  kind: (typeof grantKinds)[number]
  session: string
  path: string
  by: string
  givenAt: number
  expiresAt: number
}

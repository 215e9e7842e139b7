/** Where a key is kept: in the keyring of the system, or in a file that only this user can read. */
export type KeyPlace = 'keyring' | 'file'

/** What is told of a key; never the key. */
export interface KeyInfo {
  provider: string
  /** The only origin it is ever sent to. */
  origin: string
  place: KeyPlace
  setAt: number
}

/** The person's keys for models, the same for all their projects. */
export interface ModelKeys {
  set(provider: string, origin: string, key: string): Promise<KeyInfo>
  list(): KeyInfo[]
  /** One, or all there are. Returns those that were there. */
  clear(provider?: string): Promise<KeyInfo[]>
}

/** What asks a model holds besides: the key itself, for the origin that it was given for and no other. */
export interface KeySource {
  get(provider: string, origin: string): Promise<string | undefined>
}

/** The keyring of the system, as far as it is needed. */
export interface Keyring {
  set(account: string, secret: string): Promise<void>
  get(account: string): Promise<string | undefined>
  remove(account: string): Promise<void>
}

/** A folder besides the project that the person lets agents of some surfaces into, under a name. Records write its paths `//NAME/…`. */
export interface NamedRoot {
  readonly name: string
  readonly path: string
  /** Why it cannot be used, where it cannot: then nobody reaches it. */
  readonly why?: string
}

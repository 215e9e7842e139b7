import { ownFields, type Client, type Entry } from '../contracts/clients.ts'
import { ToolError } from '../contracts/errors.ts'

/** One server's place in the text of a client's settings. */
export interface EntryPlace {
  text: string
  client: Client
  name: string
  /** For messages. */
  file: string
}

/** Our fields as they are wanted, the others of the entry as they are. */
export function renewed(old: Record<string, unknown>, entry: Entry, client: Client): Record<string, unknown> {
  const own = ownFields(client)
  return { ...Object.fromEntries(Object.entries(old).filter(([field]) => !own.includes(field))), ...entry }
}

export function broken(file: string, why: string, cause?: unknown): ToolError {
  return new ToolError('E_PARSE_FAIL', `${file} cannot be read: ${why}`, {
    details: { file },
    hint: 'Nothing was written. Correct the file first, or put in by hand what `--print` shows.',
    cause,
  })
}

export function unsafe({ file, client, name }: EntryPlace, why: string): ToolError {
  return new ToolError('E_UNSUPPORTED', `${file} holds ${client.key}.${name} in a form that cannot be changed safely`, {
    details: { file },
    hint: `Nothing was written. ${why} Change the file by hand; \`--print\` shows what belongs in it.`,
  })
}

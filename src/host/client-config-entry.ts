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

/** Fields that decide how a server is started. In an entry that came with a project they would loosen every rule, unseen. */
const startFields = ['env', 'envFile', 'env_file', 'env_vars', 'environment', 'cwd']

/** Our fields as they are wanted, the others of the entry as they are; refused where one of those would change what is started. */
export function renewed(old: Record<string, unknown>, entry: Entry, client: Client): Record<string, unknown> {
  const own = ownFields(client)
  // What stands in a file of their own is the person's.
  const judged = client.scope === 'project' ? startFields : []
  const odd = judged.filter((field) => !own.includes(field) && !(field in (client.extras ?? {})) && !isEmpty(old[field]))
  if (odd.length)
    throw new ToolError('E_POLICY_VIOLATION', `There is an entry already that says how Handrail is started: ${odd.join(', ')}`, {
      details: { fields: odd },
      hint: 'Nothing was written. Variables there can switch the rules off. Take them out, or the whole entry with --remove, and run this again.',
    })
  return { ...Object.fromEntries(Object.entries(old).filter(([field]) => !own.includes(field))), ...entry }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
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

import type { Client, Entry } from '../contracts/clients.ts'
import { ownFields } from '../text/client-start.ts'
import { Fault } from '../contracts/faults/fault.ts'

/** One server's place in the text of a client's settings. */
export interface EntryPlace {
  text: string
  client: Client
  name: string
  /** For messages. */
  file: string
  /** The file came with a project, so nothing in it was put there by the person. */
  shipped: boolean
}

/** Our fields as they are wanted, the others of the entry as they are; refused where the file came with a project and one of those may do harm. */
export function renewed(old: Record<string, unknown>, entry: Entry, { client, shipped }: EntryPlace): Record<string, unknown> {
  const own = ownFields(client)
  const others = Object.entries(old).filter(([field]) => !own.includes(field))
  // What stands in a file of their own is the person's.
  const odd = shipped ? others.filter(([field, value]) => !isHarmless(client, field, value)).map(([field]) => field) : []
  if (odd.length)
    throw new Fault(
      'policy',
      `The project brings an entry of this name that says more than how Handrail is started: ${named(odd)}`,
      {
        details: { fields: odd.slice(0, mostNamed) },
        hint:
          'Nothing was written. Such fields can switch Handrail or its rules off, agree in your place, or start something else. ' +
          'Take them out, or the whole entry with --remove, and run this again.',
      },
    )
  return { ...Object.fromEntries(others), ...entry }
}

function isHarmless({ keeps = {} }: Client, field: string, value: unknown): boolean {
  return Object.hasOwn(keeps, field) && keeps[field]?.(value) === true
}

const mostNamed = 40

function named(fields: readonly string[]): string {
  const more = fields.length > mostNamed ? ` and ${fields.length - mostNamed} more` : ''
  return `${fields
    .slice(0, mostNamed)
    .map((field) => field.slice(0, 80))
    .join(', ')}${more}`
}

export function broken(file: string, why: string, cause?: unknown): Fault {
  return new Fault('parse', `${file} cannot be read: ${why}`, {
    details: { file },
    hint: 'Nothing was written. Correct the file first, or put in by hand what `--print` shows.',
    cause,
  })
}

export function unsafe({ file, client, name }: EntryPlace, why: string): Fault {
  return new Fault('unsupported', `${file} holds ${client.key}.${name} in a form that cannot be changed safely`, {
    details: { file },
    hint: `Nothing was written. ${why} Change the file by hand; \`--print\` shows what belongs in it.`,
  })
}

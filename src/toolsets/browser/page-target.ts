import { createHash } from 'node:crypto'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Asker } from '../../contracts/tool.ts'
import { oneLine } from '../../text/printable.ts'
import { readPage, type AgentTab, type BrowserUse } from './use.ts'

/** An act on an element of a page. */
interface Aimed {
  element: string
  tab?: string | undefined
  /** What is typed there first. */
  text?: string
}

/** So much of a page is looked through for an element: more than anybody reads. */
const mostChars = 2_000_000
const mostFields = 50
/** What a look may take beside reading. */
const spareMs = 5_000
const longestValue = 300
const longestAddress = 500

/** What a person agrees to when they let a page send something: where it is, on what is acted, and what stands in its form. */
export function targetOf(
  aimed: Aimed,
  use: BrowserUse,
  { session, signal }: Asker & { session: string },
): Promise<readonly string[]> {
  const { tab } = aimed
  return use.tabs.withTab({ session, signal, withinMs: use.timeoutMs + spareMs, ...(tab !== undefined && { tab }) }, (open) =>
    targetIn(open, aimed, use),
  )
}

/** Throws where it is not what was agreed to: the tab was sent elsewhere since, or the page shows something else. */
export async function mustBeTarget(open: AgentTab, aimed: Aimed, use: BrowserUse, agreedTo: readonly string[]): Promise<void> {
  const now = await targetIn(open, aimed, use)
  if (now.length === agreedTo.length && now.every((words, at) => words === agreedTo[at])) return
  throw new Fault('conflict', 'The page is not what the person was shown when they agreed', {
    hint: (name) =>
      `Nothing was sent. Look at it with ${name('page_snapshot')}, and make the call again: the person is asked about what it is now.`,
  })
}

async function targetIn({ tab }: AgentTab, { element: id, text }: Aimed, { timeoutMs }: BrowserUse): Promise<readonly string[]> {
  const { url, elements, forms } = await readPage(tab.page, { linkIds: true, maxChars: mostChars, timeoutMs })
  const element = elements.find((one) => one.id === id)
  if (!element)
    throw new Fault('element-not-found', `There is no element ${id} on the page`, {
      details: { element: id },
      hint: (name) => `Take a new ${name('page_snapshot')}: the page may have changed.`,
    })
  const form = forms.find(({ fields }) => fields.includes(id))
  const fields = elements.filter((one) => one.id !== id && form?.fields.includes(one.id) && one.role !== 'button')
  const isSecret = element.type === 'password' || element.value === '•••'
  const holds = fields.map(
    ({ name, value, checked }) => `The form holds ${quoted(name)}: ${quoted(value ?? String(checked ?? ''))}.`,
  )
  const more = holds.slice(mostFields)
  return [
    `The page is ${shortened(oneLine(url, Infinity), longestAddress)}.`,
    `The element is the ${element.role} ${quoted(element.name)}.`,
    ...(text === undefined
      ? []
      : [isSecret ? `${text.length} characters that are not shown are typed there.` : `Typed there: ${quoted(text)}.`]),
    ...(form ? [`Its form goes to ${shortened(oneLine(form.action, Infinity), longestAddress)}.`] : []),
    ...holds.slice(0, mostFields),
    ...(more.length > 0 ? [`${more.length} more fields of the form are not listed (${digestOf(more.join('\n'))}).`] : []),
  ]
}

/** Words of the site or the agent, as one line. */
const quoted = (words: string): string => shortened(JSON.stringify(words), longestValue)

/** What is cut stays part of what is agreed to, by its digest. */
const shortened = (words: string, most: number): string =>
  words.length > most
    ? `${words.slice(0, most).toWellFormed()}… (${words.length - most} characters more, ${digestOf(words)})`
    : words

const digestOf = (words: string): string => `SHA-256 ${createHash('sha256').update(words).digest('hex').slice(0, 16)}`

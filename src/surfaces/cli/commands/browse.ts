import { Fault } from '../../../contracts/faults/fault.ts'
import { isWebAddress } from '../../../text/address.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { bold, dim, oneLine, printable, printableBlock, say, warn } from '../print.ts'

interface Reading {
  url: string
  title: string
  text: string
  totalChars: number
  dropped: Record<string, unknown>
}

export const browse: Command = {
  name: 'browse',
  summary: 'Print a page as an agent would read it',
  usage: 'handrail browse URL [--main] [--ids] --project DIR',
  mostWords: 1,
  about: `Opens the page in the confined browser, waits until it stops changing, and prints what it says as Markdown: what it is about first,
then the rest of it and its frames. What can be acted on stands in ⟦…⟧ with its id. It is your own wish, so you are not asked about the
site, and no agent is let there by it. Title and address, and what is not in the text with how much of it, go to stderr.`,
  options: [
    { name: 'main', says: 'Only what the page is about.' },
    { name: 'ids', says: 'The ids of links, too.' },
  ],
  examples: [
    'handrail browse http://localhost:5173/ --project .',
    'handrail browse https://example.org/ --main --project . > page.md',
  ],
  async run({ words, options, json, open }) {
    const url = addressIn(words)
    const runtime = open()
    try {
      const session = 'cli-browse'
      runtime.openSession({ id: session, surface: 'cli', client: 'handrail-cli' })
      const input = { url, main: options['main'] === true, linkIds: options['ids'] === true }
      const caller = { surface: 'cli', client: 'handrail-cli', session, role: 'person' } as const
      const reading = (await runtime.call('browse_page', input, caller)).output as unknown as Reading
      if (json) say(terminalJson(reading))
      else {
        warn(`${bold(oneLine(reading.title, 200))} ${dim(oneLine(reading.url, 500))}`)
        say(printableBlock(reading.text))
        for (const line of leftOut(reading)) warn(dim(line))
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

/** `localhost:5173` is what people type. */
function addressIn([given, ...more]: string[]): string {
  if (given === undefined || more.length > 0)
    throw new Fault('bad-input', given === undefined ? 'Which page?' : 'One page at a time', {
      hint: 'handrail browse http://localhost:5173/',
    })
  const isNear = /^(localhost|127\.0\.0\.1|\[::1\])(?=[:/]|$)/.test(given)
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `${isNear ? 'http' : 'https'}://${given}`
  if (isWebAddress(url, () => true)) return url
  throw new Fault('bad-input', `No address of the web: ${printable(given).slice(0, 200)}`, {
    hint: 'Give one such as https://example.org/, without a name and password in it.',
  })
}

const words: Record<string, (count: never) => string> = {
  hidden: ({ chars, elements }: { chars: number; elements: number }) =>
    `${chars} characters in ${elements} elements that nobody sees`,
  invisibleChars: (count: number) => `${count} characters that nobody sees`,
  pictures: (count: number) => `${count} pictures without words`,
  frames: ({ hidden, unread }: { hidden: number; unread: number }) =>
    `${hidden} frames that are not shown, ${unread} beyond the most that are read`,
  unreadElements: (count: number) => `${count} elements for which there was no time or room`,
  closedElements: (count: number) => `${count} elements in closed parts that could not be opened`,
  unnamed: (count: number) => `${count} ids, because there are so many things to act on`,
  rest: ({ chars }: { chars: number }) => `${chars} characters outside the main part`,
}

/** What the text does not hold, one line each. */
function leftOut({ text, totalChars, dropped }: Reading): string[] {
  const cut = totalChars - text.length
  return [
    ...(cut > 0 ? [`Not printed: ${cut} more characters`] : []),
    ...Object.entries(dropped).map(([kind, count]) => `Left out: ${words[kind]?.(count as never) ?? printable(kind)}`),
  ]
}

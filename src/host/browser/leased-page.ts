import { Fault } from '../../contracts/faults/fault.ts'
import { notForFiles } from './lending-faults.ts'
import { findElement, waitFor, type Find, type Wait } from './locate.ts'
import { readPage, type PageReading } from './read-page.ts'
import type { Arrival, Leave, Tab } from './tab.ts'
import { filePayload, type UploadedFile } from './upload.ts'

/** A page that somebody has for a while. */
export interface LeasedPage {
  readonly page: Tab['page']
  /** What the page asked for and was refused, the newest last. */
  readonly refused: readonly string[]
  /** What its scripts wanted to send while it only read, and were not let; each is told once. */
  takeNotSent(): string[]
  go(address: string): Promise<Arrival>
  /** Writes into a field. `reading`: what comes of that must not be a form that changes something either. */
  fill(find: Find, value: string, how?: { reading?: boolean }): Promise<void>
  /** Puts a file into a field for files. */
  upload(find: Find, file: UploadedFile): Promise<void>
  /** Clicks, or presses Enter in a field, and goes where that leads. `reading`: what it sends must not be a form that changes something. */
  press(find: Find, how: { key?: 'Enter'; reading?: boolean }): Promise<Arrival>
  /** Whether such an element is there to be used, a moment from now at the latest. */
  has(find: Find): Promise<boolean>
  /** Whether it came to be in time. */
  waitFor(wait: Wait): Promise<boolean>
  /** Where it is now. */
  where(): Promise<{ url: string; title: string }>
  /** What the page says. */
  read(options: { maxChars?: number; main?: boolean }): Promise<PageReading>
}

/** How long an act on an element may take, and one that may not be there is looked for. */
const actMs = 5_000
const leadMs = 500

/** What whoever has a tab for a while can do with it. `leave`: where it may be sent meanwhile. */
export function leasedPage(tab: Tab, refused: readonly string[], leave: Leave): LeasedPage {
  return {
    page: tab.page,
    refused,
    takeNotSent: tab.takeNotSent,
    go: (address) => tab.go(address, leave),
    fill: (find, value, { reading = false } = {}) =>
      tab.inspect(async () => {
        if (reading) await tab.read(leave)
        const field = await findElement(tab.page, find, 'field')
        const isChoice = (await field.evaluate((one: unknown) => (one as { tagName: string }).tagName)) === 'SELECT'
        if (isChoice) await field.selectOption(value, { timeout: actMs })
        else await field.fill(value, { timeout: actMs })
      }),
    upload: (find, file) =>
      tab.inspect(async () => {
        const field = await findElement(tab.page, find, 'file')
        await field.setInputFiles(filePayload(file), { timeout: actMs }).catch((cause: Error) => {
          throw cause.name === 'TimeoutError' ? cause : notForFiles(find, cause)
        })
      }),
    press: (find, { key, reading = false }) =>
      tab.act({ ...leave, reading }, async () => {
        const element = await findElement(tab.page, find, key ? 'field' : 'button')
        await (key ? element.press(key, { timeout: actMs }) : element.click({ timeout: actMs }))
      }),
    has: (find) =>
      tab.inspect(async () => {
        const element = await findElement(tab.page, find, 'button', leadMs).catch((fault: unknown) => {
          if (fault instanceof Fault && fault.reason === 'element-not-found') return undefined
          throw fault
        })
        return element !== undefined && (await element.isEnabled())
      }),
    waitFor: (wait) => tab.inspect(() => waitFor(tab.page, wait)),
    where: async () => ({ url: tab.page.url(), title: await tab.inspect(() => tab.page.title()) }),
    read: (options) => tab.inspect(() => readPage(tab.page, options)),
  }
}

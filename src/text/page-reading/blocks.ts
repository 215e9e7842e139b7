/**
 * What the walk through a page hands over. Text holds marks that no page can write, because the walk takes control characters out of
 * what pages say: U+0001, a letter and an index begin one, U+0002 ends its head, U+0003 ends it; U+0004 parts cells, U+0005 is a break in one.
 */
export interface PageBlock {
  kind: 'p' | 'h' | 'li' | 'dd' | 'tr' | 'pre'
  /** Where on the page it stands; see `region`. */
  flags: number
  /** Of a heading its level; of a row 1 where it is the first of its table. */
  level: number
  /** How deep it stands in lists and in quotations. */
  indent: number
  quote: number
  /** Of a list item its bullet, of code its language. */
  lead: string
  text: string
}

/** Where a block stands, added up. */
export const region = { main: 1, article: 2, nav: 4, header: 8, footer: 16, aside: 32, named: 64, dialog: 128 } as const

/** What can be acted on, as a reading lists it. */
export interface PageElement {
  /** Stays the same while the page changes in small ways. */
  id: string
  role: string
  name: string
  /** Of a field: what kind it is, what it holds (never a secret) and what it offers. */
  type?: string
  value?: string
  checked?: boolean
  options?: string[]
  /** How many more it offers than are listed. */
  moreOptions?: number
  disabled?: boolean
  required?: boolean
  expanded?: boolean
  /** The form it belongs to. */
  form?: string
  url?: string
  /** Its words stand beside it on the page already. */
  labelled?: boolean
}

export interface PageForm {
  id: string
  name: string
  action: string
  method: string
  fields: string[]
}

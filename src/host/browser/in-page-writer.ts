import type { PageBlock } from '../../text/page-reading/blocks.ts'
import type { Dom, PageDom } from './in-page-dom.ts'
import type { Looks } from './in-page-sight.ts'

/** What holds for an element and all in it. */
export interface Inherited extends Looks {
  hidden: boolean
  pre: boolean
  code: boolean
  flags: number
  lists: number
  quotes: number
  /** Not a block of its own: inside a cell or a button. */
  inline: 0 | 1 | 2
  row: Dom | null
  acts: boolean
  /** Of a numbered list the last number. */
  numbers: { last: number } | null
  table: Table | null
  form: Dom | null
}
export interface Table {
  first: boolean
  /** For how many rows more each column is taken by a cell from above. */
  spans: number[]
  column: number
}
/** What stands around words: a link, a button, code. */
export interface Mark {
  open: string
  /** Of a link: only its first block is one. */
  once: boolean
  started: boolean
  done: boolean
}
/** An element that is being walked through. */
export interface Level extends Inherited {
  element: Dom
  next: Dom | null
  list: Dom[] | null
  at: number
  leave: (() => void) | null
}

export type PageWriter = ReturnType<typeof pageWriter>

/** Makes blocks of what is walked through. Runs in the page. */
export function pageWriter({ short }: PageDom) {
  const deepest = 8
  let buffer: string[] = []
  let marks: Mark[] = []
  const out = {
    blocks: [] as PageBlock[],
    /** What they take of the room. */
    chars: 0,
    /** Characters of words by place. */
    weighed: new Map<number, number>(),
    /** Of the block under way. */
    words: 0,
    kind: 'p' as PageBlock['kind'],
    level: 0,
    lead: '',
    bullet: '',
    begin(): void {
      buffer = []
      marks = []
      Object.assign(out, { blocks: [], chars: 0, weighed: new Map(), words: 0, kind: 'p', level: 0, lead: '', bullet: '' })
    },
    push: (text: string): void => void buffer.push(text),
    length: (): number => buffer.length,
    flush(at: Inherited): void {
      for (let mark = marks.length - 1; mark >= 0; mark--) {
        const open = marks[mark] as Mark
        if (!open.started) continue
        buffer.push('\u0003')
        open.started = false
        if (open.once) open.done = true
      }
      const text = buffer.join('')
      buffer = []
      const { words, kind, level, lead, bullet } = out
      if (words > 0) {
        const isItem = kind === 'p' && bullet !== ''
        out.blocks.push({
          kind: isItem ? 'li' : kind,
          flags: at.flags,
          level,
          indent: Math.min(deepest, Math.max(0, at.lists - (isItem ? 1 : 0))),
          quote: Math.min(deepest, at.quotes),
          lead: kind !== 'pre' && bullet !== '' ? bullet : lead,
          text,
        })
        out.bullet = ''
        out.chars += text.length + 40
        out.weighed.set(at.flags, (out.weighed.get(at.flags) ?? 0) + words)
      }
      out.words = 0
    },
    say(text: string): void {
      if (text === '') return
      for (const mark of marks)
        if (!mark.started && !mark.done) {
          buffer.push(mark.open)
          mark.started = true
        }
      buffer.push(text)
      out.words += text.trim().length
    },
    gap(at: Inherited): void {
      if (at.inline === 1) buffer.push('\u0005')
      else if (at.inline === 2) buffer.push(' ')
      else out.flush(at)
    },
    mark(open: string, once: boolean): Mark {
      const mark = { open, once, started: false, done: false }
      marks.push(mark)
      return mark
    },
    unmark(mark: Mark): void {
      if (mark.started) buffer.push('\u0003')
      marks = marks.filter((one) => one !== mark)
    },
    isMarked: (open: string): boolean => marks.some((one) => one.open === open),
    /** The words alone. */
    plain: (text: string): string => short(text.replace(/\u0001[A-Z]\d*\u0002/g, '').replace(/[\u0003-\u0005]/g, ' ')),
    /** What a link or a button says, once it was walked through. */
    saidSince: (from: number): string => out.plain(buffer.slice(from).join('')),
    /** Done when its end is come to, before what was said of it earlier. */
    after(at: Level, then: () => void): void {
      const before = at.leave
      at.leave = () => {
        then()
        before?.()
      }
    },
  }
  return out
}

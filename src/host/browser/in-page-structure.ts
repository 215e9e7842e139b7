import type { PageDom } from './in-page-dom.ts'
import type { Inherited, Level, PageWriter } from './in-page-writer.ts'

export type PageStructure = ReturnType<typeof pageStructure>

/** Which blocks a page is made of: paragraphs, headings, lists, quotes, code. Runs in the page. */
export function pageStructure({ of, firstChild, parentNode, typeOf, attributeOf, query }: PageDom, out: PageWriter) {
  const headingIn = (at: Level, tag: string, role: string | null): number => {
    if (/^h[1-6]$/.test(tag)) return Number(tag[1])
    return role === 'heading' ? Math.min(6, Math.max(1, Number(attributeOf(at.element, 'aria-level')) || 2)) : 0
  }
  const number = /^-?\d{1,9}$/
  const enterItem = (at: Level, outer: Inherited): void => {
    if (outer.inline !== 0) {
      out.gap(outer)
      return out.after(at, () => out.gap(at))
    }
    out.flush(outer)
    if (outer.numbers) {
      const value = attributeOf(at.element, 'value')
      outer.numbers.last = value !== null && number.test(value) ? Number(value) : outer.numbers.last + 1
      out.bullet = `${outer.numbers.last}.`
    } else out.bullet = '-'
    if (at.lists === 0) at.lists = 1
    out.after(at, () => {
      out.flush(at)
      out.bullet = ''
    })
  }
  const enterCode = (at: Level): void => {
    const was = [out.kind, out.lead] as const
    const { element } = at
    out.kind = 'pre'
    const classes = [element, firstChild(element), parentNode(element)]
      .map((one) => (one && typeOf(one) === 1 ? (attributeOf(one, 'class') ?? '') : ''))
      .join(' ')
    out.lead =
      /(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?)[-\s]([\w+#-]{1,20})/.exec(classes.slice(0, 500))?.[1] ?? ''
    at.code = true
    at.pre = true
    out.after(at, () => {
      out.flush(at)
      ;[out.kind, out.lead] = was
    })
  }
  return {
    enter(at: Level, outer: Inherited, tag: string, role: string | null, display: string, isInline: boolean): void {
      const heading = headingIn(at, tag, role)
      const isPre = tag === 'pre' && !outer.inline
      const isCell = tag === 'td' || tag === 'th'
      const asBlock = (!isInline || heading > 0 || isPre) && !isCell && tag !== 'tr' && tag !== 'li'
      if (asBlock || (isCell && outer.inline === 0)) {
        out.gap(outer)
        out.after(at, () => out.gap(at))
      } else if (display.startsWith('inline-') && display !== 'inline-ruby') {
        out.push(' ')
        out.after(at, () => out.push(' '))
      }
      if (tag === 'li') enterItem(at, outer)
      if (tag === 'ol' || tag === 'ul' || tag === 'menu') {
        at.lists++
        const start = attributeOf(at.element, 'start')
        at.numbers = tag === 'ol' ? { last: start !== null && number.test(start) ? Number(start) - 1 : 0 } : null
      }
      if (tag === 'blockquote') at.quotes++
      if (heading > 0 && outer.inline === 0) {
        const was = [out.kind, out.level] as const
        ;[out.kind, out.level] = ['h', heading]
        // The block is ended before its kind is given back.
        out.after(at, () => {
          out.flush(at)
          ;[out.kind, out.level] = was
        })
      }
      if (tag === 'dd' && outer.inline === 0) {
        const was = out.kind
        out.kind = 'dd'
        out.after(at, () => {
          out.flush(at)
          out.kind = was
        })
      }
      if (isPre) enterCode(at)
      if (tag === 'summary' && !outer.inline) {
        const parent = parentNode(at.element)
        out.say(parent && of('HTMLDetailsElement', 'open')(parent) === false ? '▸ ' : '▾ ')
        out.words -= 1
      }
    },
    /** What words look like, where they are no link or button. */
    enterWords(at: Level, outer: Inherited, tag: string, isInline: boolean): void {
      const around = (open: string): void => {
        const mark = out.mark(open, false)
        out.after(at, () => out.unmark(mark))
      }
      if ((tag === 'code' || tag === 'kbd' || tag === 'samp' || tag === 'tt') && !outer.code && isInline) {
        at.code = true
        around('\u0001C\u0002')
      } else if (tag === 's' || tag === 'del' || tag === 'strike') {
        if (!out.isMarked('\u0001D\u0002')) around('\u0001D\u0002')
      } else if ((tag === 'sup' || tag === 'sub') && !outer.acts && !query(at.element, 'a')) out.say(tag === 'sup' ? '^' : '_')
      else if (tag === 'rt') {
        out.say('(')
        out.after(at, () => out.say(')'))
      }
    },
  }
}

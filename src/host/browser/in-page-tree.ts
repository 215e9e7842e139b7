import type { Dom, PageDom } from './in-page-dom.ts'

export type PageTree = ReturnType<typeof pageTree>

/** All elements of a page, seen or not. Runs in the page. */
export function pageTree({ document, of, call, firstChild, typeOf, nameOf, dataOf, styleOf, closedParts, partOf }: PageDom) {
  /** Every element, those in open parts and in those that were opened included. */
  function each(act: (element: Dom) => void, words?: (text: string) => void): void {
    const walker = call('Document', 'createTreeWalker') as (on: Dom, root: Dom, what: number) => { nextNode(): Dom | null }
    const roots: Dom[] = [of('Document', 'documentElement')(document) as Dom]
    while (roots.length > 0) {
      const root = roots.pop() as Dom
      const over = walker(document, root, words ? 1 | 4 | 8 | 128 : 1)
      for (let node: Dom | null = typeOf(root) === 1 ? root : over.nextNode(); node; node = over.nextNode()) {
        if (typeOf(node) !== 1) words?.(dataOf(node))
        else {
          act(node)
          const part = partOf(node)
          if (part) roots.push(part)
        }
      }
    }
  }
  function count(): { elements: number; found: number } {
    let [all, texts] = [0, 0]
    each(
      () => void all++,
      (text) => {
        if (text.includes('<')) texts++
      },
    )
    return { elements: all, found: all + texts }
  }
  return {
    count,
    hosts(limit: number): Dom[] {
      const likely: Dom[] = []
      const rest: Dom[] = []
      const may = /^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/
      each((element) => {
        const tag = nameOf(element)
        if (partOf(element)) return
        if (tag.includes('-')) likely.push(element)
        else if (may.test(tag)) {
          const child = firstChild(element)
          const unslotted = child && typeOf(child) === 1 && styleOf(child)['display'] === ''
          if (unslotted || !child) likely.push(element)
          else if (rest.length < limit) rest.push(element)
        }
      })
      return [...likely, ...rest].slice(0, limit)
    },
    opened(host: Dom, part: Dom): number {
      closedParts.set(host, part)
      return count().found
    },
  }
}

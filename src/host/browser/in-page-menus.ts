import type { PageActs } from './in-page-acts.ts'
import type { PageWriter } from './in-page-writer.ts'

export interface PageMenus {
  /** To be called when all of a page was walked through. */
  mark(address: string): void
}

/**
 * Finds the menus of a page that calls nothing by its name: rows of links before its first heading and its first words, where what follows is
 * much more. They are told as menus are, after what the page is about. A list of links under a heading stays where it is, and so do a page
 * that is nothing but one, and links to the page's own parts. Runs in the page.
 */
export function pageMenus(out: PageWriter, acts: PageActs): PageMenus {
  const [main, nav] = [3, 4]
  const fewestLinks = 5
  /** A page that has not come to its point by then has no menu before it. */
  const mostBlocks = 500
  /** So many characters outside of links are words of the page; of writing without spaces, fewer. */
  const [sentence, denseSentence] = [120, 40]
  const dense = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
  const lengthOf = (text: string): number => text.replace(/\u0001[A-Z]\d*\u0002|[\u0003-\u0005]|\s/g, '').length

  return {
    mark(address) {
      const { blocks, weighed } = out
      const words = [...weighed]
      if (words.some(([flags]) => flags & main)) return
      const here = `${address.split('#', 1)[0]}#`
      /** Rows of links that stand one after the other, and how much they say. */
      const rows: { from: number; to: number; links: number; size: number }[] = []
      let before = 0
      let at = 0
      for (; at < Math.min(blocks.length, mostBlocks); at++) {
        const { kind, flags, text } = blocks[at] as (typeof blocks)[number]
        if (flags !== 0) continue
        const said = [...text.matchAll(/\u0001L(\d+)\u0002([^\u0003]*)\u0003/g)]
        const size = lengthOf(text)
        const linked = said.reduce((sum, [, , link]) => sum + lengthOf(link as string), 0)
        if (kind === 'h' || size - linked >= (dense.test(text) ? denseSentence : sentence)) break
        before += size
        const links = said.filter(([, index]) => !acts.elements[Number(index)]?.url?.startsWith(here)).length
        if (links === 0 || linked < size * 0.8) continue
        const last = rows[rows.length - 1]
        if (last?.to === at) {
          last.to++
          last.links += links
          last.size += size
        } else rows.push({ from: at, to: at + 1, links, size })
      }
      if (at >= Math.min(blocks.length, mostBlocks)) return
      const after = words.reduce((sum, [flags, count]) => sum + (flags === 0 ? count : 0), 0) - before
      for (const { from, to, links, size } of rows) {
        if (links < fewestLinks || after < size * 3) continue
        for (const block of blocks.slice(from, to)) block.flags = nav
        const moved = Math.min(weighed.get(0) ?? 0, size)
        weighed.set(0, (weighed.get(0) ?? 0) - moved)
        weighed.set(nav, (weighed.get(nav) ?? 0) + moved)
      }
    },
  }
}

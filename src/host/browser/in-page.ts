import type { PageBlock, PageElement } from '../../text/page-reading/blocks.ts'
import { pageActs, type PageActs } from './in-page-acts.ts'
import { pageDom, type Dom, type PageDom } from './in-page-dom.ts'
import { pageFields } from './in-page-fields.ts'
import { pageForms, type PageForms } from './in-page-forms.ts'
import { pageMenus, type PageMenus } from './in-page-menus.ts'
import { pageNames, type PageNames } from './in-page-names.ts'
import { pageSight } from './in-page-sight.ts'
import { pageStructure, type PageStructure } from './in-page-structure.ts'
import { pageTables, type PageTables } from './in-page-tables.ts'
import { pageTree, type PageTree } from './in-page-tree.ts'
import { pageWriter, type Inherited, type Level, type PageWriter } from './in-page-writer.ts'

type PageSight = ReturnType<typeof pageSight>

/** What a walk is made of. */
interface PageParts {
  dom: PageDom
  names: PageNames
  sight: () => PageSight
  out: PageWriter
  forms: PageForms
  acts: PageActs
  structure: PageStructure
  tables: PageTables
  tree: PageTree
  menus: PageMenus
}

/** What one walk came to; what it read stays in the page's own process until it is asked for. */
export interface WalkSummary {
  url: string
  title: string
  language: string
  /** Characters by place; see `mainPlaces`. */
  weights: [flags: number, chars: number][]
  elements: number
  hidden: { chars: number; elements: number }
  pictures: number
  /** Elements it did not get to, in the time or the room it had. */
  left: number
  /** Things to act on that have no id because there are so many. */
  unnamed: number
  /** Elements, and words with a `<` in them: what the driver's search finds where no part of the page is closed. */
  found: number
}

/** Blocks, and the elements they speak of by number. */
export interface Pulled {
  blocks: PageBlock[]
  elements: [number, PageElement][]
  next: number
  end: boolean
}

export interface InPage {
  walk(options: { ms: number; chars: number }): WalkSummary
  /** Blocks from one on, of the places asked for, until there are enough of them. */
  pull(from: number, places: number[] | null, inside: boolean, chars: number): Pulled
  /** Walks, and gives all blocks along where they are not more than enough: one way to and fro for most pages. */
  read(options: { ms: number; chars: number }, enough: number): { told: WalkSummary; all: Pulled | null }
  /** Elements that may have a closed part, the likeliest first. */
  hosts(most: number): Dom[]
  /** Says what a closed part of the page is, which no page script can. */
  opened(host: Dom, root: Dom): number
  forms(): { id: string; name: string; action: string; method: string; fields: string[] }[]
  element(id: string): Dom | null
  /** From here on no form is sent; until it is let go, which says whether one would have been. */
  holdForms(): void
  letForms(): boolean
  isShown(element: Dom): boolean
}

/**
 * Runs in the page, in a world of its own: what the page did to its own objects does not reach it, and nothing it does is seen there. It uses
 * nothing from outside itself, since its text is what is sent. Names that forms and documents put over their own properties are gone
 * around by taking every property from where the browser defines it. Nothing recurses: pages nest as deep as they like.
 */
function walkPage({ dom, names, sight, out, forms, acts, structure, tables, tree, menus }: PageParts): InPage {
  const { world, document, of, firstChild, nextSibling, typeOf, nameOf, spaceOf, dataOf, attributeOf } = dom
  const { query, boxOf, assigned, styleOf, now, partOf, clean, short, skipped } = dom

  const landmark: Record<string, number> = { main: 1, article: 2, nav: 4, header: 8, footer: 16, aside: 32, dialog: 128 }
  const roleMark: Record<string, number> = {
    main: 1,
    article: 2,
    navigation: 4,
    banner: 8,
    contentinfo: 16,
    complementary: 32,
    search: 4,
    dialog: 128,
    alertdialog: 128,
  }
  const named =
    /(^|[-_\s])(nav|navbar|navigation|menu|sidebar|side-bar|footer|breadcrumbs?|cookies?|consent|toolbar|skip-?link|sphinxsidebar)([-_\s]|$)/i
  let state: Omit<WalkSummary, 'weights' | 'unnamed'>

  const api: InPage = {
    walk(options) {
      const until = now() + options.ms
      for (const one of [out, acts, forms, names]) one.begin()
      state = {
        url: String(world['location'].href),
        title: short(String(of('Document', 'title')(document) ?? ''), 300),
        language: '',
        elements: 0,
        hidden: { chars: 0, elements: 0 },
        pictures: 0,
        left: 0,
        found: 0,
      }
      const root = of('Document', 'documentElement')(document) as Dom | null
      if (!root) return summary()
      state.language = short(attributeOf(root, 'lang') ?? '', 35)
      const { isHidden, looksOf } = sight()

      let visited = 0
      const levels: Level[] = []
      const enter = (element: Dom, outer: Inherited): void => {
        const tag = nameOf(element)
        state.elements++
        if (skipped.has(tag.toLowerCase())) return
        const at: Level = {
          ...outer,
          element,
          next: null,
          list: null,
          at: 0,
          leave: null,
        }
        const open = (): void => {
          const part = partOf(element)
          if (part) at.next = firstChild(part)
          else if (tag === 'slot' && spaceOf(element) === 'http://www.w3.org/1999/xhtml') {
            const list = assigned(element)
            if (list.length > 0) at.list = list
            else at.next = firstChild(element)
          } else at.next = firstChild(element)
          levels.push(at)
        }
        if (outer.hidden) {
          state.hidden.elements++
          return open()
        }
        const style = styleOf(element)
        const display = style['display'] as string
        const hide = (): void => {
          at.hidden = true
          state.hidden.elements++
          open()
        }
        Object.assign(at, looksOf(style, outer))
        if (isHidden(element, tag, style, at.opacity)) return hide()
        const role = attributeOf(element, 'role')
        const isInline = display.startsWith('inline') || display === 'contents' || display.startsWith('ruby')
        at.pre =
          (style['whiteSpaceCollapse'] ?? '').startsWith('preserve') ||
          style['whiteSpace'] === 'pre' ||
          style['whiteSpace'] === 'pre-wrap'
        let place = (role && roleMark[role]) || landmark[tag] || 0
        if ((tag === 'header' || tag === 'footer') && !role && outer.flags & 3) place = 0
        if (place === 0 && !isInline && !(outer.flags & 3)) {
          const called = `${attributeOf(element, 'class') ?? ''} ${attributeOf(element, 'id') ?? ''}`
          if (called.length < 300 && tag !== 'body' && tag !== 'html' && named.test(called)) place = 64
        }
        at.flags = outer.flags | place
        if (tag === 'tr' || tag === 'li' || role === 'row' || role === 'listitem' || tag === 'fieldset') at.row = element
        if (tag === 'form') at.form = element

        // What can be acted on.
        if (tag === 'input' || tag === 'select' || tag === 'textarea') {
          if (at.unseen) return void state.hidden.elements++
          return acts.enterField(at, tag, role)
        }
        if (
          tag === 'img' ||
          tag === 'svg' ||
          tag === 'canvas' ||
          tag === 'video' ||
          tag === 'audio' ||
          tag === 'object' ||
          tag === 'embed' ||
          (role === 'img' && !firstChild(element))
        ) {
          const box = boxOf(element)
          const says = short(
            attributeOf(element, 'alt') ??
              attributeOf(element, 'aria-label') ??
              (tag === 'img' ? '' : (attributeOf(element, 'title') ?? '')),
            300,
          )
          if (box.width > 2 && box.height > 2 && !at.unseen) {
            if (says !== '') out.say(`\u0001I\u0002${says}\u0003`)
            else state.pictures++
          }
          if (tag !== 'svg' || !query(element, 'text,foreignObject')) return
        }
        if (tag === 'iframe' || tag === 'frame') return
        if (tag === 'br') return out.push(at.inline === 0 ? '\n' : ' ')
        if (tag === 'details' && of('HTMLDetailsElement', 'open')(element) === false) {
          out.gap(at)
          at.leave = () => out.gap(at)
          at.next = firstChild(element)
          at.list = []
          for (let child = at.next; child; child = nextSibling(child))
            if (at.list.length === 0 && typeOf(child) === 1 && nameOf(child) === 'summary') at.list.push(child)
          // The rest of it is counted as hidden.
          levels.push(at)
          const rest: Level = { ...at, leave: null, hidden: true, list: [], at: 0 }
          for (let child = at.next; child; child = nextSibling(child))
            if (!at.list.includes(child) && (rest.list as Dom[]).length < 100_000) (rest.list as Dom[]).push(child)
          levels.push(rest)
          return
        }

        structure.enter(at, outer, tag, role, display, isInline)
        tables.enter(at, outer, tag, role)
        if (!acts.enter(at, outer, tag, role, style)) structure.enterWords(at, outer, tag, isInline)
        open()
      }
      const outermost: Inherited = {
        hidden: false,
        opacity: 1,
        behind: '255,255,255',
        clipped: false,
        pre: false,
        code: false,
        flags: 0,
        lists: 0,
        quotes: 0,
        inline: 0,
        row: null,
        acts: false,
        faint: false,
        unseen: false,
        numbers: null,
        table: null,
        form: null,
      }
      enter(root, outermost)
      let stopped = false
      while (levels.length > 0) {
        const here = levels[levels.length - 1] as Level
        if (++visited % 256 === 0 && (now() > until || out.chars > options.chars)) {
          stopped = true
          break
        }
        let node: Dom | null
        if (here.list) node = here.list[here.at++] ?? null
        else {
          node = here.next
          if (node) here.next = nextSibling(node)
        }
        if (!node) {
          levels.pop()
          here.leave?.()
          continue
        }
        const type = typeOf(node)
        if (type === 1) enter(node, here)
        else if (type === 3 || type === 4) {
          const data = dataOf(node)
          if (here.hidden || here.unseen) state.hidden.chars += data.trim().length
          else if (here.pre) out.say(here.faint && data.trim() !== '' ? `\u0001F\u0002${clean(data)}\u0003` : clean(data))
          else {
            const text = clean(data).replace(/[ \t\n\r\f]+/g, ' ')
            if (text.trim() === '') {
              if (text !== '' && out.length() > 0) out.push(' ')
            } else out.say(here.faint ? `\u0001F\u0002${text}\u0003` : text)
          }
        }
      }
      out.flush(outermost)
      menus.mark(state.url)
      const counted = tree.count()
      state.found = counted.found
      if (stopped) state.left = Math.max(1, counted.elements - state.elements)
      return summary()
    },
    pull(from, places, inside, enough) {
      const wanted = places ? new Set(places) : null
      const found: PageBlock[] = []
      const about = new Map<number, PageElement>()
      let [at, size] = [from, 0]
      const { blocks } = out
      for (; at < blocks.length && size < enough; at++) {
        const block = blocks[at] as PageBlock
        if (wanted && wanted.has(block.flags) !== inside) continue
        found.push(block)
        size += block.text.length + 60
        for (const [, index] of block.text.matchAll(/\u0001[LBE](\d+)\u0002/g)) {
          about.set(Number(index), acts.elements[Number(index)] as PageElement)
          size += 120
        }
      }
      return { blocks: found, elements: [...about], next: at, end: at >= blocks.length }
    },
    read(options, enough) {
      const told = api.walk(options)
      const all = api.pull(0, null, true, enough)
      return { told, all: all.end ? all : null }
    },
    hosts: tree.hosts,
    opened: tree.opened,
    forms: forms.forms,
    element: names.element,
    holdForms: forms.holdForms,
    letForms: forms.letForms,
    isShown(element) {
      const style = styleOf(element)
      const box = boxOf(element)
      return (
        style['display'] !== 'none' &&
        style['visibility'] === 'visible' &&
        box.width > 2 &&
        box.height > 2 &&
        (element as unknown as { checkVisibility(o: object): boolean }).checkVisibility({ opacityProperty: true })
      )
    },
  }

  function summary(): WalkSummary {
    return { ...state, weights: [...out.weighed], unnamed: acts.unnamed }
  }

  return api
}

const reader = `(() => {
  const longestUrl = 4000
  const dom = (${String(pageDom)})()
  const names = (${String(pageNames)})(dom)
  const out = (${String(pageWriter)})(dom)
  const forms = (${String(pageForms)})(dom, names, longestUrl)
  const acts = (${String(pageActs)})(dom, names, (${String(pageFields)})(dom), forms, out, longestUrl)
  return (${String(walkPage)})({
    dom,
    names,
    out,
    forms,
    sight: () => (${String(pageSight)})(dom),
    acts,
    menus: (${String(pageMenus)})(out, acts),
    structure: (${String(pageStructure)})(dom, out),
    tables: (${String(pageTables)})(dom, out),
    tree: (${String(pageTree)})(dom),
  })
})()`

/**
 * What is sent to the page: one reader in each world, made when it is first used, and kept. As a property of the world's own: an element
 * with that id is found under the same name.
 */
export const readerScript = `if (!Object.hasOwn(globalThis, 'handrailReading')) {
  let made
  Object.defineProperty(globalThis, 'handrailReading', { get: () => (made ??= ${reader}) })
}`

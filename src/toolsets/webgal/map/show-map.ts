import type { MapDocument, MapElement } from './browser.ts'

/** What the page knows besides its picture. Scenes are named by their place in the list. */
export interface MapFacts {
  lang: 'ZH' | 'EN'
  words: Record<'ZH' | 'EN', Record<string, string>>
  start: number
  scenes: { name: string; kind: string; labels: string[]; lines: string[]; all: number }[]
  /** From, to, line, what stands there. */
  ways: [number, number, number, string][]
  missing: [number, number, string][]
  missingLabels: [number, number, string][]
  leftOut: string[]
}

/** Moves and explains the map in a browser. It uses nothing from outside itself: it is put into the exported page as it stands. */
export function showMap(page: MapDocument, facts: MapFacts, onResize: (listener: () => void) => void): void {
  let lang = facts.lang
  const say = (key: string, values: Record<string, string | number> = {}): string =>
    (facts.words[lang][key] ?? '').replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
  // What cannot be seen is shown, not obeyed: names and lines are those of whoever wrote the game.
  const plain = (text: string): string =>
    text.replace(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u3164\uffa0]/gu,
      (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`,
    )
  const at = (id: string): MapElement => page.getElementById(id) as MapElement
  const make = (name: string, className: string, text = '', ...inside: MapElement[]): MapElement => {
    const node = page.createElement(name)
    node.className = className
    if (text !== '') node.textContent = plain(text)
    node.append(...inside)
    return node
  }
  const [stage, svg, world, mini, panel, find, hits] = ['stage', 'map', 'world', 'mini', 'panel', 'find', 'hits'].map(at) as [
    MapElement,
    MapElement,
    MapElement,
    MapElement,
    MapElement,
    MapElement,
    MapElement,
  ]
  const title = (index: number): string => (facts.scenes[index]?.name ?? '').replace(/\.txt$/, '')
  const number = (node: MapElement, name: string): number => Number(node.getAttribute(name))
  const places = new Map<number, { x: number; y: number; w: number; h: number; node: MapElement }>()
  for (const node of world.querySelectorAll('svg.scene')) {
    const group = /translate\((\S+) (\S+)\)/.exec(node.closest('g')?.getAttribute('transform') ?? '')
    const [dx, dy] = [Number(group?.[1] ?? 0), Number(group?.[2] ?? 0)]
    const place = { x: number(node, 'x') + dx, y: number(node, 'y') + dy, w: number(node, 'width'), h: number(node, 'height') }
    places.set(Number(node.dataset['i']), { ...place, node })
  }
  const whole = { w: Number(svg.dataset['w']), h: Number(svg.dataset['h']) }
  svg.removeAttribute('viewBox')
  svg.setAttribute('width', '100%')
  svg.setAttribute('height', '100%')
  stage.className = 'live'

  const view = { x: 0, y: 0, scale: 1 }
  const room = (): { width: number; height: number; left: number; top: number } => stage.getBoundingClientRect()
  const space = 'http://www.w3.org/2000/svg'
  const frame = page.createElementNS(space, 'rect')
  const show = (): void => {
    const { width, height } = room()
    // The map never leaves the window altogether.
    view.x = Math.min(width - 60, Math.max(60 - whole.w * view.scale, view.x))
    view.y = Math.min(height - 60, Math.max(60 - whole.h * view.scale, view.y))
    world.setAttribute('transform', `translate(${view.x} ${view.y}) scale(${view.scale})`)
    frame.setAttribute('x', String(-view.x / view.scale))
    frame.setAttribute('y', String(-view.y / view.scale))
    frame.setAttribute('width', String(width / view.scale))
    frame.setAttribute('height', String(height / view.scale))
    // Who sees the whole map needs no small one.
    mini.classList.toggle('spare', whole.w * view.scale <= width && whole.h * view.scale <= height)
  }
  const least = (): number => Math.min(0.2, room().width / whole.w, room().height / whole.h)
  const zoom = (factor: number, x: number, y: number): void => {
    const scale = Math.min(4, Math.max(least(), view.scale * factor))
    view.x = x - ((x - view.x) * scale) / view.scale
    view.y = y - ((y - view.y) * scale) / view.scale
    view.scale = scale
    show()
  }
  const zoomMiddle = (factor: number): void => zoom(factor, room().width / 2, room().height / 2)
  const fit = (): void => {
    const { width, height } = room()
    view.scale = Math.min(1.2, (width - 24) / whole.w, (height - 24) / whole.h)
    view.x = (width - whole.w * view.scale) / 2
    view.y = (height - whole.h * view.scale) / 2
    show()
  }
  const centre = (index: number): void => {
    const place = places.get(index)
    if (!place) return
    view.scale = Math.max(view.scale, 0.8)
    view.x = room().width / 2 - (place.x + place.w / 2) * view.scale
    view.y = room().height / 2 - (place.y + place.h / 2) * view.scale
    show()
  }

  let picked = -1
  const link = (index: number, more = ''): MapElement => {
    const button = make('button', 'link', `${title(index)}${more}`)
    button.type = 'button'
    button.addEventListener('click', () => open(index, true))
    return make('li', '', '', button)
  }
  const section = (heading: string, items: MapElement[], open = true): MapElement[] => {
    if (items.length === 0) return []
    const details = make('details', '', '', make('summary', '', `${heading} (${items.length})`), make('ul', '', '', ...items))
    if (open) details.setAttribute('open', '')
    return [details]
  }
  const openPanel = (heading: string, ...inside: MapElement[]): void => {
    const close = make('button', 'close', '×')
    close.type = 'button'
    close.setAttribute('aria-label', say('close'))
    close.addEventListener('click', closePanel)
    panel.replaceChildren(close, make('h2', '', heading), ...inside)
    panel.hidden = false
    panel.scrollTop = 0
    show()
  }
  const pick = (index: number): void => {
    picked = index
    for (const [one, { node }] of places) node.classList.toggle('picked', one === index)
    for (const path of world.querySelectorAll('path.way')) {
      const [from, to] = [Number(path.dataset['f']), Number(path.dataset['t'])]
      path.classList.toggle('out', from === index)
      path.classList.toggle('in', to === index && from !== index)
    }
  }
  const closePanel = (): void => {
    panel.hidden = true
    pick(-1)
    stage.focus({ preventScroll: true })
    show()
  }
  const where = (line: number, text: string): string => `  ${text}${text === '' ? '' : ' · '}${say('line', { n: line })}`
  const open = (index: number, goThere: boolean): void => {
    const scene = facts.scenes[index]
    if (!scene) return
    pick(index)
    const bad = [...facts.missing, ...facts.missingLabels].filter(([from]) => from === index)
    const script = make('ol', 'script', '', ...scene.lines.map((line) => make('li', '', line === '' ? ' ' : line)))
    const cut = scene.all > scene.lines.length ? [make('p', 'quiet', say('cut', { n: scene.lines.length, all: scene.all }))] : []
    openPanel(
      scene.name,
      make('p', `kind ${scene.kind}`, say(scene.kind)),
      ...section(
        say('bad'),
        bad.map(([, line, target]) => make('li', 'bad', `✗ ${target}${where(line, '')}`)),
      ),
      ...section(
        say('to'),
        facts.ways.filter(([from]) => from === index).map(([, to, line, text]) => link(to, where(line, text))),
      ),
      ...section(
        say('from'),
        facts.ways
          .filter(([from, to]) => to === index && from !== index)
          .map(([from, , line, text]) => link(from, where(line, text))),
      ),
      ...section(
        say('labels'),
        scene.labels.map((label) => make('li', '', label)),
        scene.labels.length <= 12,
      ),
      make('h3', '', say('text')),
      script,
      ...cut,
    )
    if (goThere) centre(index)
  }
  const problems = (): void => {
    const of = (kind: (scene: MapFacts['scenes'][number]) => boolean): MapElement[] =>
      facts.scenes.flatMap((scene, index) => (kind(scene) ? [link(index)] : []))
    const told = (list: MapFacts['missing']): MapElement[] =>
      list.map(([from, line, target]) => link(from, `  ✗ ${target} · ${say('line', { n: line })}`))
    const all = [
      ...section(
        say('leftOut'),
        facts.leftOut.map((left) => make('li', '', left)),
      ),
      ...section(say('missing'), told(facts.missing)),
      ...section(say('missingLabels'), told(facts.missingLabels)),
      ...section(
        say('deadEnds'),
        of(({ kind }) => kind === 'dead'),
      ),
      ...section(
        say('unreachable'),
        of(({ kind }) => kind === 'lost'),
      ),
    ]
    pick(-1)
    openPanel(say('problems'), ...(all.length > 0 ? all : [make('p', '', say('fine'))]))
  }

  /** The nearest scene in the direction of an arrow key. */
  const step = (key: string): void => {
    const here = places.get(picked < 0 ? facts.start : picked)
    if (!here || picked < 0) return open(facts.start, true)
    const along = key === 'ArrowLeft' || key === 'ArrowRight' ? 'x' : 'y'
    const across = along === 'x' ? 'y' : 'x'
    const sign = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1
    let best = { index: -1, far: Number.POSITIVE_INFINITY }
    for (const [index, place] of places) {
      const ahead = (place[along] - here[along]) * sign
      if (ahead < 8) continue
      const far = ahead + 2.5 * Math.abs(place[across] - here[across])
      if (far < best.far) best = { index, far }
    }
    if (best.index >= 0) open(best.index, true)
  }

  const search = (): void => {
    const wanted = find.value.trim().toLowerCase()
    const found: number[] = []
    if (wanted !== '')
      for (const [index, scene] of facts.scenes.entries()) {
        if (scene.name.toLowerCase().includes(wanted) || scene.labels.some((label) => label.toLowerCase().includes(wanted)))
          found.push(index)
        if (found.length === 30) break
      }
    hits.replaceChildren(
      ...(wanted !== '' && found.length === 0 ? [make('li', 'quiet', say('none'))] : found.map((index) => link(index))),
    )
    hits.hidden = wanted === ''
    hits.dataset['first'] = String(found[0] ?? -1)
  }

  const speak = (): void => {
    page.documentElement.lang = lang === 'ZH' ? 'zh-CN' : 'en'
    for (const node of page.documentElement.querySelectorAll('[data-say]'))
      node.textContent = say(node.dataset['say'] ?? '', { n: facts.scenes.length })
    for (const node of page.documentElement.querySelectorAll('[data-label]'))
      node.setAttribute('aria-label', say(node.dataset['label'] ?? ''))
    for (const node of world.querySelectorAll('.heading'))
      node.textContent = plain(
        `${say('apart', { start: title(facts.start) })} (${facts.scenes.filter(({ kind }) => kind === 'lost').length})`,
      )
    find.setAttribute('placeholder', say('find'))
    if (!panel.hidden) {
      if (picked >= 0) open(picked, false)
      else problems()
    }
  }

  mini.setAttribute('viewBox', `0 0 ${whole.w} ${whole.h}`)
  for (const { x, y, w, h, node } of places.values()) {
    const spot = page.createElementNS(space, 'rect')
    for (const [name, value] of [
      ['x', x],
      ['y', y],
      ['width', w],
      ['height', h],
      ['class', node.getAttribute('class')],
    ] as const)
      spot.setAttribute(name, String(value))
    mini.append(spot)
  }
  frame.setAttribute('class', 'frame')
  mini.append(frame)
  mini.addEventListener('click', (event) => {
    const box = mini.getBoundingClientRect()
    const scale = Math.min(box.width / whole.w, box.height / whole.h)
    const [x, y] = [
      (event.clientX - box.left - (box.width - whole.w * scale) / 2) / scale,
      (event.clientY - box.top - (box.height - whole.h * scale) / 2) / scale,
    ]
    view.x = room().width / 2 - x * view.scale
    view.y = room().height / 2 - y * view.scale
    show()
  })

  let drag: { x: number; y: number; moved: boolean } | undefined
  stage.addEventListener('pointerdown', (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false }
  })
  stage.addEventListener('pointermove', (event) => {
    if (!drag) return
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y]
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return
    if (!drag.moved) stage.setPointerCapture(event.pointerId)
    drag = { x: event.clientX, y: event.clientY, moved: true }
    view.x += dx
    view.y += dy
    show()
  })
  stage.addEventListener('pointerup', (event) => {
    const was = drag
    drag = undefined
    if (!was || was.moved) return
    const index = event.target.closest('svg.scene')?.dataset['i']
    if (index !== undefined) open(Number(index), false)
  })
  stage.addEventListener('pointercancel', () => (drag = undefined))
  stage.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault()
      const { left, top } = room()
      zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - left, event.clientY - top)
    },
    { passive: false },
  )
  const keys: Record<string, () => void> = {
    '+': () => zoomMiddle(1.3),
    '=': () => zoomMiddle(1.3),
    '-': () => zoomMiddle(1 / 1.3),
    '0': fit,
    '/': () => find.focus(),
    Escape: closePanel,
    Enter: () => open(picked < 0 ? facts.start : picked, true),
    ...Object.fromEntries(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'].map((key) => [key, () => step(key)])),
  }
  page.addEventListener('keydown', (event) => {
    const isTyped = event.target.closest('input') !== null
    // Keys on a button or in the panel are the browser's own.
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      (event.key !== 'Escape' && event.target.closest('button,aside,summary'))
    )
      return
    if (isTyped) {
      if (event.key === 'Enter' && Number(hits.dataset['first']) >= 0) open(Number(hits.dataset['first']), true)
      if (event.key !== 'Enter' && event.key !== 'Escape') return
      hits.hidden = true
      return stage.focus({ preventScroll: true })
    }
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined
    if (!act) return
    event.preventDefault()
    act()
  })
  find.addEventListener('input', search)
  find.addEventListener('focus', search)
  at('problems').addEventListener('click', problems)
  at('in').addEventListener('click', () => zoomMiddle(1.3))
  at('out').addEventListener('click', () => zoomMiddle(1 / 1.3))
  at('fit').addEventListener('click', fit)
  at('lang').addEventListener('click', () => {
    lang = lang === 'ZH' ? 'EN' : 'ZH'
    speak()
  })
  hits.addEventListener('click', () => (hits.hidden = true))
  onResize(show)
  speak()
  fit()
  // A map that is too large to be read as a whole begins at its beginning.
  if (view.scale < 0.55) {
    const place = places.get(facts.start)
    view.scale = 0.8
    view.x = 40 - (place?.x ?? 0) * view.scale
    view.y = Math.min(40, room().height / 2 - (place?.y ?? 0) * view.scale)
    show()
  }
}

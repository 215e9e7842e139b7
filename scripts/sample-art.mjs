// Draws the pictures and makes the sounds of the sample game in examples/lighthouse: `node scripts/sample-art.mjs [NAME…]`.
// Run by hand after a change of the art; what it writes is committed. It needs a Chromium or Chrome to turn the drawings into
// WebP: CHROMIUM=/path/to/one, else /usr/bin/chromium. The same Chromium gives the same bytes; the sounds need nothing.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './setup.mjs'

const game = join(root, 'examples', 'lighthouse', 'game')
const wide = [1920, 1080]
const tall = [800, 1080]

// ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Chance that is the same on every run (mulberry32). */
function dice(seed) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return (from = 0, to = 1) => from + (to - from) * next()
}

const short = (number) => String(Math.round(number * 10) / 10)
const times = (count, make) => Array.from({ length: count }, (_, index) => make(index)).join('')
const attributes = (more) => Object.entries(more).reduce((text, [key, value]) => `${text} ${key}="${value}"`, '')
const group = (content, more = {}) => `<g${attributes(more)}>${content}</g>`
const path = (d, fill, more = {}) => `<path d="${d}" fill="${fill}"${attributes(more)}/>`
const line = (d, stroke, width, more = {}) =>
  path(d, 'none', { stroke, 'stroke-width': width, 'stroke-linecap': 'round', 'stroke-linejoin': 'round', ...more })
/** One thing for each of the places in 'x,y x,y'; what else is given with a comma comes along, and the index last. */
const each = (places, make) => places.split(' ').map((place, index) => make(...place.split(',').map(Number), index))
/** Points are pairs, or text as in 'x,y x,y'. */
const polygon = (points, fill, more) =>
  path(`M${typeof points === 'string' ? points : points.map((point) => point.map(short).join(',')).join(' ')}Z`, fill, more)
const ellipse = (cx, cy, rx, ry, fill, more = {}) =>
  `<ellipse cx="${short(cx)}" cy="${short(cy)}" rx="${short(rx)}" ry="${short(ry)}" fill="${fill}"${attributes(more)}/>`
const circle = (cx, cy, r, fill, more) => ellipse(cx, cy, r, r, fill, more)
const box = (x, y, width, height, fill, more = {}) =>
  `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"${attributes(more)}/>`

/** One drawing with its gradients, filters and clips. A stop is 'offset colour'. */
class Sheet {
  constructor([width, height]) {
    this.width = width
    this.height = height
    this.defs = []
    this.parts = []
  }
  add(...parts) {
    this.parts.push(...parts)
  }
  define(tag, content, more = {}) {
    const id = `d${this.defs.length}`
    this.defs.push(`<${tag} id="${id}"${attributes(more)}>${content}</${tag}>`)
    return `url(#${id})`
  }
  stops(list) {
    return list
      .map((stop) => stop.split(' '))
      .map(([offset, colour]) => `<stop offset="${offset}" stop-color="${colour}"/>`)
      .join('')
  }
  down(...list) {
    return this.define('linearGradient', this.stops(list), { x1: 0, y1: 0, x2: 0, y2: 1 })
  }
  across(...list) {
    return this.define('linearGradient', this.stops(list))
  }
  between(x1, y1, x2, y2, ...list) {
    return this.define('linearGradient', this.stops(list), { gradientUnits: 'userSpaceOnUse', x1, y1, x2, y2 })
  }
  round(...list) {
    return this.define('radialGradient', this.stops(list))
  }
  soft(amount) {
    const blur = `<feGaussianBlur stdDeviation="${amount}"/>`
    return this.define('filter', blur, { x: '-50%', y: '-50%', width: '200%', height: '200%' })
  }
  within(shape) {
    return this.define('clipPath', shape)
  }
  /** Light that fades without an edge; strength from 0 to 1. */
  glow(x, y, r, colour, strength = 0.8) {
    const stops = Array.from({ length: 13 }, (_, index) => {
      const out = index / 12
      const alpha = Math.round(255 * strength * Math.exp(-((out / 0.42) ** 2)) * (1 - out ** 3))
      return `${short(out * 100)}% ${colour}${alpha.toString(16).padStart(2, '0')}`
    })
    return circle(x, y, r, this.round(...stops))
  }
  toString() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><defs>${this.defs.join('')}</defs>${this.parts.join('')}</svg>`
  }
}

// ── things that several pictures share ───────────────────────────────────────────────────────────────────────────────────────

const stars = (roll, count, bottom, colour = '#fff3d6') =>
  times(count, () => circle(roll(0, 1920), roll() ** 1.5 * bottom, roll(0.8, 2.3), colour, { opacity: short(roll(0.3, 1)) }))

/** A bank of flat clouds: bars with round ends, wider in the middle. */
function cloud(x, y, width, height, fill, roll, opacity = 1) {
  const bars = times(5, (index) => {
    const share = 1 - Math.abs(index - 2.4) / 3.4
    const long = width * share * roll(0.8, 1.1)
    return box(x - long / 2 + roll(-0.12, 0.12) * width, y + (index - 2.5) * height * 0.22, long, height * 0.3, fill, {
      rx: short(height * 0.15),
    })
  })
  return group(bars, { opacity })
}

/** Light lying on water: short bars that spread towards the viewer. */
const glitter = (roll, x, top, bottom, count, colour, spread = 1) =>
  times(count, () => {
    const near = roll() ** 1.4
    const y = top + near * (bottom - top)
    const long = roll(14, 46) + near * 90
    const from = x + (roll() + roll() - 1) * (40 + near * 300) * spread - long / 2
    return box(from, y, long, 2 + near * 4, colour, { rx: 3, opacity: short(roll(0.2, 0.85) * (1 - near * 0.5)) })
  })

const swell = (roll, top, bottom, count, colour) =>
  times(count, () => {
    const near = roll()
    const y = top + near ** 1.6 * (bottom - top)
    const long = 60 + near * 240
    const x = roll(-100, 1920)
    return line(
      `M${short(x)},${short(y)}q${short(long / 4)},${short(-3 - near * 5)} ${short(long / 2)},0t${short(long / 2)},0`,
      colour,
      short(1.5 + near * 2.5),
      {
        opacity: short(roll(0.15, 0.5)),
      },
    )
  })

const gull = (x, y, size, colour) =>
  line(
    `M${x - size},${y - size * 0.25}q${size * 0.6},${-size * 0.45} ${size},${size * 0.25}q${size * 0.4},${-size * 0.7} ${size},${-size * 0.25}`,
    colour,
    short(size * 0.13),
  )

const grass = (roll, count, from, to, ground, colour, size = 1) =>
  times(count, () => {
    const x = roll(from, to)
    const y = ground(x)
    const tall = roll(12, 34) * size
    const lean = roll(-12, 14) * size
    return path(
      `M${short(x - 3 * size)},${short(y + 4)}Q${short(x)},${short(y - tall * 0.5)} ${short(x + lean)},${short(y - tall)}Q${short(x + 3 * size)},${short(y - tall * 0.4)} ${short(x + 4 * size)},${short(y + 4)}Z`,
      colour,
    )
  })

/** The tower, standing on (x, y), height high; `lit` puts light into the lamp room, not the beams. */
function tower(sheet, x, y, height, { white, red, shade, light, lit, metal }) {
  const base = height * 0.115
  const neck = height * 0.07
  const top = y - height * 0.74
  const body = `M${x - base * 1.15},${y}C${x - base * 0.98},${y - height * 0.12} ${x - neck * 1.08},${top + height * 0.2} ${x - neck},${top}L${x + neck},${top}C${x + neck * 1.08},${top + height * 0.2} ${x + base * 0.98},${y - height * 0.12} ${x + base * 1.15},${y}Z`
  const inside = sheet.within(path(body, '#000'))
  const bands = [0.1, 0.38, 0.66].map((at) => {
    const from = y - (y - top) * (at + 0.17)
    const deep = (y - top) * 0.17
    return path(
      `M${x - base * 1.3},${from}q${base * 1.3},${height * 0.018} ${base * 2.6},0v${deep}q${-base * 1.3},${height * 0.018} ${-base * 2.6},0Z`,
      red,
    )
  })
  const windows = [0.31, 0.6].map((at) => {
    const middle = y - (y - top) * at
    const half = height * 0.014
    return path(
      `M${x - half},${middle + half * 1.6}v${-half * 2.4}a${half},${half} 0 0 1 ${half * 2},0v${half * 2.4}Z`,
      lit ? '#ffdf94' : '#2a2147',
    )
  })
  const cap = top - height * 0.025
  const glassTop = cap - height * 0.115
  const wideGlass = neck * 0.72
  const pane = lit ? sheet.down('0 #fff6cf', '.5 #ffe391', '1 #ffc65c') : sheet.across('0 #8b7aa6', '.4 #4d4475', '1 #2a2550')
  return [
    group(
      [
        path(body, white),
        ...bands,
        path(body, sheet.across(`0 ${light}`, '.38 #ffffff00', `1 ${shade}`)),
        ...windows,
        path(
          `M${x - height * 0.03},${y}v${-height * 0.055}a${height * 0.03},${height * 0.03} 0 0 1 ${height * 0.06},0v${height * 0.055}Z`,
          '#33243f',
        ),
      ].join(''),
      { 'clip-path': inside },
    ),
    polygon(
      [
        [x - neck, top],
        [x + neck, top],
        [x + neck * 1.5, cap],
        [x - neck * 1.5, cap],
      ],
      metal,
    ),
    box(x - neck * 1.6, cap - height * 0.012, neck * 3.2, height * 0.016, metal, { rx: 2 }),
    box(x - wideGlass, glassTop, wideGlass * 2, cap - glassTop, pane),
    lit ? sheet.glow(x, (cap + glassTop) / 2, height * 0.11, '#fff3c4', 1) : '',
    ...[-1, -0.36, 0.36, 1].map((at) => box(x + at * wideGlass - 1.5, glassTop, 3, cap - glassTop, metal)),
    ...[-1.5, -1, -0.5, 0, 0.5, 1, 1.5].map((at) => box(x + at * neck - 1, cap - height * 0.05, 2, height * 0.045, metal)),
    box(x - neck * 1.55, cap - height * 0.052, neck * 3.1, 3, metal, { rx: 1.5 }),
    path(
      `M${x - wideGlass * 1.25},${glassTop}Q${x - wideGlass},${glassTop - height * 0.06} ${x},${glassTop - height * 0.085}Q${x + wideGlass},${glassTop - height * 0.06} ${x + wideGlass * 1.25},${glassTop}Z`,
      red,
    ),
    path(
      `M${x - wideGlass * 1.25},${glassTop}Q${x - wideGlass},${glassTop - height * 0.06} ${x},${glassTop - height * 0.085}Q${x + wideGlass},${glassTop - height * 0.06} ${x + wideGlass * 1.25},${glassTop}Z`,
      sheet.across(`0 ${light}`, '.4 #ffffff00', `1 ${shade}`),
    ),
    circle(x, glassTop - height * 0.092, height * 0.012, metal),
    line(`M${x},${glassTop - height * 0.1}v${-height * 0.045}`, metal, 2.5),
  ].join('')
}

/** The Petrel: a small steamer with two masts, on a horizon at 5/9 of the height. */
function ship(sheet) {
  const water = 404
  return [
    line('M560,366V236M712,366V222', '#2a2040', 6),
    path('M566,246C610,270 622,310 616,350H566Z', '#efe2d6'),
    path('M718,234C770,262 782,312 776,350H718Z', '#e3d2cb'),
    path('M554,256C530,290 516,320 512,350H554Z', '#d6c2c4'),
    line('M440,352L560,236L712,222L812,346', '#2a2040', 2.5),
    box(630, 300, 34, 60, '#c8415a'),
    box(630, 300, 34, 14, '#2a2040'),
    ellipse(660, 276, 26, 14, '#cfc9dc', { opacity: 0.45 }),
    ellipse(696, 258, 36, 17, '#cfc9dc', { opacity: 0.3 }),
    box(596, 334, 150, 34, '#f6e3dc', { rx: 4 }),
    ...[610, 640, 670, 700, 726].map((x) => box(x, 343, 13, 13, '#ffd667', { rx: 2 })),
    path(
      `M436,352C470,364 780,366 830,344C826,372 806,${water} 792,${water}H482C462,${water} 444,380 436,352Z`,
      sheet.down('0 #4a3560', '.6 #35264e', '.62 #a03a50', '1 #6d2842'),
    ),
    line('M438,354C472,366 780,368 828,346', '#f0c268', 4),
    ...[500, 540, 580, 690, 730, 770].map((x) => circle(x, 379, 5, '#ffd667')),
    sheet.glow(828, 330, 70, '#fff3c0', 0.93),
    circle(822, 334, 6, '#fffbe6'),
    line(`M450,${water + 4}H820M480,${water + 12}H780M540,${water + 20}H720`, '#ffe9b0', 3, { opacity: 0.6 }),
  ].join('')
}

/** A cone of light from (x, y) to the far side; angles in degrees, 0 to the right. */
function beam(sheet, x, y, angle, open, reach, colour, strength = 'b0') {
  const turn = (degrees) => [x + Math.cos((degrees * Math.PI) / 180) * reach, y + Math.sin((degrees * Math.PI) / 180) * reach]
  const [endX, endY] = turn(angle)
  const fill = sheet.between(x, y, endX, endY, `0 ${colour}${strength}`, `.45 ${colour}4a`, `1 ${colour}00`)
  const wedge = (half) => polygon([[x, y], turn(angle - half), turn(angle + half)], fill, { filter: sheet.soft(7) })
  return wedge(open) + wedge(open * 0.55)
}

// ── backgrounds ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const dusk = {
  sky: ['0 #17183f', '.34 #41306f', '.6 #9c4d86', '.8 #e9836d', '1 #ffc680'],
  sea: ['0 #e0836f', '.14 #a0567d', '.5 #4b3272', '1 #191a45'],
  sun: ['#fff0bd', '#ffb066'],
  sunAt: [455, 640],
  clouds: ['#c96a8a', '#7a4483', '#f2a077'],
  far: ['#7d4681', '#5d3a78'],
  glint: '#ffe0a6',
  wave: '#f7a98c',
  rock: ['#8d5272', '#553a66', '#2a2350'],
  facet: ['#e08f7b', '#1b1842'],
  turf: ['#5b5d6e', '#2c3454'],
  rim: '#ffc08a',
  trail: '#a9788a',
  tower: { white: '#f6e3dc', red: '#c8415a', shade: '#241a52cc', light: '#ffb98066', lit: false, metal: '#2b2148' },
  house: ['#d9b7b0', '#6f4a72', '#7b3450', '#ffd98a'],
  front: '#1a1a40',
  gulls: '#2c2350',
  stars: 120,
}

const morning = {
  sky: ['0 #6fb1d6', '.4 #a9d3df', '.7 #f3e0c8', '.88 #ffd3a0', '1 #ffe9bd'],
  sea: ['0 #ffe0b0', '.12 #9fd0cf', '.45 #4f9fb5', '1 #2a6c8f'],
  sun: ['#fffdf0', '#ffe6a0'],
  sunAt: [455, 560],
  clouds: ['#fff4e6', '#f4cfc0', '#ffffff'],
  far: ['#9bb9c4', '#7fa5b5'],
  glint: '#fffbe6',
  wave: '#ffffff',
  rock: ['#d8b592', '#a58578', '#5d5a70'],
  facet: ['#ffe3b8', '#4d4c68'],
  turf: ['#93b56a', '#4f8059'],
  rim: '#fff0b8',
  trail: '#ecd3a4',
  tower: { white: '#fffaf0', red: '#d9485a', shade: '#49507acc', light: '#fff2c466', lit: true, metal: '#41405e' },
  house: ['#fff1dc', '#c9a79c', '#b5544f', '#8fc0cf'],
  front: '#2f5f55',
  gulls: '#ffffff',
  stars: 0,
  ship: true,
}

/** The cliff, the tower and the keeper's house; evening and morning are the same place in another light. */
function cliff(sheet, light, seed) {
  const roll = dice(seed)
  const sea = 655
  const [sunX, sunY] = light.sunAt
  const edge = '742,1080 768,990 756,930 800,880 812,800 846,760 852,700 884,668 900,620'
    .split(' ')
    .map((point) => point.split(',').map(Number))
  const land = `M${edge.map((point) => point.join(',')).join('L')}C960,596 1010,604 1080,600C1200,594 1290,604 1400,590C1560,566 1700,560 1920,516L1920,1080Z`
  const ground = (x) => (x < 1400 ? 602 - (x - 900) * 0.012 : 596 - ((x - 1400) / 520) ** 1.3 * 78)
  const stone = sheet.within(path(land, '#000'))
  sheet.add(
    box(0, 0, 1920, sea + 2, sheet.down(...light.sky)),
    light.stars ? stars(roll, light.stars, 330) : '',
    sheet.glow(sunX, sunY, 620, light.sun[1], 0.87),
    circle(sunX, sunY, 84, sheet.down(`0 ${light.sun[0]}`, `1 ${light.sun[1]}`)),
    cloud(300, 430, 760, 70, light.clouds[0], roll, 0.55),
    cloud(860, 300, 620, 60, light.clouds[1], roll, 0.6),
    cloud(1500, 400, 700, 80, light.clouds[0], roll, 0.4),
    cloud(120, 240, 480, 46, light.clouds[1], roll, 0.5),
    cloud(640, 560, 560, 34, light.clouds[2], roll, 0.6),
    cloud(1700, 190, 420, 44, light.clouds[1], roll, 0.4),
    path(`M0,${sea}V612C90,600 150,622 230,628C300,634 340,648 380,${sea}Z`, light.far[0]),
    path(`M560,${sea}C640,638 700,640 760,628C840,616 880,630 960,${sea}Z`, light.far[1], { opacity: 0.8 }),
    box(0, sea, 1920, 1080 - sea, sheet.down(...light.sea)),
    swell(roll, sea + 12, 1080, 90, light.wave),
    glitter(roll, sunX, sea + 3, 1000, 150, light.glint),
    light.ship ? group(ship(sheet), { transform: 'translate(422 500) scale(.5)' }) : '',
    ...each('560,250,22 640,300,15 480,320,13 1420,250,16', (x, y, size) => gull(x, y, size, light.gulls)),
    // the rock, cut into faces that look towards the sun or away from it
    path(land, sheet.between(740, 620, 1500, 1080, `0 ${light.rock[0]}`, `.4 ${light.rock[1]}`, `1 ${light.rock[2]}`)),
    group(
      [
        ...[1, 2, 3, 4, 5].map((step) => {
          const jag = edge.map(([x, y]) => [x + step * 66 + roll(-26, 26), y + roll(-12, 12)])
          const [bottom, top] = [jag.at(0), jag.at(-1)]
          return polygon([...jag, [top[0] + 1000, top[1]], [bottom[0] + 1000, 1080]], light.facet[1], { opacity: 0.17 })
        }),
        times(16, () => {
          const x = roll(780, 1240)
          const y = roll(680, 1000)
          const size = roll(40, 110)
          const face = [
            [x, y],
            [x + size * 0.16, y + size * 0.2],
            [x + size * 0.02, y + size],
            [x - size * 0.14, y + size * 0.5],
          ]
          return polygon(face, light.facet[0], { opacity: short(roll(0.15, 0.4)) })
        }),
        polygon([...edge, [915, 640], [880, 740], [850, 800], [858, 880], [806, 960], [812, 1080]], light.facet[0], {
          opacity: 0.5,
        }),
      ].join(''),
      { 'clip-path': stone },
    ),
    group(
      [
        path(
          `M880,668C900,600 960,600 1080,600C1200,594 1290,604 1400,590C1560,566 1700,560 1920,516V1080H1290C1240,960 1180,860 1110,770C1060,712 980,690 880,668Z`,
          sheet.between(1000, 600, 1300, 1080, `0 ${light.turf[0]}`, `1 ${light.turf[1]}`),
        ),
        // the way up to the door
        path(
          'M1450,1080C1400,930 1460,850 1380,770C1320,710 1190,690 1150,612L1176,610C1230,670 1390,690 1450,750C1540,840 1490,930 1640,1080Z',
          light.trail,
          { opacity: 0.75 },
        ),
        times(60, () => {
          const x = roll(1000, 1900)
          const y = roll(640, 900)
          return line(`M${short(x)},${short(y)}q4,-12 10,-16`, light.rim, 2, { opacity: 0.25 })
        }),
      ].join(''),
      { 'clip-path': stone },
    ),
    line('M900,620C960,596 1010,604 1080,600C1200,594 1290,604 1400,590C1560,566 1700,560 1920,516', light.rim, 5, {
      opacity: 0.8,
    }),
    grass(roll, 120, 905, 1915, ground, light.turf[0]),
    grass(roll, 50, 905, 1915, ground, light.rim, 0.7),
  )
  sheet.add(tower(sheet, 1130, 612, 500, light.tower), cottage(sheet, light))
  sheet.add(
    grass(roll, 30, 1000, 1580, () => 622, light.turf[1], 0.9),
    // the foreground, under the text box
    path('M0,1080V1010C180,975 330,1000 520,1030C700,1058 900,1040 1100,1050C1350,1062 1600,1000 1920,985V1080Z', light.front, {
      opacity: 0.92,
    }),
    grass(roll, 90, 0, 1920, (x) => (x < 520 ? 1000 + x * 0.06 : 1046 - Math.max(0, x - 1300) * 0.09), light.front, 1.9),
  )
}

function cottage(sheet, { house: [wall, side, roof, window], rim, tower: { metal } }) {
  const pane = (x, y) => [
    sheet.glow(x + 16, y + 20, 90, window, 0.5),
    box(x, y, 32, 40, window, { rx: 3 }),
    line(`M${x + 16},${y}v40M${x},${y + 20}h32`, metal, 3),
  ]
  return [
    ...each('1450,380,15 1462,352,20 1482,318,26 1510,282,32', (x, y, size, index) =>
      ellipse(x, y, size * 1.2, size * 0.8, '#ffffff', { opacity: 0.3 - index * 0.06 }),
    ),
    box(1432, 404, 34, 80, side),
    box(1426, 398, 46, 14, roof),
    polygon('1290,520 1500,512 1500,606 1290,612', wall),
    polygon('1500,512 1560,540 1560,600 1500,606', side),
    polygon('1272,528 1306,452 1488,446 1514,516', roof),
    polygon('1488,446 1578,546 1514,516', metal),
    line('M1272,528L1306,452L1488,446', rim, 4, { opacity: 0.7 }),
    ...pane(1322, 546),
    ...pane(1440, 542),
    path('M1378,610v-44a18,18 0 0 1 36,0v43Z', metal),
    circle(1408, 588, 2.5, window),
  ].join('')
}

/** The keeper's room: a round window over a desk, where the letter lies in the light of one candle. */
function study(sheet) {
  const roll = dice(31)
  sheet.add(
    box(0, 0, 1920, 1080, sheet.down('0 #2a1c33', '.55 #4a2d3d', '1 #3a2232')),
    times(16, (index) => box(index * 122, 0, 118, 800, index % 2 ? '#ffffff' : '#000000', { opacity: index % 2 ? 0.022 : 0.05 })),
    times(16, (index) => box(index * 122 - 3, 0, 4, 800, '#190f20', { opacity: 0.5 })),
    sheet.glow(1110, 600, 760, '#ffb35c', 0.53),
  )
  const glass = sheet.within(circle(960, 320, 198, '#000'))
  sheet.add(
    circle(960, 320, 232, sheet.down('0 #8a5a3c', '1 #4c2c27')),
    circle(960, 320, 214, '#2d1a20'),
    group(
      [
        box(740, 100, 440, 440, sheet.down('0 #1b1d4a', '.45 #5b3b7c', '.62 #d0708a', '.7 #ffb980')),
        times(26, () => circle(roll(760, 1160), roll(130, 300), roll(0.8, 2), '#fff3d6', { opacity: 0.8 })),
        box(740, 404, 440, 140, sheet.down('0 #c56d83', '.3 #67407c', '1 #29235a')),
        times(26, () => box(roll(760, 1130), roll(408, 520), roll(16, 60), 2.5, '#ffc99a', { rx: 1.5, opacity: 0.5 })),
        path('M1040,410C1080,370 1140,360 1180,352V420Z', '#3a2a5e'),
        cloud(880, 260, 260, 30, '#a2568a', roll, 0.6),
      ].join(''),
      { 'clip-path': glass },
    ),
    line('M960,122V518M762,320H1158', '#5c3830', 14),
    circle(960, 320, 206, 'none', { stroke: '#6b4334', 'stroke-width': 16 }),
    times(8, (index) => {
      const turn = (index * Math.PI) / 4 + 0.39
      return circle(960 + Math.cos(turn) * 223, 320 + Math.sin(turn) * 223, 6, '#d9a15c')
    }),
  )
  // shelf with books and a bottled ship on the left, rope and ring on the right
  const spines = ['#8c3f46', '#3f5e6b', '#b98a4a', '#5d4a78', '#7a5a3c', '#40705f', '#a8604c']
  const shelf = (y, from) => {
    let x = from
    let books = ''
    while (x < 500) {
      const wide = roll(22, 40)
      const high = roll(86, 132)
      const colour = spines[Math.floor(roll(0, spines.length))]
      books += box(x, y - high, wide, high, colour, { rx: 3 }) + box(x, y - high + 16, wide, 5, '#f0d9a0', { opacity: 0.5 })
      x += wide + 3
    }
    return books + box(120, y, 420, 18, '#6b4334', { rx: 3 }) + box(120, y + 18, 420, 8, '#1d1120', { opacity: 0.5 })
  }
  sheet.add(
    shelf(300, 290),
    shelf(480, 150),
    ellipse(205, 268, 62, 30, '#bfe0e6', { opacity: 0.28 }),
    box(262, 256, 26, 22, '#b98a4a', { rx: 4 }),
    path('M165,278h76l-12,14h-52Z', '#7a3c3c'),
    path('M203,276v-34l26,30ZM199,276v-26l-20,22Z', '#f4e6d0'),
    circle(1620, 300, 92, 'none', { stroke: '#efe0d0', 'stroke-width': 44 }),
    ...[20, 110, 200, 290].map((turn) =>
      circle(1620, 300, 92, 'none', {
        stroke: '#c8415a',
        'stroke-width': 44,
        'stroke-dasharray': '62 516',
        transform: `rotate(${turn} 1620 300)`,
      }),
    ),
    circle(1620, 300, 116, 'none', { stroke: '#1d112055', 'stroke-width': 6 }),
    ...[0, 90, 180, 270].map((turn) =>
      line('M1546,226C1520,280 1520,320 1546,374', '#c9a26a', 7, { opacity: 0.9, transform: `rotate(${turn} 1620 300)` }),
    ),
    circle(1620, 160, 8, '#d9a15c'),
    line('M1620,164v28', '#c9a26a', 6),
  )
  // the desk
  sheet.add(
    box(0, 800, 1920, 280, '#241525'),
    polygon('330,650 1590,650 1700,760 220,760', sheet.across('0 #5c3630', '.6 #a86a3f', '1 #6a3f33')),
    times(9, (index) => line(`M${360 + index * 140},652L${270 + index * 162},758`, '#3a2026', 2, { opacity: 0.35 })),
    box(220, 760, 1480, 36, '#4a2a2a'),
    box(260, 796, 1400, 190, sheet.across('0 #38202a', '.6 #5b3530', '1 #38202a')),
    ...[320, 760, 1200].map(
      (x) => box(x, 822, 380, 130, 'none', { stroke: '#27151f', 'stroke-width': 6, rx: 6 }) + circle(x + 190, 886, 12, '#d9a15c'),
    ),
    // the letter, a pen in its pot, the candle
    polygon('830,678 1010,672 1040,742 838,748', '#fbf0d8'),
    times(5, (index) =>
      line(
        `M${850 + index * 2},${692 + index * 11}L${1000 + index * 5 - (index === 4 ? 70 : 0)},${687 + index * 11}`,
        '#6a4a55',
        2.5,
        { opacity: 0.7 },
      ),
    ),
    circle(1012, 732, 10, '#c8415a'),
    polygon('640,690 800,684 806,738 628,744', '#e6cfa6'),
    line('M640,690L722,722L800,684', '#b8986a', 3),
    path('M716,664h44l8,34h-60Z', '#2b2340', { transform: 'translate(-170 30)' }),
    line('M572,690L640,580', '#efe6da', 6),
    path('M640,580C660,548 668,520 662,500C630,520 612,560 622,604Z', '#efe6da'),
    ellipse(1160, 728, 60, 14, '#c9954d'),
    ellipse(1160, 722, 60, 12, '#f0c277'),
    box(1136, 610, 48, 112, sheet.across('0 #fff3d8', '.5 #ffe3b0', '1 #d8a878'), { rx: 8 }),
    path('M1136,640c-10,20 -4,36 2,44c4,-12 4,-30 -2,-44Z', '#fff3d8'),
    line('M1160,612v-14', '#3a2026', 4),
    sheet.glow(1160, 566, 330, '#ffd27a', 0.8),
    path('M1160,604C1132,590 1140,556 1160,520C1180,556 1188,590 1160,604Z', sheet.down('0 #fff0b0', '.6 #ffcf62', '1 #ff9a3c')),
    path('M1160,602C1148,594 1150,576 1160,560C1170,576 1172,594 1160,602Z', '#fffbe0'),
  )
  sheet.add(box(0, 0, 1920, 1080, sheet.define('radialGradient', sheet.stops(['.45 #12081800', '1 #120818cc']))))
}

/** The beach under the cliff, with an old boat, a bell on a post, and the dark tower far above. */
function beach(sheet) {
  const roll = dice(77)
  const sea = 560
  sheet.add(
    box(0, 0, 1920, sea + 2, sheet.down('0 #0b1236', '.5 #1f2c63', '.85 #46569a', '1 #7f86bb')),
    stars(roll, 230, 520),
    sheet.glow(900, 210, 460, '#cfe0ff', 0.67),
    circle(900, 210, 92, sheet.round('0 #fffdf2', '.7 #f6f0da', '1 #dcdcd8')),
    circle(872, 190, 16, '#e3dfcf'),
    circle(930, 236, 22, '#e3dfcf'),
    circle(916, 168, 9, '#e3dfcf'),
    cloud(380, 330, 620, 54, '#4c5b9b', roll, 0.55),
    cloud(1040, 420, 560, 44, '#5a669f', roll, 0.5),
    cloud(1240, 150, 360, 36, '#33417f', roll, 0.6),
    box(0, sea, 1920, 320, sheet.down('0 #6f7bb5', '.2 #3b4a8b', '1 #182457')),
    swell(roll, sea + 8, 820, 70, '#a9bdf0'),
    glitter(roll, 900, sea + 2, 800, 150, '#eaf0ff', 0.7),
    // the cliff on the right with the tower on it
    path(
      'M1920,1080V190L1800,176L1690,206L1640,262L1588,300L1560,372L1500,430L1478,520L1420,590L1400,660L1330,720L1290,790L1230,840L1920,1000Z',
      sheet.across('0 #2b3366', '.5 #1b2250', '1 #10153c'),
    ),
    polygon('1690,206 1640,262 1660,380 1610,450 1588,300', '#52609f', { opacity: 0.4 }),
    polygon('1560,372 1500,430 1478,520 1540,560 1590,470', '#52609f', { opacity: 0.45 }),
    polygon('1478,520 1420,590 1400,660 1470,700 1530,600', '#46548f', { opacity: 0.45 }),
    polygon('1400,660 1330,720 1290,790 1400,800', '#52609f', { opacity: 0.35 }),
    polygon('1700,420 1760,520 1720,640 1640,560', '#0c1134', { opacity: 0.6 }),
    polygon('1800,300 1880,420 1860,560 1790,470', '#0c1134', { opacity: 0.5 }),
    line('M1690,206L1640,262L1588,300L1560,372L1500,430L1478,520L1420,590L1400,660L1330,720', '#93a3da', 4, { opacity: 0.6 }),
    tower(sheet, 1770, 186, 176, {
      white: '#8f97c4',
      red: '#5c3d73',
      shade: '#0b1036dd',
      light: '#dfe8ff44',
      lit: false,
      metal: '#141a45',
    }),
    // surf and sand
    path('M0,800C260,770 520,812 800,790C1040,772 1180,800 1320,792L1320,850L0,870Z', '#c9d6ff', { opacity: 0.35 }),
    path(
      'M0,824C220,796 470,842 760,814C1010,792 1170,826 1330,806C1500,800 1700,850 1920,838V1080H0Z',
      sheet.down('0 #8b87ac', '.25 #6b6795', '1 #2f3062'),
    ),
    line('M0,824C220,796 470,842 760,814C1010,792 1170,826 1330,806', '#eef3ff', 7, { opacity: 0.8 }),
    line('M0,850C240,830 440,862 700,842C900,828 1060,846 1200,838', '#dfe8ff', 3, { opacity: 0.4 }),
    times(120, () => circle(roll(0, 1920), roll(850, 1070), roll(1, 3.4), '#c5c3e0', { opacity: short(roll(0.15, 0.5)) })),
  )
  // the old boat, and the bell on its post
  const hull = 'M880,742C960,790 1180,800 1330,724C1320,800 1270,858 1180,868H1010C930,858 890,810 880,742Z'
  const inside = sheet.within(path(hull, '#000'))
  const boat = [
    ellipse(1110, 868, 260, 22, '#1c1d4a', { opacity: 0.5 }),
    path('M880,742C980,712 1220,700 1330,724C1180,800 960,790 880,742Z', '#1d1838'),
    group(
      [
        path(hull, sheet.down('0 #7e5f78', '1 #3b2c54')),
        ...[30, 58, 86].map((drop) =>
          line(`M860,${742 + drop}C960,${790 + drop} 1180,${800 + drop} 1350,${720 + drop}`, '#2a1f45', 4, { opacity: 0.7 }),
        ),
        path('M1040,800l36,6l-6,40l-34,-8Z', '#171334'),
      ].join(''),
      { 'clip-path': inside },
    ),
    line('M880,742C960,790 1180,800 1330,724', '#b7a6c9', 7),
    line('M960,770L1180,690', '#8f7d9c', 9),
  ].join('')
  const bell = [
    line('M520,880V560', '#2a2449', 20),
    line('M520,880V560', '#5a527f', 5, { transform: 'translate(-5 0)' }),
    line('M520,574H640', '#2a2449', 16),
    line('M530,640L590,580', '#2a2449', 10),
    line('M622,580v26', '#2a2449', 5),
    path(
      'M590,668C594,640 592,608 622,606C652,608 650,640 654,668L666,682H578Z',
      sheet.across('0 #f0d79a', '.4 #b98b4e', '1 #4d3850'),
    ),
    circle(622, 690, 9, '#6d5045'),
    line('M622,698C628,730 616,750 624,780', '#b9a98c', 4),
  ].join('')
  sheet.add(
    group(bell, { transform: 'translate(170 0)' }),
    group(boat, { transform: 'translate(160 148) scale(.82)' }),
    // shells and footprints
    ...each('300,930 370,960 450,945 520,985 600,968', (x, y) => ellipse(x, y, 18, 7, '#3b3a6c', { opacity: 0.5 })),
    path('M740,930a22,18 0 0 1 44,0l-22,12Z', '#f2dcd8'),
    line('M762,940l-14,-18M762,940v-24M762,940l14,-18', '#b58fa0', 2),
    ...[0, 72, 144, 216, 288].map((turn) => line('M1420,930v-20', '#d98f86', 11, { transform: `rotate(${turn + 10} 1420 930)` })),
  )
}

/** The lamp room at the top, with the lens dark or lit. */
function lampRoom(sheet, lit) {
  const roll = dice(5)
  const posts = [-40, 190, 450, 770, 1150, 1470, 1730, 1960]
  const iron = lit ? ['#6d4a3d', '#3a2632'] : ['#3a3a5e', '#1b1b3a']
  const edge = lit ? '#ffcf86' : '#6f78b0'
  sheet.add(
    box(
      0,
      0,
      1920,
      1080,
      sheet.down(
        ...(lit
          ? ['0 #10153a', '.45 #283064', '.66 #5a5285', '1 #3a2632']
          : ['0 #070b28', '.4 #151f52', '.66 #3c4a86', '1 #1b1b3a']),
      ),
    ),
    stars(roll, lit ? 70 : 190, 520),
    box(
      0,
      586,
      1920,
      260,
      sheet.down(...(lit ? ['0 #6d5f8c', '.3 #3a3a72', '1 #1b2050'] : ['0 #44528f', '.3 #25316c', '1 #0e1640'])),
    ),
    swell(roll, 594, 780, 46, lit ? '#ffd9a0' : '#8fa2dc'),
    lit ? '' : sheet.glow(620, 250, 240, '#cfe0ff', 0.53) + circle(620, 250, 42, '#f3f0e2'),
    lit ? '' : glitter(roll, 620, 590, 760, 50, '#dfe8ff', 0.35),
  )
  if (lit)
    sheet.add(
      sheet.glow(960, 440, 1000, '#ffca6a', 0.8),
      beam(sheet, 960, 440, 183, 11, 1300, '#fff2c0', 'ee'),
      beam(sheet, 960, 440, -3, 11, 1300, '#fff2c0', 'ee'),
    )
  // glazing bars
  for (const [index, x] of posts.entries()) {
    const next = posts[index + 1]
    if (next !== undefined)
      sheet.add(
        line(`M${x},150L${(x + next) / 2},450L${next},150M${x},750L${(x + next) / 2},450L${next},750`, iron[1], 5, {
          opacity: 0.8,
        }),
        polygon(
          [
            [x + 26, 150],
            [x + 70, 150],
            [x - 10 + (next - x) * 0.2, 740],
            [x + 12, 740],
          ],
          '#ffffff',
          { opacity: lit ? 0.05 : 0.04 },
        ),
      )
    sheet.add(box(x - 9, 120, 18, 640, iron[1]), box(x < 960 ? x + 5 : x - 9, 120, 4, 640, edge, { opacity: 0.7 }))
  }
  sheet.add(
    // the roof and its ribs
    path('M0,0H1920V150C1500,96 420,96 0,150Z', sheet.down(`0 ${iron[1]}`, `1 ${iron[0]}`)),
    times(9, (index) => line(`M960,-160L${index * 240},140`, iron[1], 7, { opacity: 0.8 })),
    line('M0,150C420,96 1500,96 1920,150', edge, 6, { opacity: 0.75 }),
    // the wall below the glass, with a brass rail, and the floor
    path('M0,740C420,768 1500,768 1920,740V900H0Z', sheet.down(`0 ${iron[0]}`, `1 ${iron[1]}`)),
    line('M0,740C420,768 1500,768 1920,740', edge, 8, { opacity: 0.9 }),
    times(24, (index) => circle(40 + index * 80, 790 + Math.sin((index / 23) * Math.PI) * 14, 5, edge, { opacity: 0.45 })),
    path(
      'M0,870C420,900 1500,900 1920,870V1080H0Z',
      sheet.down(...(lit ? ['0 #8a5a3c', '1 #3a2229'] : ['0 #2a2a50', '1 #12122c'])),
    ),
    times(13, (index) => line(`M${960 + (index - 6) * 130},884L${960 + (index - 6) * 240},1080`, iron[1], 3, { opacity: 0.6 })),
    lit ? ellipse(960, 960, 620, 90, sheet.round('0 #ffdf9a99', '1 #ffdf9a00')) : '',
  )
  // the pedestal
  sheet.add(
    ellipse(960, 985, 190, 34, '#0b0a1c', { opacity: 0.55 }),
    path(
      'M870,740H1050L1030,800C1022,860 1040,920 1080,980H840C880,920 898,860 890,800Z',
      sheet.across(`0 ${lit ? '#a8703f' : '#4a4a76'}`, `.45 ${iron[0]}`, `1 ${iron[1]}`),
    ),
    box(836, 716, 248, 30, lit ? '#d9a15c' : '#6a6590', { rx: 8 }),
    box(836, 716, 248, 8, lit ? '#ffe0a0' : '#9a98c4', { rx: 4 }),
  )
  lens(sheet, lit)
  sheet.add(box(0, 0, 1920, 1080, sheet.define('radialGradient', sheet.stops(['.5 #08061800', `1 #080618${lit ? '88' : 'aa'}`]))))
}

/** The lens: rings of glass like a beehive, a bull's eye in the middle, brass between. */
function lens(sheet, lit) {
  const x = 960
  const brass = lit ? '#c98a3c' : '#5c5680'
  const glass = lit
    ? sheet.across('0 #e0973a', '.2 #ffd978', '.5 #fffbe6', '.8 #ffd978', '1 #e0973a')
    : sheet.across('0 #1d2a5c', '.25 #5f7fb0', '.45 #9cc0d8', '.7 #3d5a92', '1 #16204c')
  const half = (y) => 168 * Math.sin(Math.acos(Math.min(1, Math.abs(y - 460) / 300))) ** 0.55
  const rings = []
  for (let y = 206; y < 712; y += 23) {
    if (y > 360 && y < 545) continue
    const [above, below] = [half(y), half(y + 19)]
    rings.push(
      path(
        `M${short(x - above)},${y}Q${x},${y + 8} ${short(x + above)},${y}L${short(x + below)},${y + 19}Q${x},${y + 27} ${short(x - below)},${y + 19}Z`,
        glass,
        { opacity: lit ? 0.95 : 0.85 },
      ),
      line(`M${short(x - above)},${y}Q${x},${y + 8} ${short(x + above)},${y}`, lit ? '#fffdf0' : '#d5e6f5', 2, { opacity: 0.7 }),
    )
  }
  sheet.add(
    lit ? sheet.glow(x, 455, 420, '#fff0b8', 1) : '',
    path(`M${x - 150},206Q${x - 240},460 ${x - 150},716H${x + 150}Q${x + 240},460 ${x + 150},206Z`, lit ? '#ffb84e' : '#1a2350', {
      opacity: lit ? 0.5 : 0.75,
    }),
    ...rings,
    path(`M${x - 178},362Q${x},376 ${x + 178},362V546Q${x},560 ${x - 178},546Z`, glass, { opacity: 0.9 }),
    ...[88, 70, 52, 34].map((r, index) =>
      circle(
        x,
        455,
        r,
        lit ? ['#ffe49a', '#fff0bd', '#fff8dc', '#ffffff'][index] : ['#2f4a85', '#4a6ca3', '#6f94bf', '#a8c8de'][index],
        { stroke: lit ? '#ffc45c' : '#c5dcef', 'stroke-width': 3, 'stroke-opacity': 0.8 },
      ),
    ),
    ...[-118, 118].map((offset) => line(`M${x + offset},204Q${x + offset * 1.3},460 ${x + offset},716`, brass, 9)),
    box(x - 156, 190, 312, 18, brass, { rx: 6 }),
    path(`M${x - 120},190Q${x},120 ${x + 120},190Z`, brass),
    circle(x, 142, 14, brass),
    line(`M${x - 176},362Q${x},376 ${x + 176},362M${x - 176},546Q${x},560 ${x + 176},546`, brass, 8),
  )
  if (lit) sheet.add(sheet.glow(x, 455, 300, '#ffffff', 1))
  else
    sheet.add(
      path(`M${x - 110},230Q${x - 168},440 ${x - 116},660L${x - 92},660Q${x - 136},440 ${x - 84},230Z`, '#ffffff', {
        opacity: 0.16,
      }),
    )
}

/** The sea from the gallery while the lamp burns: one broad beam over banks of fog. */
function night(sheet) {
  const roll = dice(404)
  const sea = 600
  const wave = (y, high, long, phase) => {
    let d = `M-20,1090L-20,${y}`
    for (let x = -20; x < 1940; x += long) d += `q${long / 4},${-high} ${long / 2},0t${long / 2},0`
    return `${d}V1090Z`.replace('M-20', `M${-20 - phase}`).replace('L-20', `L${-20 - phase}`)
  }
  sheet.add(
    box(0, 0, 1920, sea + 2, sheet.down('0 #090d2e', '.55 #1c2760', '.9 #4a4c86', '1 #6c6496')),
    stars(roll, 170, 480),
    cloud(420, 470, 900, 64, '#3a3f78', roll, 0.7),
    cloud(1320, 380, 760, 60, '#2c3470', roll, 0.7),
    cloud(960, 540, 1200, 40, '#565a90', roll, 0.5),
    box(0, sea, 1920, 480, sheet.down('0 #55588f', '.25 #2b3370', '1 #0c1238')),
    swell(roll, sea + 10, 1000, 80, '#8f9ad6'),
    ellipse(430, sea + 8, 620, 26, sheet.round('0 #fff0bccc', '1 #fff0bc00')),
    glitter(roll, 430, sea + 3, 960, 170, '#fff0c4', 1.1),
    beam(sheet, 1980, 60, 165, 6, 2250, '#fff0bc', 'ff'),
    beam(sheet, 1980, 60, 165, 2.6, 2100, '#fffbe6', 'aa'),
    ellipse(300, sea - 6, 520, 34, '#c9c6e8', { opacity: 0.22, filter: sheet.soft(14) }),
    ellipse(1300, sea + 6, 620, 30, '#c9c6e8', { opacity: 0.2, filter: sheet.soft(14) }),
    path(wave(860, 16, 240, 60), '#1a2460', { opacity: 0.85 }),
    path(wave(930, 20, 300, 160), '#121a4c', { opacity: 0.9 }),
    path(wave(1010, 22, 360, 20), '#0b1138'),
    // the rail of the gallery
    line('M-10,800H1930', '#1a1533', 16),
    line('M-10,796H1930', '#e0a860', 4, { opacity: 0.8 }),
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => box(90 + index * 192, 800, 14, 280, '#1a1533')),
    ...each('520,250 610,290 1150,200', (x, y) => gull(x, y, 16, '#e9e4f5')),
  )
}

// ── figures ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const skin = (sheet) => sheet.down('0 #ffe6cd', '.6 #fbd0ae', '1 #eda987')

/** Mara's head, with its middle at (340, 335). */
function maraHead(sheet, glad) {
  const hair = sheet.down('0 #5a3346', '.5 #3d2338', '1 #2a182c')
  const eye = (x) =>
    glad
      ? line(`M${x - 21},362Q${x},332 ${x + 21},362`, '#3a2130', 8)
      : [
          ellipse(x, 356, 20, 27, '#fffaf2'),
          ellipse(x + 1, 358, 17, 24, sheet.down('0 #27303f', '.55 #2f6470', '1 #6fc0b6')),
          ellipse(x + 1, 358, 9, 13, '#1b1a2a'),
          circle(x - 5, 348, 6, '#ffffff'),
          circle(x + 7, 369, 3, '#ffffff', { opacity: 0.8 }),
          line(`M${x - 24},346Q${x - 4},322 ${x + 22},338`, '#2a182c', 7),
        ].join('')
  return {
    back: [
      path('M340,186C212,184 196,300 200,372C202,440 214,480 236,500H444C466,480 478,440 480,372C484,300 468,184 340,186Z', hair),
    ].join(''),
    front: [
      path(
        'M228,330C224,420 270,462 340,466C410,462 456,420 452,330C450,250 400,214 340,214C280,214 230,250 228,330Z',
        skin(sheet),
      ),
      ellipse(270, 402, 26, 15, '#f2806e', { opacity: 0.42 }),
      ellipse(410, 402, 26, 15, '#f2806e', { opacity: 0.42 }),
      ...each('258,386 272,380 284,388 398,388 410,380 424,386', (x, y) => circle(x, y, 2.6, '#c9775a', { opacity: 0.8 })),
      eye(292),
      eye(388),
      line(glad ? 'M268,308Q288,294 312,304' : 'M268,312Q290,300 312,308', '#4a2a3a', 6),
      line(glad ? 'M412,308Q392,294 368,304' : 'M412,312Q390,300 368,308', '#4a2a3a', 6),
      line('M337,384Q344,394 334,398', '#c9775a', 4),
      glad
        ? path('M308,418Q340,428 372,418Q366,450 340,450Q314,450 308,418Z', '#a33f4a') +
          path('M322,440Q340,432 358,440Q350,450 340,450Q330,450 322,440Z', '#f08a86')
        : line('M322,428Q340,437 358,427', '#a3483f', 5),
      // the fringe
      path(
        'M214,352C200,230 268,186 344,188C424,186 482,236 466,352C458,318 446,296 428,278C424,296 416,306 404,314C402,292 392,276 376,264C372,288 354,304 326,312C334,296 336,282 332,270C312,296 280,308 250,310C236,318 222,332 214,352Z',
        hair,
      ),
      line('M262,236Q310,206 372,212', '#8a566a', 9, { opacity: 0.55 }),
      line('M436,246q16,18 20,44', '#8a566a', 6, { opacity: 0.4 }),
      // a clip like a small sun
      group([box(-26, -5, 52, 10, '#e8574f', { rx: 5 }), circle(0, 0, 11, '#ffd45a'), circle(0, 0, 5, '#fff3c0')].join(''), {
        transform: 'translate(262 278) rotate(-24)',
      }),
    ].join(''),
  }
}

function lantern(sheet, x, y, bright) {
  return [
    sheet.glow(x, y + 92, bright ? 180 : 140, '#ffcf6b', bright ? 0.95 : 0.6),
    line(`M${x - 34},${y + 50}C${x - 34},${y - 6} ${x + 34},${y - 6} ${x + 34},${y + 50}`, '#4a3a4e', 6),
    path(`M${x - 22},${y + 30}h44l14,22h-72Z`, '#57435a'),
    box(x - 42, y + 52, 84, 84, sheet.down('0 #fff2c2', '.6 #ffd877', '1 #f7a941'), { rx: 8, opacity: bright ? 1 : 0.92 }),
    path(
      `M${x},${y + 126}C${x - 26},${y + 112} ${x - 18},${y + 88} ${x},${y + 62}C${x + 18},${y + 88} ${x + 26},${y + 112} ${x},${y + 126}Z`,
      '#ff9d3d',
    ),
    path(
      `M${x},${y + 126}C${x - 13},${y + 116} ${x - 10},${y + 102} ${x},${y + 86}C${x + 10},${y + 102} ${x + 13},${y + 116} ${x},${y + 126}Z`,
      '#fffbe0',
    ),
    line(`M${x - 42},${y + 54}v82M${x + 42},${y + 54}v82`, '#57435a', 8),
    line(`M${x - 14},${y + 54}v82M${x + 14},${y + 54}v82`, '#57435a', 3, { opacity: 0.6 }),
    path(`M${x - 50},${y + 136}h100l-10,24h-80Z`, '#57435a'),
    line(`M${x - 50},${y + 138}h100`, '#a08a74', 4),
  ].join('')
}

function mara(sheet, glad) {
  const coat = sheet.between(180, 500, 520, 1080, '0 #ffdf73', '.5 #f9bd45', '1 #d6862f')
  const dark = '#b5652b'
  const { back, front } = maraHead(sheet, glad)
  const lift = glad ? -46 : 0
  const body = 'M340,482C276,486 232,506 212,566C190,690 160,900 138,1080H548C526,900 492,690 468,566C448,506 404,486 340,482Z'
  const inside = sheet.within(path(body, '#000'))
  const sleeve = `M450,566C500,620 530,670 552,${716 + lift * 0.6}C566,${700 + lift} 578,${664 + lift} 590,${634 + lift}`
  sheet.add(
    group(
      [
        // the hood lies behind the neck
        path(
          'M196,540C186,448 250,420 340,420C430,420 494,448 484,540C440,572 240,572 196,540Z',
          sheet.down('0 #c9782c', '1 #e89f38'),
        ),
        back,
        path(body, coat),
        group(
          [
            path('M470,560C480,700 520,940 548,1080H450C440,900 440,700 470,560Z', dark, { opacity: 0.35 }),
            path('M138,1080C160,900 190,690 212,566C222,720 210,920 206,1080Z', '#fff0b0', { opacity: 0.35 }),
            line('M344,520C350,700 350,900 348,1080', dark, 5),
            line('M352,520C358,700 358,900 356,1080', '#ffe9a3', 3, { opacity: 0.7 }),
            ...[610, 720, 830, 940].map((y) => circle(328, y, 13, '#8a4a2b') + circle(326, y - 3, 8, '#c98a52')),
            path('M206,850h92v20q-46,20 -92,0Z', '#e8a23c'),
            line('M206,850h92', dark, 5),
            path('M392,850h92v20q-46,20 -92,0Z', '#d08a33'),
            line('M392,850h92', dark, 5),
            line('M132,1040Q340,1070 552,1040', '#fff3c9', 10, { opacity: 0.7 }),
          ].join(''),
          { 'clip-path': inside },
        ),
        // the arm that hangs
        line('M236,572C196,650 182,730 186,806', sheet.between(0, 560, 0, 680, '0 #c97a2c00', '1 #c97a2c'), 82),
        line('M236,572C196,650 182,730 186,806', coat, 74),
        line('M150,808h72', dark, 8),
        circle(188, 836, 28, skin(sheet)),
        path('M164,838q4,34 26,32q24,-2 24,-32Z', skin(sheet)),
        // the arm that holds the lantern up
        line(sleeve, sheet.between(440, 560, 530, 650, '0 #b5702c00', '1 #b5702c'), 82),
        line(sleeve, sheet.between(440, 560, 600, 690, '0 #fac654', '.5 #f3b441', '1 #ffd766'), 74),
        line(`M560,${636 + lift}L622,${652 + lift}`, dark, 8),
        // the scarf
        path(
          'M340,560C300,556 262,540 250,506C252,480 268,470 284,464C300,490 380,490 396,464C414,470 430,480 432,506C420,540 380,556 340,560Z',
          sheet.down('0 #3f9a94', '1 #236a73'),
        ),
        path('M276,540C262,600 262,650 270,706L318,700C310,650 312,600 322,552Z', sheet.down('0 #2f847f', '1 #1f5f69')),
        line('M272,668L316,662M274,686L317,681', '#bfe6d8', 5),
        times(6, (index) => line(`M${272 + index * 9},704l${index - 2},18`, '#2f847f', 4)),
        line('M262,512Q340,556 420,510', '#7fcabb', 5, { opacity: 0.8 }),
        front,
      ].join(''),
    ),
    lantern(sheet, 596, 622 + lift, glad),
    circle(596, 618 + lift, 29, skin(sheet)),
    line(`M576,${612 + lift}q20,-10 40,0M576,${624 + lift}q20,-8 40,0`, '#d98f6d', 3),
  )
}

function keeper(sheet) {
  const navy = sheet.between(160, 440, 600, 1080, '0 #4f689a', '.45 #34477c', '1 #1d2752')
  const body = 'M370,446C292,450 204,472 182,560C160,700 140,900 128,1080H612C600,900 580,700 558,560C536,472 448,450 370,446Z'
  const inside = sheet.within(path(body, '#000'))
  const face = sheet.down('0 #f7d3b0', '1 #e0a07c')
  const beard = sheet.down('0 #d9d5dc', '.5 #f4f0ee', '1 #b9b3c4')
  const button = (x, y) => circle(x, y, 13, '#8a5f2c') + circle(x - 2, y - 2, 10, '#f0c268') + circle(x - 4, y - 5, 3, '#fff3c9')
  sheet.add(
    path(body, navy),
    group(
      [
        path('M558,560C580,700 600,900 612,1080H500C500,900 520,700 558,560Z', '#0f1536', { opacity: 0.45 }),
        path('M128,1080C140,900 160,700 182,560C200,700 190,930 186,1080Z', '#9db4e0', { opacity: 0.3 }),
        // the jersey, then the open collar over it
        path('M290,440H450L378,692H366Z', sheet.down('0 #e9dcc4', '1 #bfa98e')),
        ...[330, 352, 374, 396, 418].map((x) => line(`M${x},450L${370 + (x - 370) * 0.6},640`, '#a8917a', 4, { opacity: 0.6 })),
        path('M300,444L360,660L372,700L250,640L262,600L232,590L268,462Z', sheet.down('0 #42588c', '1 #2a3a6b')),
        path('M440,444L386,660L372,700L492,640L480,600L510,590L472,462Z', sheet.down('0 #38497b', '1 #222f5c')),
        line('M300,444L360,660L372,700M440,444L386,660', '#1a2450', 5),
        line('M372,700C378,820 378,960 376,1080', '#16204a', 5),
        line('M380,704C386,820 386,960 384,1080', '#6c84b8', 3, { opacity: 0.6 }),
      ].join(''),
      { 'clip-path': inside },
    ),
    ...[740, 840, 940].flatMap((y) => [button(318, y), button(436, y)]),
    // the suitcase in his hand
    line('M146,882C146,846 224,846 224,882', '#4a2a25', 11),
    box(64, 880, 240, 220, sheet.down('0 #a8693f', '1 #6d3f2f'), { rx: 14 }),
    box(64, 880, 240, 220, 'none', { rx: 14, stroke: '#542f28', 'stroke-width': 6 }),
    box(98, 880, 22, 220, '#d9a15c', { opacity: 0.75 }),
    box(248, 880, 22, 220, '#d9a15c', { opacity: 0.75 }),
    box(172, 900, 28, 22, '#f0c268', { rx: 3 }),
    // the arm that hangs, down to the handle
    line('M214,560C176,650 166,740 184,824', sheet.between(0, 540, 0, 690, '0 #16204a00', '1 #16204a'), 100),
    line('M214,560C176,650 166,740 184,824', sheet.between(150, 540, 240, 840, '0 #4f689a', '1 #2c3c70'), 92),
    line('M142,806L232,800', '#f0c268', 8),
    path('M156,826q-6,46 32,48q38,-2 34,-48Z', face),
    line('M166,856q22,10 46,0', '#b9785a', 4),
    // the arm that holds the letter
    polygon('396,604 520,586 534,672 410,692', '#fbf0d8'),
    line('M396,604L470,650L520,586', '#cdb389', 4),
    circle(468, 646, 14, '#c8415a'),
    circle(465, 643, 6, '#e87a86'),
    line(
      'M534,566C592,660 604,730 580,778C548,790 520,760 496,722',
      sheet.between(0, 550, 0, 690, '0 #131b4200', '1 #131b42'),
      98,
    ),
    line(
      'M534,566C592,660 604,730 580,778C548,790 520,760 496,722',
      sheet.between(480, 560, 600, 790, '0 #3f5487', '1 #27356a'),
      90,
    ),
    line('M462,742L530,694', '#f0c268', 8),
    path('M500,706C486,720 462,714 452,694C446,676 456,660 470,664L512,672C524,682 518,696 500,706Z', face),
    line('M458,684q14,6 26,2M466,670q14,4 24,2', '#b9785a', 4),
    // neck, head, beard, cap
    path('M300,430C296,470 330,486 370,488C410,486 444,470 440,430Z', sheet.down('0 #d8c8ae', '1 #f1e6d0')),
    line('M308,458Q370,498 432,458', '#a8917a', 4, { opacity: 0.7 }),
    path('M262,262C252,330 262,372 286,400H454C478,372 488,330 478,262Z', '#cfc9d2'),
    path('M272,250C264,350 300,420 370,424C440,420 476,350 468,250Z', face),
    ellipse(268, 308, 17, 26, face),
    ellipse(472, 308, 17, 26, face),
    ellipse(306, 338, 24, 14, '#e0755f', { opacity: 0.35 }),
    ellipse(434, 338, 24, 14, '#e0755f', { opacity: 0.35 }),
    path(
      'M266,318C262,420 296,494 370,506C444,494 478,420 474,318C466,352 440,366 412,360C396,350 344,350 328,360C300,366 274,352 266,318Z',
      beard,
    ),
    ...each('300,400,316,450 336,420,344,478 404,420,396,478 440,400,424,450 370,424,370,488', (x1, y1, x2, y2) =>
      line(`M${x1},${y1}Q${(x1 + x2) / 2 - 6},${(y1 + y2) / 2} ${x2},${y2}`, '#a9a2b6', 4, { opacity: 0.6 }),
    ),
    path('M370,354C348,340 316,350 304,378C330,382 352,380 370,370C388,380 410,382 436,378C424,350 392,340 370,354Z', '#ffffff'),
    line('M346,392Q370,404 394,392', '#8f5a52', 5),
    path('M370,300C352,320 346,340 356,348Q370,356 384,348C394,340 388,320 370,300Z', '#e6a582'),
    circle(325, 308, 8.5, '#2b2a44'),
    circle(415, 308, 8.5, '#2b2a44'),
    circle(328, 305, 3, '#ffffff'),
    circle(418, 305, 3, '#ffffff'),
    line('M296,306l-12,-6M296,314l-13,3M444,306l12,-6M444,314l13,3', '#b9785a', 3),
    line('M302,286Q324,270 348,284', '#f4f0ee', 12),
    line('M438,286Q416,270 392,284', '#f4f0ee', 12),
    path('M256,236C246,166 290,132 370,130C450,132 494,166 484,236Q370,204 256,236Z', sheet.down('0 #4a6196', '1 #26346a')),
    path('M254,262C252,236 256,226 262,220Q370,186 478,220C484,226 488,236 486,262Q370,222 254,262Z', '#1a2450'),
    line('M258,238Q370,200 482,238', '#f0c268', 5),
    path('M266,262Q370,214 474,262Q470,282 448,280Q370,246 292,280Q270,282 266,262Z', '#10173a'),
    line('M284,268Q370,232 456,268', '#5a70a8', 4, { opacity: 0.8 }),
    circle(370, 196, 22, '#f0c268'),
    path('M360,208l4,-22h12l4,22Z', '#26346a'),
    circle(370, 182, 5, '#26346a'),
    line('M296,166Q330,142 372,142', '#8fa6d4', 6, { opacity: 0.6 }),
  )
}

/** Beside the text box, where the engine cuts pictures to a half circle on the left. */
function avatar(sheet) {
  const inside = sheet.within(circle(212, 232, 176, '#000'))
  const { back, front } = maraHead(sheet, false)
  const bust = [
    path('M200,560C196,470 250,440 340,440C430,440 484,470 480,560Z', '#e89f38'),
    back,
    path('M150,700C160,560 230,490 340,486C450,490 520,560 530,700Z', '#f9bd45'),
    path(
      'M250,506C252,480 268,470 284,464C300,490 380,490 396,464C414,470 430,480 432,506C420,540 380,560 340,562C300,560 262,540 250,506Z',
      '#2f847f',
    ),
    front,
  ].join('')
  sheet.add(
    circle(212, 232, 184, '#f0c268'),
    circle(212, 232, 176, sheet.down('0 #35336e', '1 #b3627f')),
    group(group(bust, { transform: 'translate(-121 -116) scale(.98)' }), { 'clip-path': inside }),
  )
}

// ── sounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const rate = 11025

/** Samples for so many seconds; `at` gets the second and answers between -1 and 1. */
const sound = (seconds, at) => Float64Array.from({ length: Math.round(seconds * rate) }, (_, index) => at(index / rate))

/** Adds a sound into a loop from that second on; what runs over the end comes in again at its beginning. */
function lay(loop, piece, second, volume) {
  const start = Math.round(second * rate)
  for (const [index, sample] of piece.entries()) loop[(start + index) % loop.length] += sample * volume
}

/** Takes the sharpness off; `openness` (0 to 1) may change with time. Going round twice, a loop has no seam. */
function muffle(samples, openness) {
  let first = 0
  let second = 0
  const out = new Float64Array(samples.length)
  for (let index = 0; index < samples.length * 2; index++) {
    const at = index % samples.length
    const share = openness(at / rate)
    first += share * (samples[at] - first)
    second += share * (first - second)
    out[at] = second
  }
  return out
}

function noise(seconds, seed) {
  const roll = dice(seed)
  return sound(seconds, () => roll(-1, 1))
}

/** Breakers that come in slowly and run out with a hiss; `when` is the second at which each one falls. */
function sea(seconds, when, seed) {
  const swell = (second) =>
    when.reduce((sum, [fall, size]) => {
      const since = ((second - fall + seconds * 1.5) % seconds) - seconds / 2
      return sum + size * (since < 0 ? Math.exp(-((since / 1.3) ** 2)) : Math.exp(-since / 1.5))
    }, 0)
  const low = muffle(noise(seconds, seed), () => 0.05)
  const high = muffle(noise(seconds, seed + 1), (second) => 0.12 + 0.5 * Math.min(1, swell(second)))
  return low.map((deep, index) => deep * (1.1 + swell(index / rate)) + high[index] * 0.42 * (0.12 + swell(index / rate)))
}

/** A struck thing: partials as [ratio, volume, seconds it rings]. */
const struck = (pitch, seconds, partials) =>
  sound(
    seconds,
    (second) =>
      partials.reduce(
        (sum, [ratio, volume, ring]) => sum + volume * Math.sin(2 * Math.PI * pitch * ratio * second) * Math.exp(-second / ring),
        0,
      ) *
      Math.min(1, second * 400) *
      Math.min(1, (seconds - second) * 20),
  )

const pitchOf = (note) => 440 * 2 ** ((note - 69) / 12)
const musicBox = (note) =>
  struck(pitchOf(note), 2.2, [
    [1, 1, 0.55],
    [2, 0.28, 0.3],
    [3.01, 0.16, 0.16],
    [5.4, 0.1, 0.05],
  ])
const breath = (note, seconds) =>
  sound(seconds, (second) => {
    const shape = Math.sin(Math.PI * Math.min(1, second / seconds)) ** 0.7
    const turn = 2 * Math.PI * pitchOf(note) * second
    return shape * (Math.sin(turn) + 0.3 * Math.sin(2 * turn + 0.4) + 0.5 * Math.sin(turn * 1.004))
  })

/** A waltz of eight bars in D minor, for a music box over slow chords, with the sea behind it. */
function waltz() {
  const beat = 60 / 108
  const loop = sea(
    24 * beat,
    [
      [3, 0.7],
      [9.5, 0.8],
    ],
    90,
  ).map((sample) => sample * 0.16)
  const chords = [
    [50, 57, 65],
    [46, 53, 62],
    [41, 57, 60],
    [48, 55, 64],
    [50, 57, 65],
    [46, 58, 62],
    [43, 58, 62],
    [45, 57, 61],
  ]
  const melody = '0:74 2:77 3:81 5:79 6:77 8:76 9:72 11:74 12:77 14:81 15:82 16:81 17:79 18:77 20:74 21:73 22:76 23:81'
  for (const [bar, chord] of chords.entries()) {
    for (const note of chord) lay(loop, breath(note, beat * 3.6), (bar * 3 - 0.3 + 24) * beat, 0.035)
    lay(loop, musicBox(chord[0] + 12), bar * 3 * beat, 0.12)
    for (const step of [1, 2]) for (const note of chord.slice(1)) lay(loop, musicBox(note + 12), (bar * 3 + step) * beat, 0.06)
  }
  for (const [at, note] of melody.split(' ').map((step) => step.split(':').map(Number)))
    lay(loop, musicBox(note), at * beat, 0.26)
  return loop
}

const bell = () =>
  struck(392, 3.2, [
    [0.5, 0.5, 1.4],
    [1, 1, 1],
    [1.19, 0.6, 0.8],
    [1.5, 0.35, 0.6],
    [2, 0.5, 0.5],
    [2.74, 0.3, 0.25],
    [4.1, 0.2, 0.1],
  ])

function match() {
  const roll = dice(12)
  const hiss = muffle(noise(1.3, 8), (second) => (second < 0.3 ? 0.9 : 0.35))
  return hiss.map((sample, index) => {
    const second = index / rate
    const scratch = second < 0.22 ? 0.35 + 0.4 * Math.abs(Math.sin(second * 90)) : 0
    const flare = second > 0.2 ? Math.exp(-(second - 0.2) / 0.28) * Math.min(1, (second - 0.2) * 30) : 0
    const crackle = second > 0.25 && roll() < 0.004 ? 0.8 : 0
    return (sample * (scratch + flare * 1.4) + crackle * Math.exp(-second)) * Math.min(1, (1.3 - second) * 12)
  })
}

/** The Petrel's horn, three short calls. */
const horn = () =>
  sound(2.7, (second) => {
    const into = second % 0.9
    const shape = Math.min(1, into / 0.06) * Math.max(0, Math.min(1, (0.55 - into) / 0.12))
    return (
      shape *
      [1, 2, 3, 4, 5].reduce(
        (sum, part) =>
          sum +
          Math.sin(2 * Math.PI * 116 * part * second) / part ** 0.9 +
          (0.6 * Math.sin(2 * Math.PI * 146 * part * second)) / part,
        0,
      )
    )
  })

/** A WAV file of one channel in µ-law: eight bits a sample that keep quiet parts clean. Every browser plays it. */
function wav(samples) {
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  const data = Buffer.from(Array.from(samples, (sample) => muLaw((sample / loudest) * 0.86 * 32635)))
  const head = Buffer.alloc(58)
  head.write('RIFF', 0)
  head.writeUInt32LE(50 + data.length + (data.length % 2), 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(18, 16)
  head.writeUInt16LE(7, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('fact', 38)
  head.writeUInt32LE(4, 42)
  head.writeUInt32LE(samples.length, 46)
  head.write('data', 50)
  head.writeUInt32LE(data.length, 54)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

/** ITU-T G.711: sign, three bits of size, four of detail, all turned over. */
function muLaw(sample) {
  const size = Math.min(32635, Math.round(Math.abs(sample))) + 132
  const power = 31 - Math.clz32(size) - 7
  return ~((sample < 0 ? 128 : 0) | (power << 4) | ((size >> (power + 3)) & 15)) & 255
}

// ── what is made ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const pictures = {
  'background/cliff_dusk.webp': [wide, 0.84, (sheet) => cliff(sheet, dusk, 11)],
  'background/cliff_morning.webp': [wide, 0.84, (sheet) => cliff(sheet, morning, 11)],
  'background/study.webp': [wide, 0.84, study],
  'background/beach_night.webp': [wide, 0.84, beach],
  'background/lamp_dark.webp': [wide, 0.84, (sheet) => lampRoom(sheet, false)],
  'background/lamp_lit.webp': [wide, 0.8, (sheet) => lampRoom(sheet, true)],
  'background/sea_night.webp': [wide, 0.84, night],
  'figure/mara.webp': [tall, 0.84, (sheet) => mara(sheet, false)],
  'figure/mara_glad.webp': [tall, 0.84, (sheet) => mara(sheet, true)],
  'figure/keeper.webp': [tall, 0.88, keeper],
  'figure/ship.webp': [[1280, 720], 0.88, (sheet) => sheet.add(ship(sheet))],
  'figure/mini_mara.webp': [[450, 450], 0.86, avatar],
}

const sounds = {
  'bgm/waves.wav': () =>
    sea(
      12,
      [
        [2, 0.9],
        [7.6, 1],
      ],
      41,
    ),
  'bgm/waltz.wav': waltz,
  'vocal/bell.wav': bell,
  'vocal/match.wav': match,
  'vocal/horn.wav': horn,
}

/** In the page: draws an SVG on a canvas and gives it as WebP in base64. */
const rasterise = `async (svg, width, height, quality) => {
  const image = new Image()
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
  await image.decode()
  const canvas = Object.assign(document.createElement('canvas'), { width, height })
  canvas.getContext('2d').drawImage(image, 0, 0, width, height)
  return canvas.toDataURL('image/webp', quality).split(',')[1]
}`

/** A headless Chromium that is spoken to through two pipes: no port, no package. */
async function withPage(use) {
  const program = process.env.CHROMIUM ?? '/usr/bin/chromium'
  const profile = mkdtempSync(join(tmpdir(), 'handrail-art-'))
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--force-color-profile=srgb', '--remote-debugging-pipe']
  const child = spawn(program, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const waiting = new Map()
  const gone = new Promise((_, reject) => {
    child.once('error', () => reject(new Error(`No Chromium at ${program}: set CHROMIUM to one.`)))
    child.once('exit', () => reject(new Error('Chromium ended before the pictures were done.')))
  })
  gone.catch(() => {})
  child.stdio[3].on('error', () => {})
  let rest = ''
  child.stdio[4].setEncoding('utf8').on('data', (chunk) => {
    const messages = `${rest}${chunk}`.split('\0')
    rest = messages.pop()
    for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
      if (error) waiting.get(id)?.reject(new Error(error.message))
      else waiting.get(id)?.resolve(result)
    }
  })
  let count = 0
  const ask = (method, params, sessionId) => {
    const answer = new Promise((resolve, reject) => waiting.set(++count, { resolve, reject }))
    child.stdio[3].write(`${JSON.stringify({ id: count, method, params, sessionId })}\0`)
    return Promise.race([answer, gone])
  }
  try {
    const { targetId } = await ask('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true })
    await use(async (source, ...values) => {
      const expression = `(${source})(${values.map((value) => JSON.stringify(value)).join(',')})`
      const { result, exceptionDetails } = await ask(
        'Runtime.evaluate',
        { expression, awaitPromise: true, returnByValue: true },
        sessionId,
      )
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    })
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.pid !== undefined && child.kill()) await ended
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

function keep(name, bytes) {
  const file = join(game, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
  process.stdout.write(`${name} ${Math.round(statSync(file).size / 102.4) / 10} KB\n`)
}

const asked = process.argv.slice(2)
const wanted = (all) => Object.entries(all).filter(([name]) => !asked.length || asked.some((word) => name.includes(word)))

for (const [name, make] of wanted(sounds)) keep(name, wav(make()))
const drawAll = async (inPage) => {
  for (const [name, [size, quality, draw]] of wanted(pictures)) {
    const sheet = new Sheet(size)
    draw(sheet)
    keep(name, Buffer.from(await inPage(rasterise, String(sheet), ...size, quality), 'base64'))
  }
}
try {
  if (wanted(pictures).length) await withPage(drawAll)
} catch (cause) {
  process.stderr.write(`${cause.message}\n`)
  process.exitCode = 1
}

// What is printed: one row a measurement.
import { median, quantile } from './measure.mjs'

/**
 * A row from the values of each round. `ratio` is ours divided by the other; its quartiles over the rounds show the noise.
 * `target` is the most (for costs) or the least (for rates, `more: true`) the ratio may be; without one it is only shown.
 */
export function row({ part, what, unit, ours, other, against, target, more = false, note }) {
  const ratios = ours.length === other.length ? ours.map((value, index) => value / other[index]) : []
  const ratio = median(ours) / median(other)
  const spread = ratios.length > 2 ? [quantile(ratios, 0.25), quantile(ratios, 0.75)] : undefined
  const met = target === undefined || Number.isNaN(ratio) ? undefined : more ? ratio >= target : ratio <= target
  const close = spread !== undefined && target !== undefined && spread[0] <= target && target <= spread[1]
  return {
    part,
    what,
    unit,
    ours: median(ours),
    other: median(other),
    against,
    ratio,
    spread,
    target,
    more,
    met,
    close,
    rounds: ours.length,
    note,
  }
}

/** A row for what could not be measured, or has nothing to be compared with. */
export function plain({ part, what, unit = '', ours = Number.NaN, other = Number.NaN, against = '', rounds = 0, note }) {
  return { part, what, unit, ours, other, against, ratio: Number.NaN, rounds, note }
}

const head = ['what', 'ours', 'other', 'against', 'ratio', '(quartiles)', 'target', 'met', 'rounds']

export function table(rows) {
  const cells = [head, ...rows.map(toCells)]
  const widths = head.map((_, index) => Math.max(...cells.map((line) => line[index].length)))
  const lines = cells.map((line) =>
    line
      .map((cell, index) => (index === 0 || index === 3 ? cell.padEnd(widths[index]) : cell.padStart(widths[index])))
      .join('  '),
  )
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  const notes = rows.filter((one) => one.note).map((one) => `  ${one.what}: ${one.note}`)
  return [lines[0], rule, ...lines.slice(1), ...(notes.length ? ['', ...notes] : [])].join('\n')
}

function toCells(one) {
  return [
    one.what,
    show(one.ours, one.unit),
    show(one.other, one.unit),
    one.against,
    times(one.ratio),
    one.spread ? `(${one.spread.map((value) => digits(value)).join('–')})` : '',
    one.target === undefined ? '–' : `${one.more ? '≥' : '≤'} ${times(one.target)}`,
    one.met === undefined ? '–' : `${one.met ? 'yes' : 'NO'}${one.close ? ' (close)' : ''}`,
    one.rounds ? String(one.rounds) : '',
  ]
}

const show = (value, unit) => (Number.isNaN(value) ? '–' : `${digits(value)} ${unit}`)
const times = (value) => (Number.isNaN(value) ? '–' : `${digits(value)}×`)

function digits(value) {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3)
}

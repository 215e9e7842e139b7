// Numbers: rounds, medians, processor time and memory of a process.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'

/** Runs every contestant once a round, in turning order, so that what disturbs the machine disturbs them alike. */
export async function interleave(rounds, contestants) {
  const names = Object.keys(contestants)
  const found = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const name of round % 2 ? names.toReversed() : names) found[name].push(await contestants[name](round))
  return found
}

export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const low = sorted[Math.floor(at)]
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at))
}

export const median = (values) => quantile(values, 0.5)
export const sum = (values) => values.reduce((total, value) => total + value, 0)

/** Milliseconds an act takes. */
export async function timed(act) {
  const since = performance.now()
  await act()
  return performance.now() - since
}

/** The median of several runs of the same act, one after the other. */
export async function medianOf(count, act) {
  const times = []
  for (let index = 0; index < count; index++) times.push(await timed(() => act(index)))
  return median(times)
}

/** Rounds of one measurement for every client, with the processor time that each of `count` calls cost its server. */
export async function withCpu(rounds, clients, count, act) {
  const cpu = Object.fromEntries(Object.keys(clients).map((name) => [name, []]))
  const once = (name) => async () => {
    const before = cpuMs(clients[name].pid)
    const value = await act(name)
    cpu[name].push((cpuMs(clients[name].pid) - before) / count)
    return value
  }
  const found = await interleave(rounds, Object.fromEntries(Object.keys(clients).map((name) => [name, once(name)])))
  return { found, cpu }
}

/** Processor time of a process with all its threads, in milliseconds, to the nanosecond. Linux only. */
export function cpuMs(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return sum(threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))) / 1e6
  } catch {
    return ticksMs(pid)
  }
}

/** The same to the nearest tick, for systems without scheduler statistics. */
function ticksMs(pid) {
  try {
    const tick = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return (
      sum(
        stat
          .slice(stat.lastIndexOf(')') + 2)
          .split(' ')
          .slice(11, 13)
          .map(Number),
      ) * tick
    )
  } catch {
    return Number.NaN
  }
}

/** Resident memory, and the share of it that counts when pages shared with other processes are divided. Linux only. */
export function memoryMb(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1024
    return { rss: field('Rss'), pss: field('Pss') }
  } catch {
    return { rss: Number.NaN, pss: Number.NaN }
  }
}

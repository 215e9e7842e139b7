import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { backBy, openPriority } from './priority.ts'

test('as many as there are processors keep their share, more step back together', () => {
  expect([1, 2, 3, 4, 8, 16, 1_000].map((programs) => backBy(programs, 2))).toEqual([0, 0, 2, 3, 6, 9, 10])
})

test.skipIf(process.platform !== 'linux')('many programs step back, in their session too, and one alone does not', async () => {
  const child = spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'ignore' })
  const pid = child.pid as number
  const before = getPriority()
  const programs = [openPriority(1)]
  try {
    expect(programs[0]?.apply([pid])).toBe(true)
    expect(getPriority(pid)).toBe(before)
    for (let more = 1; more < 4; more++) programs.push(openPriority(1))
    // The system may have been asked by others a moment ago.
    while (!programs[0]?.apply([pid])) await pause(20)
    const nice = Math.min(19, before + backBy(4, 1))
    expect(getPriority(pid)).toBe(nice)
    if (existsSync(`/proc/${pid}/autogroup`)) expect(readFileSync(`/proc/${pid}/autogroup`, 'latin1')).toContain(`nice ${nice}`)
    // One that has ended is nobody's trouble, and those that are over do not count.
    expect(programs[0]?.apply([4_194_304])).toBe(true)
    for (const one of programs.splice(0)) one.close()
    programs.push(openPriority(1))
    const other = spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'ignore' })
    programs[0]?.apply([other.pid as number])
    expect(getPriority(other.pid)).toBe(before)
    other.kill('SIGKILL')
  } finally {
    for (const one of programs) one.close()
    child.kill('SIGKILL')
  }
})

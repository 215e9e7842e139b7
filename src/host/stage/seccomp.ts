import { denied, deniedWith, newestCall, type ArgumentTest, type SyscallResult } from './syscalls.ts'

/** Words of the kernel's filter machine. */
const load = 0x20
const jumpIfEqual = 0x15
const jumpIfAbove = 0x25
const jumpUnlessBelow = 0x35
const jumpIfAny = 0x45
const jump = 0x05
const answer = 0x06

const allow = 0x7fff_0000
const kill = 0x8000_0000
const refuse = 0x0005_0000
const codes: Record<SyscallResult, number> = { done: 0, EPERM: 1, EINVAL: 22, ENOSYS: 38, EAFNOSUPPORT: 97 }

/** Which machine a call was made for is the kernel's word, and part of each call: a 64-bit machine also answers as a 32-bit one. */
const machines = { x64: { column: 0, word: 0xc000_003e }, arm64: { column: 1, word: 0xc000_00b7 } } as const

type Step = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number]

/**
 * The filter every program on a stage runs under, as the kernel takes it; nothing where the numbers of this machine are not known.
 * Who calls in another machine's name (32 bits) is ended, so that no call has two numbers; those of x32, and whatever is newer
 * than what we have judged, are not there.
 */
export function filterFor(machine: string): Buffer | undefined {
  if (!(machine in machines)) return undefined
  const { column, word } = machines[machine as keyof typeof machines]
  return Buffer.concat(
    [
      [load, 4] as const,
      [jumpIfEqual, word, 1, 0] as const,
      [answer, kill] as const,
      [load, 0] as const,
      [jumpIfAbove, newestCall, 0, 1] as const,
      [answer, refuse | codes.ENOSYS] as const,
      ...search([...refusals(column)].sort(([a], [b]) => a - b)),
    ].map(bytesOf),
  )
}

/** What is done about each call that is not simply allowed. */
function refusals(column: 0 | 1): Map<number, Step[]> {
  const found = new Map<number, Step[]>()
  const add = (numbers: readonly (number | null)[], steps: readonly Step[]): void => {
    const number = numbers[column] ?? null
    if (number !== null) found.set(number, [...(found.get(number) ?? []), ...steps])
  }
  for (const { how, calls } of denied) for (const numbers of Object.values(calls)) add(numbers, [[answer, refuse | codes[how]]])
  // What was loaded to be asked about is put back.
  for (const { how, calls, when } of deniedWith)
    for (const numbers of Object.values(calls)) add(numbers, [...conditions(when), [answer, refuse | codes[how]], [load, 0]])
  return found
}

/** By halves: the kernel walks through this for every call there is when a program starts. */
function search(calls: readonly (readonly [number, Step[]])[]): Step[] {
  if (calls.length <= 2)
    return [...calls.flatMap(([number, steps]): Step[] => [[jumpIfEqual, number, 0, steps.length], ...steps]), [answer, allow]]
  const middle = Math.floor(calls.length / 2)
  const [lower, upper] = [search(calls.slice(0, middle)), search(calls.slice(middle))]
  return [[jumpUnlessBelow, calls[middle]?.[0] ?? 0, 0, 1], [jump, lower.length], ...lower, ...upper]
}

/** Falls through to what follows where all of them hold, else leads to the step after that. */
function conditions([question, ...more]: readonly ArgumentTest[]): Step[] {
  if (!question) return []
  const after = conditions(more)
  // Past what comes later, and past the answer.
  const away = after.length + 1
  return [...condition(question, away), ...after]
}

function condition(question: ArgumentTest, away: number): Step[] {
  const low = 16 + 8 * question.argument
  if ('has' in question)
    return [
      [load, low],
      [jumpIfAny, question.has, 0, away],
    ]
  if ('lacks' in question)
    return [
      [load, low],
      [jumpIfAny, question.lacks, away, 0],
    ]
  if ('above' in question)
    return [
      [load, low + 4],
      [jumpIfAbove, 0, 2, 0],
      [load, low],
      [jumpIfAbove, question.above, 0, away],
    ]
  const values = 'is' in question ? question.is : question.isNot
  const checks = values.map((value, index): Step => {
    const rest = values.length - 1 - index
    if ('isNot' in question) return [jumpIfEqual, value, rest + away, 0]
    return [jumpIfEqual, value, rest, rest === 0 ? away : 0]
  })
  return [[load, low], ...checks]
}

function bytesOf([code, value, ifTrue = 0, ifFalse = 0]: Step): Buffer {
  const step = Buffer.alloc(8)
  step.writeUInt16LE(code, 0)
  step.writeUInt8(ifTrue, 2)
  step.writeUInt8(ifFalse, 3)
  step.writeUInt32LE(value >>> 0, 4)
  return step
}

import { Fault } from '../contracts/faults/fault.ts'
import { openWorkerPool } from './worker-pool.ts'

type Job =
  | { kind: 'find'; source: string; flags: string; texts: string[]; most: number }
  | { kind: 'replace'; source: string; flags: string; text: string; by: string; most: number }

type Answer = { lines: number[][] } | { text: string; count: number } | { invalid: string } | { tooLarge: true }

/** Who asks for a pattern to be tried, and for how long at most. */
export interface RegexCall {
  client: string
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/**
 * Runs JavaScript patterns in a few threads, each of which is ended when its pattern takes too long: no pattern can hang the process,
 * and no client's patterns keep those of others waiting.
 */
export interface RegexEngine {
  /** For each text, the numbers of the lines that match. */
  find(pattern: Pattern, texts: string[], most: number, call: RegexCall): Promise<number[][]>
  /** A text of more than `most` characters is refused before it comes back. */
  replace(pattern: Pattern, text: string, by: string, most: number, call: RegexCall): Promise<{ text: string; count: number }>
  close(): void
}

interface Pattern {
  source: string
  flags: string
}

/** The thread's whole program; it must not refer to anything outside itself. */
function program(): void {
  const { parentPort } = process.getBuiltinModule('node:worker_threads')
  parentPort?.on('message', (job: Job) => {
    let pattern: RegExp
    try {
      pattern = new RegExp(job.source, job.flags)
    } catch (cause) {
      parentPort.postMessage({ invalid: (cause as Error).message } satisfies Answer)
      return
    }
    if (job.kind === 'replace') {
      const { text, by } = job
      let count = 0
      let size = text.length
      // Measured before it is made: a replacement of gigabytes ends the whole process, not only this thread.
      // What `replace` puts in the place of each sign: GetSubstitution in the language's specification.
      const signs = [...by.matchAll(/\$(?:[$&`']|\d\d?|<[^>]*>)/g)].map(([sign]) => sign)
      const rest = by.length - signs.reduce((sum, sign) => sum + sign.length, 0)
      const grow = (match: RegExpExecArray): void => {
        const [whole] = match
        count++
        size += rest - whole.length
        for (const sign of signs) {
          const kind = sign[1] as string
          if (kind === '$') size += 1
          else if (kind === '&') size += whole.length
          else if (kind === '`') size += match.index
          else if (kind === "'") size += text.length - match.index - whole.length
          else if (kind === '<') size += match.groups ? (match.groups[sign.slice(2, -1)]?.length ?? 0) : sign.length
          else {
            const named = match[Number(sign.slice(1))] ?? match[Number(kind)]
            size += named === undefined ? sign.length : named.length + 1
          }
          if (size > job.most) return
        }
      }
      pattern.lastIndex = 0
      if (pattern.global) {
        for (const match of text.matchAll(pattern)) {
          grow(match as RegExpExecArray)
          if (size > job.most) break
        }
      } else {
        const match = pattern.exec(text)
        if (match) grow(match)
      }
      if (size > job.most) return parentPort.postMessage({ tooLarge: true } satisfies Answer)
      pattern.lastIndex = 0
      parentPort.postMessage({ text: count ? text.replace(pattern, by) : text, count } satisfies Answer)
      return
    }
    let left = job.most
    const lines = job.texts.map((text) => {
      const found: number[] = []
      // What comes after the last newline is a line only if there is something.
      for (let at = 0, number = 1; at < text.length && left > 0; number++) {
        const newline = text.indexOf('\n', at)
        const end = newline < 0 ? text.length : newline
        const line = text.slice(at, end > at && text[end - 1] === '\r' ? end - 1 : end)
        pattern.lastIndex = 0
        if (pattern.test(line)) {
          found.push(number)
          left--
        }
        at = end + 1
      }
      return found
    })
    parentPort.postMessage({ lines } satisfies Answer)
  })
}

export function openRegexEngine(): RegexEngine {
  const pool = openWorkerPool<Job, Answer>(`(${program.toString()})()`, { memoryMb: 256 })
  const ask = (job: Job, { client, timeoutMs, signal }: RegexCall): Promise<Answer> =>
    pool.run({
      job,
      client,
      timeoutMs,
      signal,
      late: () =>
        new Fault('timeout', `The pattern took longer than ${timeoutMs} ms`, {
          details: { timeoutMs },
          hint: 'Avoid nested repetition such as (a+)+, or use literal text.',
        }),
      broken(cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return cause
        return job.kind === 'replace' ? tooMuch() : tooMuchText()
      },
    })
  return {
    async find({ source, flags }, texts, most, call) {
      const answer = await ask({ kind: 'find', source, flags, texts, most }, call)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      return (answer as { lines: number[][] }).lines
    },
    async replace({ source, flags }, text, by, most, call) {
      const answer = await ask({ kind: 'replace', source, flags, text, by, most }, call)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      if ('tooLarge' in answer) throw tooMuch()
      return answer as { text: string; count: number }
    },
    close: pool.close,
  }
}

function tooMuchText(): Fault {
  return new Fault('too-large', 'The pattern needs more memory than it gets', {
    hint: 'Use a simpler pattern, or search less at once.',
  })
}

function tooMuch(): Fault {
  return new Fault('too-large', 'The replacement would grow the file beyond what memory allows', {
    hint: 'Replace less at once.',
  })
}

function invalid(source: string, why: string): Fault {
  return new Fault('bad-input', `Not a valid regular expression: ${why.slice(0, 300)}`, {
    details: { regex: source.slice(0, 200) },
    hint: 'Escape special characters with a backslash, or use literal text.',
  })
}

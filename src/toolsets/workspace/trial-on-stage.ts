export interface TrialJob {
  file: string
  exportName: string
  maxEvents: number
}

export interface TrialAnswer {
  status: 'pass' | 'threw' | 'import-failed' | 'no-export' | 'ended'
  value?: unknown
  error?: { name: string; message: string }
  exports: string[]
  events: Record<string, unknown>[]
  dropped: number
}

/**
 * The program of a trial: imports, calls, and says what happened, in bounds. It must not refer to anything outside itself, nor import: bundlers
 * would make something else of that.
 */
export async function trialOnStage(job: TrialJob, load: (address: string) => Promise<unknown>): Promise<void> {
  const { writeSync } = process.getBuiltinModule('node:fs')
  const { pathToFileURL } = process.getBuiltinModule('node:url')
  const { inspect } = process.getBuiltinModule('node:util')
  const events: Record<string, unknown>[] = []
  let dropped = 0
  const note = (event: Record<string, unknown>): void => {
    if (events.length < job.maxEvents) events.push({ seq: events.length, ...event })
    else dropped++
  }
  const named = (error: unknown): { name: string; message: string } =>
    error instanceof Error
      ? { name: error.name, message: error.message.slice(0, 2_048) }
      : { name: 'Thrown', message: inspect(error).slice(0, 2_048) }
  for (const [stream, name] of [
    [process.stdout, 'stdout'],
    [process.stderr, 'stderr'],
  ] as const)
    stream.write = ((piece: string | Uint8Array) => {
      note({ type: 'output', stream: name, text: String(piece).slice(0, 2_048) })
      return true
    }) as typeof stream.write
  const asJson = (value: unknown): unknown => {
    try {
      const text = JSON.stringify(value)
      if (text !== undefined && text.length <= 524_288) return JSON.parse(text) as unknown
    } catch {
      // Circles, numbers beyond JSON.
    }
    return { _tag: typeof value === 'undefined' ? 'undefined' : 'described', text: inspect(value, { depth: 2 }).slice(0, 2_048) }
  }
  const end = (answer: Omit<TrialAnswer, 'events' | 'dropped'>): void => {
    writeSync(1, `\n${JSON.stringify({ ...answer, events, dropped })}`)
    process.exit(0)
  }
  process.on('uncaughtException', (error) => note({ type: 'uncaught', ...named(error) }))
  process.on('unhandledRejection', (error) => note({ type: 'unhandled', ...named(error) }))
  let module: Record<string, unknown>
  try {
    module = (await load(pathToFileURL(job.file).href)) as Record<string, unknown>
  } catch (error) {
    return end({ status: 'import-failed', error: named(error), exports: [] })
  }
  const exports = Object.keys(module).sort()
  if (!exports.includes(job.exportName)) return end({ status: 'no-export', exports })
  note({ type: 'imported', exports: exports.length })
  try {
    const wanted = module[job.exportName]
    const value: unknown = typeof wanted === 'function' ? await (wanted as () => unknown)() : await wanted
    note({ type: 'answered' })
    return end({ status: 'pass', value: asJson(value), exports })
  } catch (error) {
    note({ type: 'threw', ...named(error) })
    return end({ status: 'threw', error: named(error), exports })
  }
}

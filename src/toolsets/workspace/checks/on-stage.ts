/** One way to make a check: a tool of the project's packages, Node's own test runner, or a script of package.json. */
export interface Attempt {
  tool: string
  /** The package that brings it and its command; neither: Node itself, or `shell`. */
  package?: string
  bin?: string
  /** A line for sh, as package.json has it. */
  shell?: string
  /** Each a run of its own. `{out}` stands for the file that its report goes to, `{reporter}` for our reporter of `node --test`. */
  runs: string[][]
}

export interface StageJob {
  attempts: Attempt[]
  /** Where packages are looked for, from the inside out, ending with the project. */
  folders: string[]
  mostTextBytes: number
  mostItems: number
}

export interface StageRun {
  code: number | null
  /** What it printed, both streams. */
  text: string
  /** The report, cut down to what failed. */
  report?: unknown
  /** Of a report that was cut: how many are left out. */
  dropped: number
}

export interface StageAnswer {
  tool: string
  version?: string
  runs: StageRun[]
}

/**
 * The program that stands between us and a check on its stage: it finds the tool among the project's packages, runs it, and says what came of it
 * in bounds, since a report may hold every file of a project. It must not refer to anything outside itself. It is told nothing that the
 * project may not know, and nothing it says is believed without being looked at.
 */
export function onStage(job: StageJob): void {
  const fs = process.getBuiltinModule('node:fs')
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { join } = process.getBuiltinModule('node:path')
  type Json = Record<string, unknown>
  const cut = (value: unknown, most: number): string => String(value ?? '').slice(0, most)
  const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
  let left = job.mostItems
  let dropped = 0
  const take = (items: Json[]): Json[] => {
    const taken = items.slice(0, Math.max(0, left))
    left -= taken.length
    dropped += items.length - taken.length
    return taken
  }
  const failures = (report: Json): Json => ({
    testResults: list(report['testResults']).flatMap((suite) => {
      const asserted = list(suite['assertionResults'])
      const failed = asserted.filter((one) => one['status'] === 'failed')
      if (failed.length === 0 && suite['status'] !== 'failed') return []
      return [
        {
          name: suite['name'],
          status: suite['status'],
          message: failed.length > 0 ? '' : cut(suite['message'], 6_000),
          assertionResults: take(failed).map((one) => ({
            fullName: cut(one['fullName'], 1_000),
            status: 'failed',
            location: one['location'],
            failureMessages: list(one['failureMessages'])
              .slice(0, 1)
              .map((text) => cut(text, 6_000)),
          })),
        },
      ]
    }),
  })
  const slim = (tool: string, text: string): unknown => {
    if (tool === 'node')
      return take(
        text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Json),
      )
    const start = text.search(/^[[{]/m)
    const report = JSON.parse(start > 0 ? text.slice(start) : text) as Json
    if (tool === 'eslint')
      return list(report)
        .filter((file) => list(file['messages']).length > 0)
        .map((file) => ({
          filePath: file['filePath'],
          messages: take(list(file['messages'])).map((one) => ({
            ruleId: one['ruleId'],
            severity: one['severity'],
            message: cut(one['message'], 2_048),
            line: one['line'],
            column: one['column'],
            fatal: one['fatal'],
          })),
        }))
    if (tool === 'oxlint' || tool === 'biome')
      return {
        diagnostics: take(list(report['diagnostics'])).map((one) => ({
          severity: one['severity'],
          code: one['code'],
          category: one['category'],
          message: cut(one['message'], 2_048),
          filename: one['filename'],
          labels: list(one['labels']).slice(0, 1),
          location: one['location'] && {
            path: (one['location'] as Json)['path'],
            start: (one['location'] as Json)['start'],
          },
        })),
      }
    if (tool === 'mocha')
      return {
        failures: take(list(report['failures'])).map((one) => ({
          fullTitle: cut(one['fullTitle'], 1_000),
          file: one['file'],
          err: { message: cut((one['err'] as Json)?.['message'], 2_048), stack: cut((one['err'] as Json)?.['stack'], 6_000) },
        })),
      }
    return failures(report)
  }
  const reporter = `import { Transform } from 'node:stream'
export default new Transform({
  writableObjectMode: true,
  transform(event, _, done) {
    const { name, file, line, column, details } = event.data ?? {}
    const error = details?.error
    if (event.type !== 'test:fail' || error?.failureType === 'subtestsFailed') return done()
    const cause = error?.cause
    const text = (value) => String(value ?? '').slice(0, 6000)
    done(null, JSON.stringify({ name: text(name), file, line, column, message: text(cause?.message ?? cause ?? error?.message), stack: text(cause?.stack) }) + '\\n')
  },
})
`
  const found = (attempt: Attempt): { file: string; version: string } | undefined => {
    for (const folder of job.folders) {
      const at = join(folder, 'node_modules', attempt.package as string)
      try {
        const manifest = JSON.parse(fs.readFileSync(join(at, 'package.json'), 'utf8')) as Json
        const bin = manifest['bin']
        const file = typeof bin === 'string' ? bin : (bin as Record<string, string> | undefined)?.[attempt.bin as string]
        if (file !== undefined) return { file: join(at, file), version: String(manifest['version']) }
      } catch {
        continue
      }
    }
    return undefined
  }
  const answer = (value: unknown): void => fs.writeSync(1, JSON.stringify(value)) as unknown as void
  const runs: StageRun[] = []
  for (const attempt of job.attempts) {
    const installed = attempt.package === undefined ? undefined : found(attempt)
    if (attempt.package !== undefined && !installed) continue
    attempt.runs.forEach((args, index) => {
      const [out, log, told] = ['out', 'log', 'reporter.mjs'].map((name) => `/tmp/handrail-check-${index}-${name}`) as [
        string,
        string,
        string,
      ]
      if (attempt.tool === 'node') fs.writeFileSync(told, reporter)
      const words = args.map((word) => word.replace('{out}', out).replace('{reporter}', told))
      const fd = fs.openSync(log, 'w+')
      const [command, given] =
        attempt.shell === undefined
          ? [process.execPath, installed ? [installed.file, ...words] : words]
          : ['/bin/sh', ['-c', attempt.shell]]
      const stdout = attempt.tool === 'oxlint' ? fs.openSync(out, 'w') : fd
      const ended = spawnSync(command, given, { stdio: ['ignore', stdout, fd] })
      const size = fs.fstatSync(fd).size
      const bytes = Buffer.alloc(Math.min(size, job.mostTextBytes))
      fs.readSync(fd, bytes, 0, bytes.length, 0)
      const run: StageRun = { code: ended.status, text: bytes.toString('utf8'), dropped: 0 }
      if (attempt.shell === undefined && attempt.tool !== 'tsc')
        try {
          run.report = slim(attempt.tool, fs.readFileSync(out, 'utf8'))
        } catch {
          // No report: what it printed says why.
          if (attempt.tool === 'oxlint' && fs.existsSync(out)) run.text += fs.readFileSync(out, 'utf8').slice(0, 4_096)
        }
      run.dropped = dropped
      dropped = 0
      runs.push(run)
    })
    return answer({ tool: attempt.tool, version: installed?.version, runs })
  }
  return answer({ tool: '', runs: [] })
}

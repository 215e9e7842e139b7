import type { AnchorIndex, PatchPlan, PatchPreview, WriteBackResult } from '../../../contracts/anchors.ts'
import { checkNames, type CheckResult, type Diagnostic } from '../../../contracts/diagnostic.ts'
import { exits, wordExits } from '../../../contracts/faults/cli-plane.ts'
import { parseJson } from '../../../text/json.ts'
import { compareArtifacts, checkArtifacts, readArtifacts, type Read } from './artifact-folders.ts'
import type { Made } from './artifacts.ts'
import { globalOptions, planeCommands, type PlaneWords } from './options.ts'
import { PlaneFault } from './plane-fault.ts'

/** What a command is given to work with. */
export interface Work {
  values: PlaneWords['values']
  words: readonly string[]
  runId: string
  mode: 'report' | 'write'
  /** A tool, on the road. */
  call<T>(tool: string, input: object): Promise<T>
  /** A text of the project's. */
  read(path: string): Promise<string>
  stdin: (() => Promise<string>) | undefined
  /** For `describe`: what was typed, what the settings put before it, and which of them. */
  layers: { argv: readonly string[]; prefix: readonly string[]; layers: readonly string[] }
  version: string
}

/** What it made, also where it failed. */
export interface Outcome {
  made: Made[]
  fault?: PlaneFault
}

export const runners: Readonly<Record<string, (work: Work) => Promise<Outcome>>> = {
  describe: async ({ layers, version }) => ({
    made: [
      {
        outputKey: 'describeReport',
        kind: 'DescribeReport',
        value: {
          schemaVersion: 1,
          kind: 'DescribeReport',
          version,
          protocols: { commandResult: 'CommandResult@v1', devserver: 'intent-flow.devserver.v1' },
          globalOptions: optionsOf(globalOptions),
          commands: planeCommands.map(({ name, category, summary, options, required = [], outputs }) => ({
            name,
            category,
            summary,
            options: optionsOf(options, required),
            outputs: Object.entries(outputs).map(([outputKey, file]) => ({ outputKey, file })),
          })),
          exitCodes: { 0: 'success', 1: 'it could not be done', 2: 'a mistake of the caller, or a gate that said no' },
          codes: { ...exits, ...wordExits },
          config: {
            found: layers.layers.length > 0,
            layers: layers.layers,
            argv: layers.argv,
            argvWithConfig: [...layers.prefix, ...layers.argv],
          },
        },
      },
    ],
  }),

  async check({ values, call }) {
    const checks = listOf(values['checks']) ?? [...checkNames]
    const { results } = await call<{ results: CheckResult[] }>('run_checks', {
      checks,
      ...(values['repoRoot'] !== undefined && { cwd: values['repoRoot'] }),
      ...(values['timeout'] !== undefined && { timeoutMs: values['timeout'] }),
    })
    // No times in it: the same project gives the same bytes.
    const plain = results.map(({ check, ok, exitCode, diagnostics, tool, command }) => ({
      check,
      ok,
      exitCode,
      diagnostics,
      tool,
      command,
    }))
    const isSet = (one: CheckResult): boolean => one.exitCode !== 127
    const failed = results.filter((one) => isSet(one) && !one.ok)
    const warned = results.some((one) => !isSet(one) || one.diagnostics.some(({ severity }) => severity === 'warning'))
    const verdict = failed.length > 0 ? 'FAIL' : warned ? 'WARN' : 'PASS'
    const passes = verdict === 'PASS' || (verdict === 'WARN' && values['allowWarn'] === true)
    const diagnostics = results.flatMap((one) => one.diagnostics)
    return {
      made: [
        {
          outputKey: 'verdict',
          kind: 'CheckVerdict',
          value: { schemaVersion: 1, kind: 'CheckVerdict', verdict, results: plain },
          reasonCodes: [`CHECK_${verdict}`],
        },
        {
          outputKey: 'contextPack',
          kind: 'ContextPack',
          value: {
            schemaVersion: 1,
            kind: 'ContextPack',
            checks: plain.map(({ check, ok, tool, command, diagnostics: found }) => ({
              check,
              ok,
              tool,
              command,
              found: countOf(found),
            })),
            files: [...new Set(diagnostics.flatMap(({ pointer }) => pointer?.file ?? []))].toSorted().slice(0, 50),
          },
        },
        diagnosticsOf(diagnostics),
      ],
      ...(!passes && {
        fault: new PlaneFault(
          'CLI_VIOLATION_CHECK',
          `${verdict}: ${(failed.length ? failed : results.filter((one) => !one.ok)).map(({ check }) => check).join(', ') || 'warnings'}`,
          'cliDiagnostics says what to run.',
        ),
      }),
    }
  },

  async 'anchor.index'({ values, call }) {
    const index = await call<AnchorIndex>('anchor_index', factoriesIn(values))
    return { made: [{ outputKey: 'anchorIndex', kind: 'AnchorIndex', value: index }] }
  },

  async 'anchor.autofill'(work) {
    const planned = await work.call<{ plan: PatchPlan; preview: PatchPreview; changes: Change[] }>(
      'plan_autofill',
      factoriesIn(work.values),
    )
    const { written, fault } = await carryOut(work, planned.plan, 'CLI_VIOLATION_ANCHOR_AUTOFILL')
    const decisions = planned.changes.flatMap((one) => one.decisions)
    const counts = new Map<string, number>()
    for (const { reason } of decisions) if (reason) counts.set(reason.code, (counts.get(reason.code) ?? 0) + 1)
    const report = {
      schemaVersion: 1,
      kind: 'AutofillReport',
      mode: work.mode,
      runId: work.runId,
      ok: work.mode === 'report' || fault === undefined,
      summary: {
        filesTouched: new Set(planned.plan.operations.filter((op) => op.decision === 'write').map((op) => op.file)).size,
        modulesWritten: planned.changes.filter((one) => one.decisions.some(({ status }) => status === 'written')).length,
        modulesSkipped: planned.changes.filter((one) => one.decisions.every(({ status }) => status === 'skipped')).length,
        reasons: [...counts].map(([code, count]) => ({ code, count })).toSorted((a, b) => (a.code < b.code ? -1 : 1)),
      },
      changes: planned.changes,
    }
    const code = work.mode === 'report' ? 'AUTOFILL_REPORT_ONLY' : fault ? 'AUTOFILL_WRITE_FAILED' : 'AUTOFILL_WRITE_APPLIED'
    return {
      made: [
        ...planArtifacts(work, planned),
        { outputKey: 'autofillReport', kind: 'AutofillReport', value: report, reasonCodes: [code] },
        ...written,
      ],
      ...(fault && { fault }),
    }
  },

  async transform(work) {
    const { values, words, stdin, read } = work
    if (words.length > 1 || (words.length === 1 && words[0] !== 'module'))
      throw new PlaneFault('CLI_INVALID_COMMAND', `transform takes no ${words.join(' ').slice(0, 60)}`)
    const from = String(values['ops'])
    if (from === '-' && !stdin)
      throw new PlaneFault(
        'CLI_INVALID_ARGUMENT',
        '--ops - reads standard input, which there is none of here',
        'Name a file of the project.',
      )
    const text = from === '-' && stdin ? await stdin() : await read(from)
    const deltas = jsonIn(text, from)
    const planned = await work.call<{ plan: PatchPlan; preview: PatchPreview; ops: { status: string; opKey?: string }[] }>(
      'plan_transform',
      {
        deltas: Array.isArray(deltas) ? deltas : [deltas],
        ...factoriesIn(values, false),
      },
    )
    const { written, fault, result } = await carryOut(work, planned.plan, 'CLI_VIOLATION_TRANSFORM_WRITEBACK')
    const failed = new Set(result?.failed.map(({ opKey }) => opKey))
    const ops = planned.ops.map((op) =>
      result && op.status === 'planned' && !failed.has(op.opKey ?? '') ? { ...op, status: 'written' } : op,
    )
    const report = { schemaVersion: 1, kind: 'TransformReport', mode: work.mode, runId: work.runId, ops }
    return {
      made: [
        ...planArtifacts(work, planned),
        { outputKey: 'transformReport', kind: 'TransformReport', value: report },
        ...written,
      ],
      ...(fault && { fault }),
    }
  },

  async 'artifact.validate'(work) {
    const folder = String(work.values['in'])
    const { report, fault } = checkArtifacts(await readArtifacts(work, folder), listOf(work.values['require']) ?? [])
    return {
      made: [
        { outputKey: 'artifactValidateReport', kind: 'ArtifactValidateReport', value: report, reasonCodes: report.reasonCodes },
      ],
      ...(fault && { fault }),
    }
  },

  async 'artifact.diff'(work) {
    const sides = [
      await readArtifacts(work, String(work.values['before'])),
      await readArtifacts(work, String(work.values['after'])),
    ] as [Read[], Read[]]
    const { report, fault } = await compareArtifacts(...sides)
    return {
      made: [{ outputKey: 'artifactDiffReport', kind: 'ArtifactDiffReport', value: report, reasonCodes: report.reasonCodes }],
      ...(fault && { fault }),
    }
  },

  async trial({ values, call }) {
    const entry = String(values['entry'])
    const at = entry.lastIndexOf('#')
    const [file, exportName] = at < 0 ? [entry, 'default'] : [entry.slice(0, at), entry.slice(at + 1) || 'default']
    const ran = await call<Trial>('trial_run', {
      file,
      exportName,
      ...(values['timeout'] !== undefined && { timeoutMs: values['timeout'] }),
      ...(values['maxEvents'] !== undefined && { maxEvents: values['maxEvents'] }),
    })
    const { events, dropped, ...rest } = ran
    const said = ran.error ? `${ran.error.name}: ${ran.error.message}` : ''
    const fault =
      ran.status === 'pass'
        ? undefined
        : ran.status === 'no-export'
          ? new PlaneFault(
              'CLI_ENTRY_NO_EXPORT',
              `${file} has no export ${exportName}`,
              `It has ${ran.exports.join(', ') || 'none'}.`,
            )
          : ran.status === 'import-failed'
            ? new PlaneFault('CLI_ENTRY_IMPORT_FAILED', said)
            : new PlaneFault('CLI_COMMAND_FAILED', said)
    return {
      made: [
        {
          outputKey: 'trialReport',
          kind: 'TrialReport',
          value: { schemaVersion: 1, kind: 'TrialReport', entry: { file, exportName }, ...rest },
        },
        ...(values['includeTrace'] === true
          ? [
              {
                outputKey: 'traceSlim',
                kind: 'EvidencePackage',
                value: { schemaVersion: 1, kind: 'EvidencePackage', events, dropped },
              },
            ]
          : []),
      ],
      ...(fault && { fault }),
    }
  },
}

interface Change {
  file: string
  decisions: { status: string; reason?: { code: string } }[]
}

interface Trial {
  status: string
  error?: { name: string; message: string }
  exports: string[]
  events: object[]
  dropped: number
}

/** A write never happens without a plan, and the plan is the one that is shown. */
async function carryOut(
  { mode, call }: Work,
  plan: PatchPlan,
  code: string,
): Promise<{ written: Made[]; fault?: PlaneFault; result?: WriteBackResult }> {
  if (mode === 'report') return { written: [] }
  const result = await call<WriteBackResult>('apply_patch_plan', { plan: { ...plan, mode: 'write' } })
  const said: Diagnostic[] = [
    ...result.modifiedFiles.map(({ file }): Diagnostic => ({
      severity: 'info',
      code: 'WRITE_BACK_APPLIED',
      message: `${file} was changed`,
      pointer: { file },
      action: { kind: 'run.command', command: 'handrail undo --last' },
    })),
    ...result.failed.map(({ opKey, reasonCodes }): Diagnostic => ({
      severity: 'error',
      code: reasonCodes[0] ?? 'rewriter.apply.failed',
      message: `${opKey} was not written`,
      action: { kind: 'run.command', command: 'handrail anchor autofill --mode report' },
    })),
  ]
  const written: Made[] = [{ outputKey: 'writeBackResult', kind: 'WriteBackResult', value: result }, diagnosticsOf(said)]
  if (result.failed.length === 0) return { written, result }
  const [first] = result.failed
  return {
    written,
    result,
    fault: new PlaneFault(
      code,
      `${result.failed.length} changes were not made: ${first?.reasonCodes.join(', ')}`,
      'Make a new plan; writeBackResult names them.',
    ),
  }
}

function planArtifacts({ mode }: Work, { plan, preview }: { plan: PatchPlan; preview: PatchPreview }): Made[] {
  return [
    { outputKey: 'patchPlan', kind: 'PatchPlan', value: { ...plan, mode } },
    { outputKey: 'patchPreview', kind: 'PatchPreview', value: preview },
  ]
}

const diagnosticsOf = (diagnostics: Diagnostic[]): Made => ({
  outputKey: 'cliDiagnostics',
  kind: 'CliDiagnostics',
  value: { schemaVersion: 1, kind: 'CliDiagnostics', diagnostics },
})

const countOf = (found: readonly Diagnostic[]): Record<string, number> => ({
  errors: found.filter(({ severity }) => severity === 'error').length,
  warnings: found.filter(({ severity }) => severity === 'warning').length,
})

function optionsOf(options: typeof globalOptions, required: readonly string[] = []): object[] {
  return Object.entries(options).map(([name, { kind, says, values }]) => ({
    name: `--${name}`,
    type: kind,
    says,
    required: required.includes(name),
    ...(values && { enum: values, default: values[0] }),
  }))
}

function listOf(value: unknown): string[] | undefined {
  return value === undefined
    ? undefined
    : (value as string)
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean)
}

function factoriesIn(values: PlaneWords['values'], folder = true): object {
  const presets = listOf(values['presets'])
  return {
    ...(folder && values['repoRoot'] !== undefined && { path: values['repoRoot'] }),
    ...(presets && { presets }),
    ...(values['factories'] !== undefined && { factories: jsonIn(String(values['factories']), '--factories') }),
  }
}

function jsonIn(text: string, from: string): unknown {
  try {
    return parseJson(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    throw new PlaneFault('CLI_INVALID_INPUT', `${from} is not valid JSON: ${(cause as Error).message.slice(0, 120)}`)
  }
}

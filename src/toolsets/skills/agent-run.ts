import Type from 'typebox'
import { ProgramResultShape } from '../../contracts/effects.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import { redact } from '../../text/redact/redact.ts'
import { closed } from '../../contracts/shapes.ts'
import { effectKinds, type ProgramResult } from '../../contracts/stage.ts'
import type { Files } from '../../host/files.ts'
import { notApplied, programResultFields } from '../../text/program-result.ts'
import { allowedArguments } from './agent-arguments.ts'
import { agentNames, agents, type AgentName, type AgentProfile } from './agents.ts'
import { excerpt, longest } from './excerpt.ts'
import { patchOf } from './patch.ts'
import { hasFolder } from './sandbox.ts'
import { defineTool, type SkillsUse } from './use.ts'

const outputBytes = 2_097_152
const mostListed = 1_000
/** A shorter value would be found in words that have nothing to do with it. */
const shortestSecret = 8

export const agentRun = defineTool({
  name: 'agent_run',
  title: 'Give a task to another agent',
  description:
    'Let another agent that is installed here (opencode, codex, claude or aider) do a task in a folder below sandbox/workspaces/. It reaches the network and spends on its own account, so a person is always asked before. It runs on a stage that holds that folder and nothing else of the project: what it changed is shown to the person as a diff and taken over when they agree. The whole log and a patch are kept as evidence.',
  risk: 'R3',
  input: Type.Object(
    {
      agent: Type.Enum([...agentNames], { type: 'string' }),
      workspace_path: Type.String({
        minLength: 1,
        description: 'An existing folder below sandbox/workspaces/, from the project root.',
      }),
      task_prompt: Type.String({ minLength: 1, maxLength: 20_000, pattern: '^[^\\u0000]*$' }),
      timeout_seconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600, default: 300 })),
      output_mode: Type.Optional(
        Type.Enum(['diff', 'inplace', 'report'], {
          type: 'string',
          default: 'diff',
          description:
            'diff: what it changed is shown as a diff and taken over when the person agrees. inplace: the same, nothing is real before it was seen. report: only what it says counts; its changes are kept as a patch and thrown away.',
        }),
      ),
      additional_args: Type.Optional(
        Type.Array(Type.String({ maxLength: 1_024 }), {
          maxItems: 32,
          description: 'Such as --model X; each agent has a short list of what is allowed.',
        }),
      ),
    },
    closed,
  ),
  output: Type.Object(
    {
      success: Type.Boolean({ description: 'Whether it ended with exit code 0.' }),
      exit_code: Type.Integer(),
      stdout_excerpt: Type.String({ maxLength: longest }),
      stderr_excerpt: Type.String({ maxLength: longest }),
      changed_files: Type.Array(Type.String(), { maxItems: mostListed, description: 'From the project root.' }),
      diff_summary: Type.String(),
      duration_ms: Type.Integer({ minimum: 0 }),
      evidence_refs: Type.Array(Type.String(), { description: 'The whole log and the patch, for the person to look at.' }),
      taken_over: Type.Optional(Type.Boolean({ description: 'Whether its changes are in the project now.' })),
      not_applied: ProgramResultShape.not_applied,
      left: ProgramResultShape.left,
      confined: ProgramResultShape.confined,
    },
    closed,
  ),
  faults: ['path-denied', 'not-found', 'io', 'timeout', 'policy', 'conflict', 'unsupported'],
  examples: [],
  card({ agent, workspace_path, task_prompt, timeout_seconds = 300, output_mode = 'diff', additional_args = [] }, use) {
    const profile: AgentProfile = agents[agent]
    const means = [...filesOf(profile, use).map((name) => `~/${name}`), ...Object.keys(keysOf(profile, use))]
    return {
      title: `Let ${agent} work in ${oneLine(workspace_path, 120)}`,
      changes: [],
      notes: [
        `Task: ${task_prompt}`,
        ...(additional_args.length ? [`Arguments: ${JSON.stringify(additional_args)}`] : []),
        `It works in ${workspace_path} for ${timeout_seconds} s at most, and sees nothing else of the project.`,
        means.length ? `It gets ${means.join(', ')}, and could send them anywhere.` : 'It gets no sign-in of yours.',
        'It spends on the account it is signed in with.',
        ...(output_mode === 'report' ? ['Its changes are thrown away; only what it says counts.'] : []),
      ],
    }
  },
  program({ agent, workspace_path, task_prompt, timeout_seconds = 300, output_mode = 'diff', additional_args = [] }, use) {
    const profile: AgentProfile = agents[agent]
    const workspace = checkWorkspace(use.files, workspace_path)
    const more = allowedArguments(use.files, profile, workspace, additional_args)
    const installed = use.programs.find(profile.program)
    if (!installed)
      throw new Fault('unsupported', `${profile.program} is not installed`, {
        hint: `A person can install it: ${profile.install}. It must be on the PATH that Handrail is started with.`,
      })
    const task = profile.task === '--' ? ['--', task_prompt] : [`${profile.task}${task_prompt}`]
    const own = filesOf(profile, use)
    const keys = keysOf(profile, use)
    const settle = ['/bin/sh', '-c', settleIn, agent, use.programs.home, String(own.length), ...own]
    return {
      argv: [...(own.length ? settle : []), installed.file, ...profile.argv, ...more, ...task],
      cwd: workspace,
      changes: workspace,
      alone: true,
      network: true,
      timeoutMs: timeout_seconds * 1_000,
      outputBytes,
      env: { ...keys, ...profile.env },
      reads: [...installed.reads, ...own.map((name) => `${use.programs.home}/${name}`)],
      secrets: secretsOf(profile, keys, use),
      discards: output_mode === 'report',
    }
  },
  evidence: async ({ agent, task_prompt }, { diffs }, ran, sides) => [
    { kind: 'log', text: logOf(agent, task_prompt, ran) },
    ...(ran.effects.length ? [{ kind: 'patch', text: await patchOf(ran.effects, sides, diffs) }] : []),
  ],
  record: ({ agent, workspace_path, task_prompt }, _, ran) => ({
    event: 'tool.agent_run',
    details: {
      agent,
      task_prompt: Array.from(redact(task_prompt)).slice(0, 200).join(''),
      workspace: workspace_path,
      exit_code: ran?.exitCode ?? null,
      changed_files: ran ? changedFiles(ran).length : 0,
      duration_ms: ran?.ms ?? 0,
    },
  }),
  execute(_, __, { ran, committed, evidence }) {
    const { left, confined } = programResultFields(ran)
    return {
      ...notApplied(ran),
      success: ran.exitCode === 0,
      exit_code: ran.exitCode ?? 128,
      stdout_excerpt: excerpt(ran.stdout),
      stderr_excerpt: excerpt(ran.stderr),
      changed_files: changedFiles(ran).slice(0, mostListed),
      diff_summary: summaryOf(ran),
      duration_ms: ran.ms,
      evidence_refs: [...evidence],
      taken_over: committed.length > 0,
      ...(left && { left }),
      confined,
    }
  },
})

/**
 * Agents write beside their settings, and the person's own are read-only on a stage: each gets a home of its own with a copy of
 * what it needs, which goes away with it.
 */
const settleIn = `from=$1 count=$2
shift 2
while [ "$count" -gt 0 ]; do
  mkdir -p "$HOME/$(dirname "$1")" && cp -- "$from/$1" "$HOME/$1" || exit 125
  count=$((count - 1))
  shift
done
exec "$@"`

/** Only a folder of its own below sandbox/workspaces, reached without a link. */
function checkWorkspace(files: Files, path: string): string {
  const workspace = files.normal(path)
  if (!/^sandbox\/workspaces\/[^/]/.test(workspace))
    throw new Fault('path-denied', `Path not allowed: ${workspace}: agents work below sandbox/workspaces/ only`, {
      details: { path: workspace },
      hint: 'Put a copy of what it shall work on into sandbox/workspaces/<name>.',
    })
  if (!hasFolder(files, workspace))
    throw new Fault('not-found', `No such folder: ${workspace}`, {
      details: { path: workspace },
      hint: 'It must be there before; write a file into it.',
    })
  return workspace
}

function filesOf({ signIn, settings }: AgentProfile, { programs }: SkillsUse): string[] {
  return programs.homeFiles([...signIn, ...settings])
}

/** What must not be seen of it: its keys, those in its settings too, and whatever its sign-in consists of. The longest first: one may be part of another. */
function secretsOf({ signIn, settings }: AgentProfile, keys: Record<string, string>, { programs }: SkillsUse): string[] {
  const values = Object.values(keys).filter((value) => value.length >= shortestSecret)
  return [...new Set([...values, ...programs.secretsIn(signIn), ...programs.keysIn(settings)])].sort(
    (a, b) => b.length - a.length,
  )
}

function keysOf({ keys }: AgentProfile, { environment }: SkillsUse): Record<string, string> {
  return Object.fromEntries(keys.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
}

function changedFiles({ effects }: ProgramResult): string[] {
  return effects.filter(({ form }) => form !== 'folder').flatMap(({ path, from }) => (from === undefined ? [path] : [from, path]))
}

/** `3 files changed: 1 created, 2 modified`. */
function summaryOf({ effects }: ProgramResult): string {
  const files = effects.filter(({ form }) => form !== 'folder')
  const kinds = effectKinds
    .map((kind) => [files.filter((one) => one.kind === kind).length, kind] as const)
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${count} ${kind}`)
  return files.length === 0
    ? 'no files changed'
    : `${files.length} ${files.length === 1 ? 'file' : 'files'} changed: ${kinds.join(', ')}`
}

function logOf(agent: AgentName, task: string, { exitCode, ended, ms, stdout, stderr }: ProgramResult): string {
  return [
    `${agent} ended ${ended === undefined ? `with exit code ${exitCode}` : `by force: ${ended}`} after ${ms} ms`,
    `── task ──\n${task}`,
    `── stdout, ${stdout.bytes} bytes ──\n${stdout.text}`,
    `── stderr, ${stderr.bytes} bytes ──\n${stderr.text}`,
    '',
  ].join('\n')
}

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import { getSkillPrompt, skillPrompts } from './skills.ts'

interface Prompt {
  name: string
  title: string
  description: string
  arguments: { name: string; description: string; required: boolean }[]
  says(given: Record<string, string>): string
}

const prompts: readonly Prompt[] = [
  {
    name: 'careful_change',
    title: 'Change a file carefully',
    description: 'Read, rehearse, look at the diff, then write: the way to change a file so that nothing is lost.',
    arguments: [
      { name: 'path', description: 'The file, relative to the project root.', required: true },
      { name: 'task', description: 'What should be different afterwards.', required: true },
    ],
    says: ({ path, task }) =>
      [
        `Change \`${path}\` so that: ${task}`,
        '',
        '1. Read the file with read_file.',
        '2. Make the change as a dry run: replace_in_file or write_to_file with dryRun: true.',
        '3. Read the diff. If it holds anything you did not mean, correct the change and make the dry run again.',
        '4. Make the same call with dryRun: false, and tell the person the snapshotId it returns: it is how they take it back.',
        'If a call ends with E_POLICY_VIOLATION and an approvalId, a person has to agree: tell them and wait, then make exactly the same call again.',
      ].join('\n'),
  },
  {
    name: 'write_scene',
    title: 'Write a WebGAL scene',
    description: 'Write or change a scene so that the engine really runs it: look, write as a dry run, check, preview.',
    arguments: [
      { name: 'path', description: 'The scene, e.g. game/scene/start.txt.', required: true },
      { name: 'task', description: 'What happens in it.', required: true },
    ],
    says: ({ path, task }) =>
      [
        `Write the WebGAL scene \`${path}\`: ${task}`,
        '',
        '1. Read the resource handrail://webgal/commands and call list_project_resources: use only commands and files that exist.',
        '2. Write the scene with write_to_file as a dry run, and give the same text to validate_script as content.',
        '3. Correct every error and make the dry run again; then write it with dryRun: false.',
        '4. Call validate_script with the path, then preview_scene, and tell the person the address it returns.',
      ].join('\n'),
  },
  {
    name: 'review_session',
    title: 'Say what was changed',
    description: 'A summary of what was changed in this project, from the record and not from memory.',
    arguments: [],
    says: () =>
      'Read the resource handrail://audit (or call list_snapshots) and tell the person, file by file, what was changed, what was ' +
      'declined, and which snapshot brings each earlier state back. Do not change anything.',
  },
]

export async function listPrompts(gate: AgentGate): Promise<object[]> {
  const ours = prompts.map(({ name, title, description, arguments: given }) => ({ name, title, description, arguments: given }))
  return [...ours, ...(await skillPrompts(gate))]
}

export async function getPrompt(
  gate: AgentGate,
  name: string,
  given: Record<string, string>,
  caller: AgentCaller,
  signal: AbortSignal,
): Promise<object> {
  const skill = await getSkillPrompt(gate, name, given, caller, signal)
  if (skill) return skill
  const prompt = prompts.find((one) => one.name === name)
  if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 100)}`)
  const missing = prompt.arguments.filter((argument) => argument.required && !given[argument.name])
  if (missing.length > 0)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Missing arguments: ${missing.map((one) => one.name).join(', ')}`)
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text: prompt.says(given) } }] }
}

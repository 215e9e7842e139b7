import { expect, test } from 'vitest'
import { agentRun } from '../../src/toolsets/skills/agent-run.ts'
import { pythonRun } from '../../src/toolsets/skills/python-run.ts'
import { scriptRun } from '../../src/toolsets/skills/script-run.ts'
import type { SkillsUse } from '../../src/toolsets/skills/use.ts'

const nothing = { programs: { homeFiles: () => [] }, environment: {} } as unknown as SkillsUse

test('B40 a card of agent_run shows every argument the agent is started with, how long it may take and what counts', async () => {
  const { notes = [] } = await agentRun.bind(nothing).card({
    agent: 'opencode',
    workspace_path: 'sandbox/workspaces/a',
    task_prompt: 'Write a test.',
    timeout_seconds: 3_600,
    additional_args: ['--model', 'dear/one', '--file', 'notes/plan.md'],
  })
  const said = notes.join('\n')
  for (const one of ['--model', 'dear/one', '--file', 'notes/plan.md', '3600 s', 'Write a test.']) expect(said).toContain(one)
})

test('B41 a card of a script shows the variables it gets with their values: they decide what it does', async () => {
  for (const tool of [pythonRun, scriptRun]) {
    const { notes = [] } = await tool.bind(nothing).card({
      script_path: 'skills/x/scripts/a.py',
      args: ['--all'],
      env: { JARVIS_TARGET: 'outputs/../everything', HANDRAIL_SKILL_MODE: 'remove' },
    })
    const said = notes.join('\n')
    for (const one of ['--all', 'JARVIS_TARGET', 'outputs/../everything', 'HANDRAIL_SKILL_MODE', 'remove'])
      expect(said).toContain(one)
  }
})

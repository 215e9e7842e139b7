import { existsSync } from 'node:fs'
import { expect } from 'vitest'
import { textOf } from './agent.ts'
import type { Asked, Line, ScriptedModel } from './scripted-model.ts'
import { tinyGame } from './tiny-game.ts'
import type { World } from './world.ts'

const path = 'game/scene/beach_date.txt'
const scene = 'changeBg:sea.png -next;\n雪乃:海风真舒服呢。;\nend;\n'
const call = (name: string, input: object): Line => ({ calls: [{ name, input }] })
const steps = [
  { tool: 'write_to_file', description: '写 beach_date.txt', params: { path } },
  { tool: 'validate_script', description: '检查' },
  { tool: 'preview_scene', description: '预览' },
]

/** What the model says: what comes next stands in the conversation, so that one server tells the story to any number of sessions. */
function script({ body: { messages, tools = [] } }: Asked): Line {
  const made = new Set(messages.flatMap((one) => one.tool_calls ?? []).map((one) => one.function.name))
  if (tools.some((one) => one.function.name === 'propose_plan'))
    return made.has('list_project_resources')
      ? call('propose_plan', { title: '海边约会', steps })
      : { text: '我先看看有什么素材。', ...call('list_project_resources', {}) }
  if (!made.has('write_to_file')) return call('write_to_file', { path, content: scene, dryRun: false })
  return call('attempt_completion', { result: beachDate.reply })
}

/** “Write a beach date scene”, from the request to the undo: the same story over every surface. */
export const beachDate = {
  request: '写一个海边约会的场景',
  reply: '海边约会的场景写好了。',
  path,
  scene,
  script,
  files: tinyGame,
  /** The rules are not sure of it, so the model is asked for the road. */
  route: { route_type: 'skill', skill_id: 'webgal-scene', confidence: 0.9, reason: 'a scene is wanted' },
  policies: { askFrom: 'R1' },
  plan: steps.map(({ description }) => description),
  /** Every call in its order, as whoever watches is told of it. */
  calls: [
    'list_project_resources',
    'present_plan',
    'write_to_file (dry)',
    'write_to_file',
    'validate_script',
    'preview_scene',
    'attempt_completion',
  ],
}

/** A call as `beachDate.calls` has it. */
export const told = (name: string, input: Record<string, unknown>): string => `${name}${input['dryRun'] === true ? ' (dry)' : ''}`

/** A person who says yes to whatever is asked, from now on; the cards they saw. */
export function agreeing({ runtime }: World): { cards: string[]; stop: () => void } {
  const cards: string[] = []
  const stop = runtime.audit.subscribe({ events: (event) => event === 'approval.requested' }, (lines) => {
    for (const { approval = '' } of lines) {
      const asked = runtime.approvals.get(approval)
      if (asked?.state !== 'pending') continue
      cards.push(asked.card.title)
      runtime.approvals.decide(approval, { approve: true, by: 'me' })
    }
  })
  return { cards, stop }
}

export const beachCards = ['Plan: 海边约会', expect.stringContaining('beach_date.txt')]

/** Looks at what stands in the model's requests, in the files and in the log, and then takes it all back. */
export async function endOfBeachDate(world: World, model: ScriptedModel): Promise<void> {
  // The text of the skill went to the model while it planned, marked as content.
  expect(textOf(model.asked[0]?.body.messages[0] ?? { role: '' })).toMatch(
    /from the skill webgal-scene[\s\S]*# Write a WebGAL scene/,
  )
  expect(world.read(path)).toBe(scene)
  const lines = [...world.runtime.audit.lines()]
  const decided = lines.flatMap(({ event, tool }) => (event === 'approval.decided' ? [tool] : []))
  expect(decided.slice(-2)).toEqual(['present_plan', 'write_to_file'])
  const write = lines.findLast(
    ({ event, tool, snapshots }) => event === 'call.end' && tool === 'write_to_file' && snapshots?.length,
  )
  const session = write?.session
  const person = { role: 'person' as const }
  const { shown } = await world.call<{ shown: unknown }>('undo', { session, dryRun: true }, person)
  await world.call('undo', { session, shown, dryRun: false }, person)
  expect(existsSync(world.path(path))).toBe(false)
}

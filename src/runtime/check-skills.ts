import { resolve } from 'node:path'
import type { CheckedSkill } from '../contracts/skill.ts'
import { readSkillFile, scanSkills, type SkillBase } from '../host/skill-files.ts'
import { readSkill } from '../text/read-skill.ts'
import { asksOf } from '../text/skill-asks.ts'
import { stepsIn } from '../text/skill-steps.ts'
import { packaged } from '../version.ts'

/** What is to be known of every skill below some folders, trusted or not; nothing of it is offered to anybody. */
export async function checkSkills(
  folders: readonly string[],
  project: string,
): Promise<{ checked: CheckedSkill[]; left: string[] }> {
  const named = folders.map((folder) => ({ label: folder, path: resolve(folder) }))
  const usual = ['skills', 'skills_workspace', '.agents/skills', '.claude/skills'].map((label) => ({
    label,
    path: resolve(project, label),
  }))
  const bases: SkillBase[] = (named.length > 0 ? named : [...usual, { label: 'handrail', path: packaged('skills') }]).map(
    ({ label, path }) => ({ label, at: { path } }),
  )
  const checked: CheckedSkill[] = []
  const left: string[] = []
  for (const base of bases) {
    const scan = await scanSkills(base, new Map())
    left.push(...scan.left)
    for (const { id, names, file, read, scripts } of scan.found) {
      const path = `${base.label}/${names.join('/')}`
      const bytes = read.said ? await readSkillFile(base, names, file).catch(() => undefined) : undefined
      if (!bytes) {
        checked.push({ id, path, loads: false, steps: 0, diagnostics: read.diagnostics, asks: [] })
        continue
      }
      const { said, body, bodyLine, diagnostics } = readSkill(
        id,
        file,
        new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
      )
      checked.push({
        id,
        path,
        loads: said !== undefined,
        steps: stepsIn(body).length,
        diagnostics,
        asks: asksOf({ allowedTools: said?.allowedTools ?? [], scripts }, body, bodyLine),
      })
    }
  }
  return { checked, left }
}

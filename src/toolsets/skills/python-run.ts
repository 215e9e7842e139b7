import { scriptTool, type Script, type Start } from './script.ts'
import type { SkillsUse } from './use.ts'

/**
 * Said as variables, so that the Pythons it starts hear it too: nothing of the person's own packages, no caches beside the
 * script. Not `-I`, which would also take the script's folder from the path, and skills import what stands beside them.
 */
const quiet = {
  PYTHONNOUSERSITE: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
  PYTHONIOENCODING: 'utf-8',
}

export async function startPython(_: Script, { python }: SkillsUse): Promise<Start> {
  const { file, reads } = await python()
  return { argv: [file], env: quiet, reads }
}

export const pythonRun = scriptTool({
  name: 'python_run',
  title: 'Run a Python script of a skill',
  description: 'Run a Python script (.py) that a skill brings along.',
  // The two places of seed 004 §2.6, and no other.
  places: /^(?:skills_workspace\/[^/]+|sandbox)\/scripts\/[^/]+$/,
  where: 'skills_workspace/<name>/scripts/ or sandbox/scripts/',
  endings: {
    '.py': startPython,
  },
})

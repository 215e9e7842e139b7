import type { Config } from '../contracts/config.ts'
import type { Tool } from '../contracts/tool.ts'
import type { Files } from '../host/files.ts'

/**
 * Whether a project has a use for a tool. What it has none for is left out of the list an agent reads, which every tool makes longer; it
 * can be called all the same, and `tools` in the settings lists it.
 */
export function usefulIn(files: Files, config: Config): (tool: Tool) => boolean {
  const there = (path: string): boolean => {
    try {
      return files.isFolder(path)
    } catch {
      // Not there, or not to be entered: a list of tools is no reason to fail.
      return false
    }
  }
  const isGame = (): boolean =>
    config.webgalCommands.length > 0 ||
    config.preview.engine !== '' ||
    games.some((game) => there(`${game}/scene`)) ||
    (there('scene') && there('background'))
  const uses: Record<string, () => boolean> = {
    webgal: isGame,
    // Runs use it; a model is better off with one file at a time and its diff.
    replace_in_files: () => false,
    python_run: () => scripts.some(there),
    script_run: () => scripts.some(there),
    agent_run: () => there('sandbox/workspaces'),
  }
  return ({ name, toolset }) => config.tools.length > 0 || (uses[name] ?? uses[toolset])?.() !== false
}

/** Where games stand: exports and forks put something in front. */
const games = ['game', 'public/game', 'packages/webgal/public/game', 'dist/game']
/** Where scripts must stand to be run. */
const scripts = ['skills', 'skills_workspace', 'sandbox/scripts']

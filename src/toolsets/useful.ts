import type { Config } from '../contracts/config.ts'
import type { Tool } from '../contracts/tool.ts'
import type { Files } from '../host/files.ts'

/**
 * The tools a project has a use for. What it has none for is left out of the list an agent reads, which every tool makes longer; it
 * can be called all the same, and `tools` in the settings lists it.
 */
export function usefulIn(files: Files, config: Config): (tools: readonly Tool[]) => Tool[] {
  const isGame = (): boolean =>
    config.webgalCommands.length > 0 ||
    config.webgalVersion !== '' ||
    config.preview.engine !== '' ||
    games.some((game) => files.hasFolder(`${game}/scene`)) ||
    (files.hasFolder('scene') && files.hasFolder('background'))
  const hasManifest = (): boolean => files.hasFile('package.json')
  const hasScripts = (): boolean => scripts.some(files.hasFolder)
  const uses: Record<string, () => boolean> = {
    webgal: isGame,
    python_run: hasScripts,
    script_run: hasScripts,
    // Runs use it; a model is better off with one file at a time and its diff.
    replace_in_files: () => false,
    // The command line calls it.
    convert_encoding: () => false,
    // The agent that comes with Handrail presents its plans with it.
    present_plan: () => false,
    // Runs of agent_goal make this call.
    pursue_goal: () => false,
    allow_sites: () => false,
    visit_page: () => false,
    search_page: () => false,
    next_page: () => false,
    compare_pages: () => false,
    submit_form: () => false,
    log_in: () => false,
    use_login: () => false,
    run_checks: hasManifest,
    // run_checks makes these calls.
    run_check: () => false,
    // The command line and the bridge call these; a model reads and writes files.
    anchor_index: () => false,
    plan_autofill: () => false,
    plan_transform: () => false,
    apply_patch_plan: () => false,
    trial_run: () => false,
    write_artifacts: () => false,
    agent_run: () => files.hasFolder('sandbox/workspaces'),
  }
  return (tools) => {
    if (config.tools.length > 0) return [...tools]
    // Each place is looked at once, however many tools it is about.
    const found = new Map<(() => boolean) | undefined, boolean>([[undefined, true]])
    return tools.filter(({ name, toolset }) => {
      const use = uses[name] ?? uses[toolset]
      const isUseful = found.get(use) ?? use?.() ?? true
      found.set(use, isUseful)
      return isUseful
    })
  }
}

/** Where games stand: exports and forks put something in front. */
const games = ['game', 'public/game', 'packages/webgal/public/game', 'dist/game', 'build/game', 'resources/app/public/game']
/** Where scripts must stand to be run. */
const scripts = ['skills', 'skills_workspace', 'sandbox/scripts']

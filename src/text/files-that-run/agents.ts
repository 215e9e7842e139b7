import type { RunRow } from './row.ts'

const starts = 'runs something, or lets it run, when an agent is started here'
const tells = 'tells agents what to do'

/** What agents read at their start. What runs comes before what only instructs. */
export const agents: readonly RunRow[] = [
  {
    of: 'MCP',
    depth: 'A',
    class: '1*',
    when: starts,
    files:
      '.mcp.json mcp.json .mcp/** mcp_config.json mcp_settings.json mcp-config.json mcp.config.json *.mcp.json mcp-servers.json',
  },
  {
    of: 'Claude Code',
    depth: 'A',
    class: '1*',
    when: starts,
    files:
      '.claude/settings*.json .claude/{hooks,workflows}/** .claude/scheduled_tasks.json .claude.json .claude-plugin/** hooks/hooks.json',
  },
  {
    of: 'Handrail',
    depth: 'A',
    class: '1*',
    when: 'is a template of runs, which agents can use once you trusted it',
    files: 'handrail/templates/**',
  },
  {
    of: 'Handrail',
    depth: 'A',
    class: 'I',
    when: 'is what a model is asked, once you trusted it',
    files: 'handrail/prompts/**',
  },
  { of: 'Codex', depth: 'A', class: '1*', when: starts, files: '.codex/**' },
  { of: 'Gemini, Qwen', depth: 'A', class: '1*', when: starts, files: '.gemini/** .qwen/**' },
  { of: 'Copilot', depth: 'A', class: '1*', when: starts, files: '.github/hooks/** .github/copilot/**' },
  {
    of: 'Cursor',
    depth: 'A',
    class: '1*',
    when: starts,
    files: '.cursor/{mcp,hooks,cli,environment,worktrees,sandbox}.json',
  },
  { of: 'Windsurf', depth: 'A', class: '1*', when: starts, files: '.windsurf/{hooks,mcp_config}.json' },
  {
    of: 'Roo, Kilo',
    depth: 'A',
    class: '1*',
    when: starts,
    files: '.roo/mcp.json .kilocode/mcp.json cline_mcp_settings.json .cline/**',
  },
  {
    of: 'OpenCode',
    depth: 'A',
    class: '1*',
    when: starts,
    files: '{,.}opencode.json{,c} .opencode/{plugin,plugins,tool,tools}/** .opencode/package.json',
  },
  { of: 'Kiro, Amazon Q', depth: 'A', class: '1*', when: starts, files: '.kiro/hooks/** .kiro/settings/** .amazonq/mcp.json' },
  {
    of: 'other agents',
    depth: 'A',
    class: '1*',
    when: starts,
    files:
      '.aider* {,.}crush.json firebender.json .continue/{config.*,mcpServers/**} .junie/mcp/** .trae/mcp.json .augment/settings*.json .factory/{mcp,hooks,settings}*.json .amp/** .goose/** .gptme.toml gptme.toml .cagent/** cagent.y{a,}ml .plandex/** .zencoder/** .warp/**',
  },
  {
    of: 'agents',
    depth: 'A',
    class: 'I',
    when: tells,
    files: 'AGENTS.md AGENTS.local.md AGENT.md AGENTS.override.md SKILL.md .agents/** .agent/** .agents.md .ai/** .prompts/**',
  },
  { of: 'Claude Code', depth: 'A', class: 'I', when: tells, files: 'CLAUDE.md CLAUDE.local.md .claude/**' },
  { of: 'Gemini, Qwen', depth: 'A', class: 'I', when: tells, files: 'GEMINI.md QWEN.md' },
  {
    of: 'Copilot',
    depth: 'A',
    class: 'I',
    when: tells,
    files:
      '.github/copilot-instructions.md .github/{instructions,prompts,agents,skills,chatmodes}/** *.{agent,prompt,instructions,chatmode}.md',
  },
  { of: 'Cursor', depth: 'A', class: 'I', when: tells, files: '.cursorrules .cursor/**' },
  { of: 'Windsurf, Devin', depth: 'A', class: 'I', when: tells, files: '.windsurfrules .windsurf/** .devin/**' },
  {
    of: 'Cline, Roo, Kilo',
    depth: 'A',
    class: 'I',
    when: tells,
    files: '.clinerules* .clinerules/** .roorules* .roo/** .roomodes .kilocode/** .kilocodemodes',
  },
  { of: 'OpenCode', depth: 'A', class: 'I', when: tells, files: '.opencode/**' },
  { of: 'Kiro, Amazon Q', depth: 'A', class: 'I', when: tells, files: '.kiro/** .amazonq/**' },
  {
    of: 'other agents',
    depth: 'A',
    class: 'I',
    when: tells,
    files:
      '.goosehints .hermes.md .cody/** .sourcegraph/** .tabnine/** .codeium/** .replit.md replit.md GROK.md .grok/** JULES.md .jules/** KIMI.md .kimi/** .iflow/** IFLOW.md .codebuddy/** CODEBUDDY.md .qoder/** .lingma/** .comate/** .junie/** .continue/** .continuerules CRUSH.md WARP.md .trae/** .augment/** .augment-guidelines .aiassistant/** .openhands/** .factory/** .vibe/** .pi/** .idx/** .rules CONVENTIONS.md',
  },
  {
    of: 'ignore files of agents',
    depth: 'A',
    class: 'I',
    when: 'keeps agents from reading files: a line less, and they read more',
    files:
      '.{cursor,gemini,roo,kiro,aider,codeium,cline,kilocode,augment,qwen,copilot,windsurf,devin,ai,agent,llm,opencode,crush,goose,trae,junie,continue,tabnine,cody}ignore .cursorindexingignore .aiexclude',
  },
]

import type { SkillInfo } from '../contracts/skill.ts'
import { hidesText } from './hidden-text.ts'

/** Something that a skill would have whoever follows it do, and that goes beyond reading and writing files of the project. */
export interface SkillAsk {
  for: 'network' | 'secrets' | 'execution' | 'destruction' | 'obedience'
  says: string
  line: number
}

interface Sign {
  for: SkillAsk['for']
  sign: RegExp
  says: (found: string) => string
}

const shown = (found: string): string => found.trim().slice(0, 80)

/** By what they are written with. A sign is no proof: a person reads the line. */
const signs: readonly Sign[] = [
  {
    for: 'network',
    sign: /\bhttps?:\/\/(?!localhost\b|127\.0\.0\.1\b|\[::1\])[^\s)>"'`\]]{3,200}/i,
    says: (found) => `names an address: ${shown(found)}`,
  },
  {
    for: 'network',
    sign: /\b(?:curl|wget|Invoke-WebRequest|git\s+clone|docker\s+pull|ssh\s+\S+@|scp\s|rsync\s)/i,
    says: (found) => `fetches or sends with ${shown(found)}`,
  },
  {
    for: 'network',
    sign: /\b(?:pip3?|uv\s+pip|npm|pnpm|yarn|bun|cargo|gem|go|brew|apt(?:-get)?)\s+(?:install|add|get)\b|\b(?:npx|uvx|bunx|pnpm\s+dlx)\s+\S+/i,
    says: (found) => `installs something: ${shown(found)}`,
  },
  {
    for: 'secrets',
    sign: /\b[A-Z][A-Z0-9_]*(?:API_?KEY|_TOKEN|_SECRET|PASSWORD|ACCESS_KEY)\b|\b(?:API_KEY|ACCESS_TOKEN)\b/,
    says: (found) => `wants a secret: ${shown(found)}`,
  },
  {
    for: 'secrets',
    sign: /(?:^|[\s"'`/])(?:\.env(?:\.\w+)?|\.netrc|\.npmrc|\.pypirc|id_(?:rsa|ed25519)|\.ssh\/|\.aws\/|\.kube\/config|credentials\.json)(?=$|[\s"'`.,)])/i,
    says: (found) => `names a file that holds secrets: ${shown(found)}`,
  },
  {
    for: 'execution',
    sign: /^\s*(?:`{3,}|~{3,})\s*(?:bash|sh|shell|zsh|console|terminal|powershell|ps1|bat|cmd|python3?|py|js|javascript|ts|typescript|ruby|perl)\b/i,
    says: (found) => `holds code to run (${shown(found).replace(/^[`~]+\s*/, '')})`,
  },
  {
    for: 'execution',
    sign: /\b(?:python3?|node|bash|sh|ruby|perl|deno|bun)\s+(?:-\w\s+)?\S*(?:scripts\/|\.(?:py|sh|js|mjs|ts|rb|pl)\b)\S*/i,
    says: (found) => `runs a script: ${shown(found)}`,
  },
  {
    for: 'execution',
    sign: /\bsudo\s+\S+|\bchmod\s+\+x|\beval\s*\(|\|\s*(?:ba)?sh\b/i,
    says: (found) => `runs with more than it should: ${shown(found)}`,
  },
  {
    for: 'destruction',
    sign: /\brm\s+-[a-z]*[rf][a-z]*\b|\bgit\s+push\s+(?:-f|--force)\b|\bgit\s+reset\s+--hard\b|\bDROP\s+(?:TABLE|DATABASE)\b|\bmkfs\b|\bdd\s+if=/i,
    says: (found) => `destroys: ${shown(found)}`,
  },
  {
    for: 'obedience',
    sign: /\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:previous|prior|earlier|above|other)\s+(?:instructions?|rules|prompts?)/i,
    says: (found) => `would set aside what was said before: ${shown(found)}`,
  },
  {
    for: 'obedience',
    sign: /\b(?:without|never|do\s+not|don['’]t)\s+(?:asking|ask(?:ing)?\s+(?:for\s+)?(?:permission|confirmation|the\s+user)|telling\s+the\s+user)|--dangerously-skip-permissions|--yolo\b|bypass(?:ing)?\s+(?:approval|permission|confirmation)/i,
    says: (found) => `would keep the person out: ${shown(found)}`,
  },
  {
    for: 'obedience',
    sign: /<!--(?!\s*(?:prettier|markdownlint|eslint|toc|more)\b)/i,
    says: () => 'holds an HTML comment, which models read and people do not see',
  },
]

const most = 50
/** Real lines of text are shorter; patterns are not run over a book on one line. */
const longestLine = 4_000

/** Everything in a skill that asks for network, secrets, execution or obedience, each kind of sign where it is first seen. */
export function asksOf(info: Pick<SkillInfo, 'allowedTools' | 'scripts'>, body: string, firstLine = 1): SkillAsk[] {
  const asks: SkillAsk[] = []
  for (const tool of info.allowedTools) {
    const name = tool.replace(/\(.*$/, '')
    if (/^(?:Bash|Shell|Execute|Run|Terminal|execute_command|python_run|script_run|agent_run)$/i.test(name))
      asks.push({ for: 'execution', says: `allowed-tools names ${shown(tool)}`, line: 1 })
    if (/^(?:WebFetch|WebSearch|Fetch|Browser|browser_action)$/i.test(name))
      asks.push({ for: 'network', says: `allowed-tools names ${shown(tool)}`, line: 1 })
  }
  if (info.scripts.length > 0) {
    const names = info.scripts.slice(0, 5).map(({ relative_path }) => relative_path)
    const more = info.scripts.length > 5 ? ` and ${info.scripts.length - 5} more` : ''
    asks.push({ for: 'execution', says: `brings scripts: ${names.join(', ')}${more}`, line: 1 })
  }
  const seen = new Set<string>()
  for (const [at, whole] of body.split('\n').entries()) {
    const line = whole.slice(0, longestLine)
    for (const [index, one] of signs.entries()) {
      const found = one.sign.exec(line)?.[0]
      const key = `${index} ${one.for === 'execution' && found?.includes('`') ? '' : (found ?? '').toLowerCase()}`
      if (found === undefined || seen.has(key)) continue
      seen.add(key)
      asks.push({ for: one.for, says: one.says(found), line: firstLine + at })
    }
    if (!seen.has('hidden') && hidesText(line)) {
      seen.add('hidden')
      asks.push({ for: 'obedience', says: 'holds characters that nobody sees', line: firstLine + at })
    }
    if (asks.length >= most) break
  }
  return asks.slice(0, most)
}

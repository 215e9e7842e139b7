import { commands, everywhere, type CommandRow, type ContentKind, type Span, type ValueKind } from './commands.ts'
import { mistaken } from './mistaken.ts'
import { newestEngine } from './version.ts'

type Lang = 'ZH' | 'EN'

const kinds: Record<ContentKind['is'] | ValueKind['is'], { ZH: string; EN: string }> = {
  text: { ZH: '文字', EN: 'text' },
  nothing: { ZH: '（单独成行）', EN: '(stands alone)' },
  file: { ZH: '文件', EN: 'file' },
  json: { ZH: 'JSON', EN: 'JSON' },
  transform: { ZH: 'JSON {…}', EN: 'JSON {…}' },
  frames: { ZH: 'JSON […]', EN: 'JSON […]' },
  target: { ZH: '目标', EN: 'target' },
  choices: { ZH: '文字:目标|文字:目标', EN: 'words:target|words:target' },
  label: { ZH: '标签名', EN: 'name of the label' },
  'target label': { ZH: '标签名', EN: 'name of the label' },
  assignment: { ZH: '变量=值', EN: 'name=value' },
  variable: { ZH: '变量名', EN: 'name of a variable' },
  expression: { ZH: '表达式', EN: 'expression' },
  number: { ZH: '数字', EN: 'number' },
  animation: { ZH: '动画名', EN: 'name of an animation' },
  flag: { ZH: '开关', EN: 'switch' },
  'one of': { ZH: '其中之一', EN: 'one of' },
}

function kindOf(kind: ContentKind | ValueKind, lang: Lang): string {
  const name = kinds[kind.is][lang]
  if (kind.is === 'file') return `${name} (game/${kind.folder})`
  return kind.is === 'one of' ? kind.values.join(' ') : name
}

const spanOf = ({ since, until }: Span): string => (since ? ` (≥ ${since})` : until ? ` (≤ ${until})` : '')

/** One argument as it is written. */
export const argumentLine = (key: string, kind: ValueKind, lang: Lang): string =>
  `-${key}${kind.is === 'flag' ? '' : `=<${kindOf(kind, lang)}>`}${spanOf(kind)}`

/** One command in a few lines, as an editor shows it beside the word. */
export function hover(name: string, lang: Lang): string | undefined {
  const row = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!row || row.parserOnly) return undefined
  const args = Object.entries(row.args).map(([key, kind]) => argumentLine(key, kind, lang))
  return [
    `${name}${row.content.is === 'nothing' ? '' : `:<${kindOf(row.content, lang)}>`} — ${row.says[lang]}${spanOf(row)}`,
    ...(args.length ? [args.join(' ')] : []),
  ].join('\n')
}

const texts = {
  title: { ZH: `WebGAL 指令（引擎 ${newestEngine}）`, EN: `WebGAL commands (engine ${newestEngine})` },
  rules: {
    ZH: '一行一条语句，到第一个没有 \\ 的 ; 为止。第一个 : 之前与指令名完全一致才是指令，否则是说话人。空格加连字符开始一个参数，文字和 JSON 里也一样。; 开头是注释；// 和 # 不是。',
    EN: 'One statement a line, up to the first ; without a \\ before it. What stands before the first : is a command only if it is spelt exactly so; otherwise it is a speaker. A space and a hyphen start an argument, inside text and JSON too. A line that starts with ; is a comment; // and # are not.',
  },
  everywhere: { ZH: '所有指令都可以用', EN: 'Every command takes' },
  mistaken: { ZH: '这些不是指令', EN: 'These are not commands' },
} as const

/** The whole language on one page, from the table. */
export function reference(lang: Lang): string {
  const rows = Object.entries(commands).filter(([, row]: [string, CommandRow]) => !row.parserOnly)
  return [
    `# ${texts.title[lang]}`,
    '',
    texts.rules[lang],
    '',
    `${texts.everywhere[lang]}: ${Object.keys(everywhere)
      .map((key) => `\`-${key}\``)
      .join(' ')}`,
    '',
    ...rows.flatMap(([name]) => [`## ${name}`, '', '```', hover(name, lang) ?? '', '```', '']),
    `## ${texts.mistaken[lang]}`,
    '',
    ...Object.entries(mistaken).map(([name, { instead }]) => `- \`${name}\` → \`${instead}\``),
    '',
  ].join('\n')
}

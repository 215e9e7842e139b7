/** Everything that is said where a game is too large to be looked at, or an answer to be given, whole: in English, and in Chinese. */
const sentences = {
  'Only the first {n} of {all} scenes were read.': '{all} 个场景里只读了前 {n} 个。',
  'Not all variables are listed: there are too many, or their names are too long.': '没有列出全部变量：太多，或者名字太长。',
  'Only the first {n} speakers were counted.': '只统计了前 {n} 个说话人。',
  'Of unused files only the first {n} were measured.': '没有用到的文件里只量了前 {n} 个的大小。',
  '{n} scenes have too many lines or endless statements and were read in part: {names}':
    '{n} 个场景行数太多或语句太长，只读了一部分：{names}',
  '{kind}: {n} more are not listed.': '{kind}：还有 {n} 个没有列出。',
  'Games were looked for {deepest} folders deep, not in {n} that are deeper.':
    '找游戏只找到第 {deepest} 层文件夹，更深的 {n} 个没有看。',
  'Games were looked for in the first {n} folders only.': '只在前 {n} 个文件夹里找了游戏。',
  'Of {path} only the first {n} entries were looked at.': '{path} 里只看了前 {n} 项。',
  '{path} is more than {deepest} folders deep and was not looked at.': '{path} 超过 {deepest} 层，没有看。',
  'Of the game’s files only the first {n} were looked at.': '游戏的文件里只看了前 {n} 个。',
  'drawing: only {n} of {all} scenes are drawn.': '图里只画了 {all} 个场景中的 {n} 个。',
  'drawing: only {n} of {all} ways are drawn.': '图里只画了 {all} 条路中的 {n} 条。',
  '{name}: only the first {n} of {all} are listed.': '{name}：{all} 个里只列出前 {n} 个。',
} as const

type Sentence = keyof typeof sentences

const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))

/** What is left out, in English; `leftOutIn` says it in the language of the person. */
export const leftOutSentence = (sentence: Sentence, values: Readonly<Record<string, string | number>> = {}): string =>
  fill(sentence, values)

/** How each sentence is told from the others, with what stands in its gaps. */
let forms: { form: RegExp; chinese: string }[] | undefined

export function leftOutIn(lang: 'ZH' | 'EN', said: readonly string[]): string[] {
  if (lang === 'EN') return [...said]
  forms ??= Object.entries(sentences).map(([english, chinese]) => {
    const literal = english.replace(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
    return { form: new RegExp(`^${literal.replace(/\{(\w+)\}/g, '(?<$1>[^]*)')}$`), chinese }
  })
  return said.map((sentence) => {
    for (const { form, chinese } of forms ?? []) {
      const found = form.exec(sentence)
      if (found) return fill(chinese, found.groups ?? {})
    }
    return sentence
  })
}

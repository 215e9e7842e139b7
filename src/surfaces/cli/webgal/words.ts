export type Lang = 'ZH' | 'EN'

interface Counts {
  scenes: number
  lines: number
  errors: number
  warnings: number
  notes: number
}

/** What is said around the diagnostics, in their language. */
export const wordsIn = {
  EN: {
    error: 'error  ',
    warning: 'warning',
    info: 'note   ',
    noText: 'not a text in any encoding that can be told',
    convert: '`handrail webgal convert` makes these files UTF-8, and it can be undone.',
    fine: 'Fine',
    notFine: 'Not fine',
    notAll: ' (not all shown)',
    unknownEngine: 'engine unknown, judged by the newest; the setting webgalVersion names it',
    engine: (version: string, from: string, derivative?: string): string =>
      `${derivative === undefined ? '' : `${derivative}, made from `}WebGAL ${version} (${from})`,
    places: (count: number): string => `${count} times the same`,
    counts: ({ scenes, lines, errors, warnings, notes }: Counts): string =>
      `: ${scenes} scenes, ${lines} lines; ${errors} errors, ${warnings} warnings, ${notes} notes`,
  },
  ZH: {
    error: '错误',
    warning: '警告',
    info: '提示',
    noText: '不是任何能认出的编码的文本',
    convert: '`handrail webgal convert` 会把这些文件转换为 UTF-8，可以撤销。',
    fine: '没有问题',
    notFine: '有问题',
    notAll: '（未全部列出）',
    unknownEngine: '不知道是哪个引擎，按最新的检查；可以用 webgalVersion 设置写明',
    engine: (version: string, from: string, derivative?: string): string =>
      `${derivative === undefined ? '' : `${derivative}，基于 `}WebGAL ${version}（${from}）`,
    places: (count: number): string => `相同的有 ${count} 处`,
    counts: ({ scenes, lines, errors, warnings, notes }: Counts): string =>
      `：${scenes} 个场景，${lines} 行；${errors} 个错误，${warnings} 个警告，${notes} 个提示`,
  },
} as const

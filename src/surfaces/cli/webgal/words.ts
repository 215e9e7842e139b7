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
    noText: 'cannot be read: it is no text in any encoding that can be told, or its name is refused',
    convert: '`handrail webgal convert` makes these files UTF-8, and it can be undone.',
    fine: 'Fine',
    notFine: 'Not fine',
    notAll: ' (not all shown)',
    unknownEngine: 'engine unknown, judged by the newest; the setting webgalVersion names it',
    atLeast: (version: string, from: string): string =>
      `engine unknown, at least WebGAL ${version} (${from}), judged by the newest; the setting webgalVersion names it`,
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
    noText: '无法读取：不是任何能认出的编码的文本，或文件名不被接受',
    convert: '`handrail webgal convert` 会把这些文件转换为 UTF-8，可以撤销。',
    fine: '没有问题',
    notFine: '有问题',
    notAll: '（未全部列出）',
    unknownEngine: '不知道是哪个引擎，按最新的检查；可以用 webgalVersion 设置写明',
    atLeast: (version: string, from: string): string =>
      `不知道是哪个引擎，至少是 WebGAL ${version}（${from}），按最新的检查；可以用 webgalVersion 设置写明`,
    engine: (version: string, from: string, derivative?: string): string =>
      `${derivative === undefined ? '' : `${derivative}，基于 `}WebGAL ${version}（${from}）`,
    places: (count: number): string => `相同的有 ${count} 处`,
    counts: ({ scenes, lines, errors, warnings, notes }: Counts): string =>
      `：${scenes} 个场景，${lines} 行；${errors} 个错误，${warnings} 个警告，${notes} 个提示`,
  },
} as const

interface Summed {
  scenes: number
  lines: number
  errors: number
  warnings: number
  texts: { words: number; cjk: number }
}

/** What the route map says in a terminal. */
export const graphWords = {
  EN: {
    columns: ['from', 'by', 'to', 'words', 'when'],
    colon: ': ',
    comma: ', ',
    endings: 'Endings',
    deadEnds: 'Dead ends',
    unreachable: 'Scenes that are never reached',
    missing: 'Scenes that are not there',
    missingLabels: 'Labels that are not there',
    at: (what: string, place: string): string => `${what} (${place})`,
    oneDrawing: 'A drawing is of one game, and there are several.',
    nameOne: 'Name one of them: ',
  },
  ZH: {
    columns: ['从', '方式', '到', '文字', '条件'],
    colon: '：',
    comma: '、',
    endings: '结局',
    deadEnds: '死路',
    unreachable: '到达不了的场景',
    missing: '不存在的场景',
    missingLabels: '不存在的标签',
    at: (what: string, place: string): string => `${what}（${place}）`,
    oneDrawing: '一张图只画一个游戏，这里有好几个。',
    nameOne: '请写明其中一个：',
  },
} as const

/** What the report says in a terminal. */
export const reportWords = {
  EN: {
    counts: ({ scenes, lines, errors, warnings, texts }: Summed): string =>
      `${scenes} scenes, ${lines} lines; ${texts.words} words and ${texts.cjk} CJK characters to read; ${errors} errors, ${warnings} warnings.`,
    characters: 'Who says how much',
    characterColumns: ['who', 'lines', 'words', 'CJK', 'scenes', 'first'],
    scenes: 'What there is to translate',
    sceneColumns: ['scene', 'lines', 'words', 'CJK'],
    counted:
      'Counted is what a player reads: dialogue, options, intros, questions. Each Han character, kana and Hangul syllable is one, punctuation none; words are those of other scripts. Names of speakers, {variables} and ruby are not counted.',
    variables: 'Variables',
    variableColumns: ['name', '', 'set', 'read'],
    flag: 'flag',
    allUsed: 'Every file is used.',
    unused: (count: number, size: string): string => `No scene uses these ${count} files (${size})`,
    more: (count: number): string => `  … ${count} more; --json shows them all.`,
  },
  ZH: {
    counts: ({ scenes, lines, errors, warnings, texts }: Summed): string =>
      `${scenes} 个场景，${lines} 行；要读的有 ${texts.cjk} 个汉字、假名、谚文和 ${texts.words} 个其他文字的词；${errors} 个错误，${warnings} 个警告。`,
    characters: '谁说了多少',
    characterColumns: ['角色', '行', '词', '中日韩字', '场景', '初次'],
    scenes: '要翻译多少',
    sceneColumns: ['场景', '行', '词', '中日韩字'],
    counted:
      '统计的是玩家读到的文字：对话、选项、黑屏文字、提问。每个汉字、假名、谚文算一个，标点不算；词是其他文字的词。说话人的名字、{变量}和注音不算。',
    variables: '变量',
    variableColumns: ['名称', '', '设置', '读取'],
    flag: '开关',
    allUsed: '每个文件都用到了。',
    unused: (count: number, size: string): string => `没有场景用到这 ${count} 个文件（${size}）`,
    more: (count: number): string => `  …还有 ${count} 个；用 --json 可以看到全部。`,
  },
} as const

/** What is said after a change. */
export const changeWords = {
  EN: {
    allUtf8: 'Everything is UTF-8.',
    converted: (count: number): string => `${count} files are UTF-8 now; \`handrail undo --last\` takes it back.`,
    renamed: (places: number, files: number): string =>
      `${places} places in ${files} scenes were changed; \`handrail undo --last\` takes it back.`,
    wouldRename: (places: number, files: number): string => `${places} places in ${files} scenes would change.`,
  },
  ZH: {
    allUtf8: '全部已是 UTF-8。',
    converted: (count: number): string => `${count} 个文件现在是 UTF-8；\`handrail undo --last\` 可以撤销。`,
    renamed: (places: number, files: number): string => `${files} 个场景里改了 ${places} 处；\`handrail undo --last\` 可以撤销。`,
    wouldRename: (places: number, files: number): string => `${files} 个场景里会改 ${places} 处。`,
  },
} as const

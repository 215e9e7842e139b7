/** Which engines have something; left out: all that are known. */
export interface Span {
  /** The first version that has it. */
  since?: string
  /** The last version that has it. */
  until?: string
}

/** What may stand where a value is expected. */
export type ValueKind = Span &
  (
    | { is: 'flag' }
    | { is: 'number' }
    | { is: 'text' }
    | { is: 'json' }
    | { is: 'transform' }
    | { is: 'target' }
    | { is: 'animation' }
    | { is: 'expression' }
    | { is: 'file'; folder: Folder }
    | { is: 'one of'; values: readonly string[] }
  )

/** Folders below `game/` that the engine reads from. */
export const folders = ['background', 'figure', 'bgm', 'vocal', 'video', 'scene', 'animation'] as const
export type Folder = (typeof folders)[number]

export type ContentKind =
  | { is: 'text' }
  | { is: 'nothing' }
  | { is: 'file'; folder: Folder }
  | { is: 'transform' }
  | { is: 'frames' }
  | { is: 'choices' }
  | { is: 'label' }
  | { is: 'target label' }
  | { is: 'assignment' }
  | { is: 'variable' }
  | { is: 'expression' }
  | { is: 'number' }
  | { is: 'animation' }
  | { is: 'one of'; values: readonly string[] }

export interface CommandRow extends Span {
  /** What it does, for people. */
  says: { ZH: string; EN: string }
  content: ContentKind
  args: Readonly<Record<string, ValueKind>>
  /** Takes any argument. */
  openArgs?: true
  /** Since this version any argument is a variable of the scene that is called; before, it is not looked at. */
  localsSince?: string
  /** Goes on to the next statement by itself. */
  next?: true
  /** Nothing after it is reached, unless a label is. */
  leaves?: true
  /** In the list of the npm parser, not in the engine: there it is dialogue. */
  parserOnly?: true
  /** Without content it does nothing that anybody could want. */
  needsContent?: true
}

const flag = { is: 'flag' } as const
const number = { is: 'number' } as const
const text = { is: 'text' } as const
const json = { is: 'json' } as const
const transform = { is: 'transform' } as const
const target = { is: 'target' } as const
const animation = { is: 'animation' } as const
/** The same, but only from this version on. */
const from = <T extends ValueKind>(since: string, kind: T): T & Span => ({ ...kind, since })
const file = (folder: Folder) => ({ is: 'file', folder }) as const
const oneOf = (...values: string[]) => ({ is: 'one of', values }) as const

const eases = ['', 'In', 'Out', 'InOut']
const ease = oneOf(
  'linear',
  'anticipate',
  ...['ease', 'circ', 'back', 'bounce'].flatMap((name) => eases.slice(1).map((end) => `${name}${end}`)),
)
const fontSize = oneOf('small', 'medium', 'large', 'default')
const thirds = from('4.6.3', flag)
const sides = { left: flag, right: flag, center: flag, left13: thirds, right13: thirds, left14: thirds, right14: thirds } as const
const ignoreDefault = from('4.6.1', flag)
const transformFrom = from('4.6.5', oneOf('current', 'default'))
const animationArgs = {
  target,
  writeDefault: flag,
  keep: flag,
  parallel: from('4.5.20', flag),
  ignoreDefault,
  transformFrom,
} as const
const figureFile = file('figure')

/** What an animation can happen to; a figure with an id has its id besides. */
export const targets: readonly (Span & { name: string })[] = [
  ...['stage-main', 'bg-main', 'fig-left', 'fig-center', 'fig-right'].map((name) => ({ name })),
  ...['fig-left13', 'fig-right13', 'fig-left14', 'fig-right14'].map((name) => ({ name, since: '4.6.3' })),
]

/** Features of the language itself. */
export const featureSince = {
  continuedLines: '4.6.3',
  opus: '4.6.3',
  vocalArgument: '4.6.1',
  animationObjects: '4.6.6',
  flowchart: '4.6.2',
} as const

/** Keys of a transform and of the frames of an animation. `position` and `scale` hold x and y, the others a number, `ease` a word. */
export const transformKeys: readonly string[] = [
  'alpha',
  'scale',
  'position',
  'rotation',
  'blur',
  'brightness',
  'contrast',
  'saturation',
  'gamma',
  'colorRed',
  'colorGreen',
  'colorBlue',
  ...['', 'Thickness', 'Rotation', 'Softness', 'Red', 'Green', 'Blue'].map((end) => `bevel${end}`),
  ...['', 'Brightness', 'Blur', 'Threshold'].map((end) => `bloom${end}`),
  'oldFilm',
  'dotFilm',
  'reflectionFilm',
  'glitchFilm',
  'rgbFilm',
  'godrayFilm',
  'shockwaveFilter',
  'radiusAlphaFilter',
  'duration',
  'ease',
]

/** Commands of the first engines, of which nobody wrote down what they take. */
const early = { content: { is: 'text' }, args: {}, openArgs: true, until: '4.2.15' } as const

/** Arguments every command takes. */
export const everywhere: Readonly<Record<string, ValueKind>> = { next: flag, when: { is: 'expression' }, continue: flag }

/**
 * The language as data, for engine 4.0.3 to 4.6.6; what no version is written beside is taken to be in all of them. The parser, the checks, the docs page and the hover text come from this table
 * and from nowhere else.
 */
export const commands: Readonly<Record<string, CommandRow>> = {
  say: {
    says: { ZH: '对话', EN: 'Dialogue' },
    content: { is: 'text' },
    args: {
      speaker: text,
      clear: flag,
      vocal: file('vocal'),
      volume: number,
      concat: flag,
      notend: flag,
      fontSize,
      figureId: text,
      id: text,
      ...sides,
    },
  },
  changeBg: {
    says: { ZH: '切换背景', EN: 'Change the background' },
    content: file('background'),
    args: {
      unlockname: text,
      series: text,
      order: from('4.6.1', number),
      transform,
      duration: number,
      enterDuration: number,
      exitDuration: number,
      ease,
      ignoreDefault,
      enter: animation,
      exit: animation,
    },
  },
  changeFigure: {
    says: { ZH: '切换立绘', EN: 'Change a figure' },
    content: figureFile,
    args: {
      ...sides,
      clear: flag,
      none: flag,
      id: text,
      motion: text,
      skin: from('4.5.19', text),
      expression: text,
      bounds: text,
      blink: json,
      focus: json,
      mouthOpen: figureFile,
      mouthHalfOpen: figureFile,
      mouthClose: figureFile,
      eyesOpen: figureFile,
      eyesClose: figureFile,
      animationFlag: text,
      transform,
      ease,
      duration: number,
      enter: animation,
      exit: animation,
      zIndex: number,
      blendMode: text,
      enterDuration: number,
      exitDuration: number,
      ignoreDefault,
    },
  },
  changeFigureDiff: {
    says: { ZH: '切换立绘差分', EN: 'Change the face of a figure' },
    content: figureFile,
    args: {
      ...sides,
      id: text,
      mouthOpen: figureFile,
      mouthHalfOpen: figureFile,
      mouthClose: figureFile,
      eyesOpen: figureFile,
      eyesClose: figureFile,
      animationFlag: text,
    },
    since: '4.6.5',
  },
  miniAvatar: { says: { ZH: '小头像', EN: 'Small portrait' }, content: figureFile, args: {}, next: true },
  bgm: {
    says: { ZH: '背景音乐', EN: 'Background music' },
    content: file('bgm'),
    args: { volume: number, enter: number, unlockname: text, series: text },
    next: true,
  },
  playEffect: {
    says: { ZH: '播放效果音', EN: 'Play a sound' },
    content: file('vocal'),
    args: { id: text, volume: number },
    next: true,
  },
  playVideo: {
    says: { ZH: '播放视频', EN: 'Play a video' },
    content: file('video'),
    args: { skipOff: flag },
    needsContent: true,
  },
  unlockCg: {
    says: { ZH: '解锁 CG', EN: 'Unlock a picture' },
    content: file('background'),
    args: { name: text, series: text, order: from('4.6.1', number) },
    next: true,
    needsContent: true,
  },
  unlockBgm: {
    says: { ZH: '解锁音乐', EN: 'Unlock a piece of music' },
    content: file('bgm'),
    args: { name: text, series: text },
    next: true,
    needsContent: true,
  },
  intro: {
    says: { ZH: '黑屏文字', EN: 'Text on a plain screen' },
    content: { is: 'text' },
    args: {
      fontSize,
      backgroundImage: file('background'),
      backgroundColor: text,
      fontColor: text,
      animation: oneOf('fadeIn', 'slideIn', 'typingEffect', 'pixelateEffect', 'revealAnimation'),
      delayTime: number,
      hold: flag,
      userForward: flag,
    },
  },
  changeScene: { says: { ZH: '跳到另一个场景', EN: 'Go to another scene' }, content: file('scene'), args: {}, leaves: true },
  callScene: {
    says: { ZH: '调用场景，结束后返回', EN: 'Play another scene and come back' },
    content: file('scene'),
    args: {},
    openArgs: true,
    localsSince: '4.6.3',
  },
  return: {
    says: { ZH: '从场景返回', EN: 'Come back from a scene' },
    content: { is: 'expression' },
    args: {},
    since: '4.6.3',
    leaves: true,
  },
  choose: {
    says: { ZH: '选项分支', EN: 'Let the player choose' },
    content: { is: 'choices' },
    needsContent: true,
    args: { defaultChoose: from('4.5.20', number) },
  },
  label: { says: { ZH: '标签', EN: 'A place to jump to' }, content: { is: 'label' }, args: {}, next: true, needsContent: true },
  jumpLabel: { says: { ZH: '跳到标签', EN: 'Jump to a label' }, content: { is: 'target label' }, args: {}, leaves: true },
  setVar: {
    says: { ZH: '设置变量', EN: 'Set a variable' },
    content: { is: 'assignment' },
    args: { global: flag, local: from('4.6.3', flag) },
    next: true,
  },
  getUserInput: {
    says: { ZH: '获取用户输入', EN: 'Ask the player for words' },
    content: { is: 'variable' },
    needsContent: true,
    args: {
      title: text,
      buttonText: text,
      defaultValue: text,
      rule: from('4.5.19', text),
      ruleFlag: from('4.5.19', text),
      ruleText: from('4.5.19', text),
      ruleButtonText: from('4.5.19', text),
    },
  },
  setAnimation: {
    says: { ZH: '播放动画', EN: 'Play an animation' },
    content: { is: 'animation' },
    args: animationArgs,
    needsContent: true,
  },
  setTempAnimation: {
    says: { ZH: '播放临时动画', EN: 'Play an animation written here' },
    content: { is: 'frames' },
    args: { ...animationArgs, relative: from('4.6.6', flag), inherit: from('4.6.6', flag) },
  },
  setTransform: {
    says: { ZH: '设置变换', EN: 'Move, scale or filter something' },
    content: { is: 'transform' },
    args: { ...animationArgs, duration: number, ease },
  },
  setComplexAnimation: {
    says: { ZH: '播放复杂动画', EN: 'Play a built-in animation' },
    content: oneOf('universalSoftIn', 'universalSoftOff', 'testblur'),
    args: { target, duration: number },
  },
  setTransition: {
    says: { ZH: '设置进出场动画', EN: 'Set how something comes and goes' },
    content: { is: 'text' },
    args: { target, enter: animation, exit: animation, ignoreDefault },
    next: true,
  },
  pixiPerform: {
    says: { ZH: '粒子特效', EN: 'Weather and particles' },
    content: oneOf('snow', 'heavySnow', 'rain', 'cherryBlossoms'),
    args: {},
    next: true,
  },
  pixiInit: { says: { ZH: '清除特效', EN: 'Clear the particles' }, content: { is: 'nothing' }, args: {}, next: true },
  end: { says: { ZH: '结束游戏', EN: 'End the game' }, content: { is: 'nothing' }, args: {}, leaves: true },
  showVars: { says: { ZH: '显示变量（调试）', EN: 'Show the variables' }, content: { is: 'nothing' }, args: {} },
  setTextbox: { says: { ZH: '显示或隐藏文本框', EN: 'Show or hide the text box' }, content: { is: 'text' }, args: {} },
  filmMode: { says: { ZH: '电影模式', EN: 'Film mode' }, content: { is: 'text' }, args: {}, next: true },
  wait: { says: { ZH: '等待', EN: 'Wait' }, content: { is: 'number' }, args: { nobreak: from('4.5.20', flag) } },
  applyStyle: { says: { ZH: '替换样式', EN: 'Swap styles' }, content: { is: 'text' }, args: {}, next: true },
  callSteam: { says: { ZH: '调用 Steam', EN: 'Call Steam' }, content: { is: 'text' }, args: { achievementId: text }, next: true },
  setFilter: { says: { ZH: '（无作用）', EN: '(does nothing)' }, content: { is: 'text' }, args: {} },
  setBgAni: { says: { ZH: '背景动画', EN: 'Play an animation on the background' }, ...early },
  setFigAni: { says: { ZH: '立绘动画', EN: 'Play an animation on a figure' }, ...early },
  setBgTransform: { says: { ZH: '背景变换', EN: 'Move or scale the background' }, ...early },
  setBgFilter: { says: { ZH: '背景滤镜', EN: 'Filter the background' }, ...early },
  if: {
    says: { ZH: '（引擎没有）', EN: '(not in the engine)' },
    content: { is: 'text' },
    args: {},
    next: true,
    parserOnly: true,
  },
  chooseLabel: { says: { ZH: '（引擎没有）', EN: '(not in the engine)' }, content: { is: 'text' }, args: {}, parserOnly: true },
}

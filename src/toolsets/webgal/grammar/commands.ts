/** What may stand where a value is expected. */
export type ValueKind =
  | { is: 'flag' }
  | { is: 'number' }
  | { is: 'text' }
  | { is: 'json' }
  | { is: 'expression' }
  | { is: 'file'; folder: Folder }
  | { is: 'one of'; values: readonly string[] }

/** Folders below `game/` that the engine reads from. */
export const folders = ['background', 'figure', 'bgm', 'vocal', 'video', 'scene', 'animation'] as const
export type Folder = (typeof folders)[number]

export type ContentKind =
  | { is: 'text' }
  | { is: 'nothing' }
  | { is: 'file'; folder: Folder }
  | { is: 'json'; shape: 'object' | 'list' }
  | { is: 'choices' }
  | { is: 'label' }
  | { is: 'target label' }
  | { is: 'assignment' }
  | { is: 'variable' }
  | { is: 'expression' }
  | { is: 'number' }
  | { is: 'animation' }
  | { is: 'one of'; values: readonly string[] }

export interface CommandRow {
  /** What it does, for people. */
  says: { ZH: string; EN: string }
  content: ContentKind
  args: Readonly<Record<string, ValueKind>>
  /** Takes any argument, as local variables. */
  openArgs?: true
  /** Goes on to the next statement by itself. */
  next?: true
  /** Nothing after it is reached, unless a label is. */
  leaves?: true
  /** In the list of the npm parser, not in the engine: there it is dialogue. */
  parserOnly?: true
  /** In the engine since this version, not in the list of the npm parser 4.5.18. */
  since?: string
}

const flag = { is: 'flag' } as const
const number = { is: 'number' } as const
const text = { is: 'text' } as const
const json = { is: 'json' } as const
const file = (folder: Folder) => ({ is: 'file', folder }) as const
const oneOf = (...values: string[]) => ({ is: 'one of', values }) as const

const eases = ['', 'In', 'Out', 'InOut']
const ease = oneOf(
  'linear',
  'anticipate',
  ...['ease', 'circ', 'back', 'bounce'].flatMap((name) => eases.slice(1).map((end) => `${name}${end}`)),
)
const fontSize = oneOf('small', 'medium', 'large', 'default')
const sides = { left: flag, right: flag, center: flag, left13: flag, right13: flag, left14: flag, right14: flag } as const
const animationArgs = { target: text, writeDefault: flag, keep: flag, parallel: flag, ignoreDefault: flag } as const
const figureFile = file('figure')

/** Arguments every command takes. */
export const everywhere: Readonly<Record<string, ValueKind>> = { next: flag, when: { is: 'expression' }, continue: flag }

/**
 * The language as data, for engine 4.5.18 to 4.6.4. The parser, the checks, the docs page and the hover text come from this table
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
      order: number,
      transform: json,
      duration: number,
      enterDuration: number,
      exitDuration: number,
      ease,
      ignoreDefault: flag,
      enter: text,
      exit: text,
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
      skin: text,
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
      transform: json,
      ease,
      duration: number,
      enter: text,
      exit: text,
      zIndex: number,
      blendMode: text,
      enterDuration: number,
      exitDuration: number,
      ignoreDefault: flag,
    },
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
  playVideo: { says: { ZH: '播放视频', EN: 'Play a video' }, content: file('video'), args: { skipOff: flag } },
  unlockCg: {
    says: { ZH: '解锁 CG', EN: 'Unlock a picture' },
    content: file('background'),
    args: { name: text, series: text, order: number },
    next: true,
  },
  unlockBgm: {
    says: { ZH: '解锁音乐', EN: 'Unlock a piece of music' },
    content: file('bgm'),
    args: { name: text, series: text },
    next: true,
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
    args: { defaultChoose: number },
  },
  label: { says: { ZH: '标签', EN: 'A place to jump to' }, content: { is: 'label' }, args: {}, next: true },
  jumpLabel: { says: { ZH: '跳到标签', EN: 'Jump to a label' }, content: { is: 'target label' }, args: {}, leaves: true },
  setVar: {
    says: { ZH: '设置变量', EN: 'Set a variable' },
    content: { is: 'assignment' },
    args: { global: flag, local: flag },
    next: true,
  },
  getUserInput: {
    says: { ZH: '获取用户输入', EN: 'Ask the player for words' },
    content: { is: 'variable' },
    args: {
      title: text,
      buttonText: text,
      defaultValue: text,
      rule: text,
      ruleFlag: text,
      ruleText: text,
      ruleButtonText: text,
    },
  },
  setAnimation: { says: { ZH: '播放动画', EN: 'Play an animation' }, content: { is: 'animation' }, args: animationArgs },
  setTempAnimation: {
    says: { ZH: '播放临时动画', EN: 'Play an animation written here' },
    content: { is: 'json', shape: 'list' },
    args: animationArgs,
  },
  setTransform: {
    says: { ZH: '设置变换', EN: 'Move, scale or filter something' },
    content: { is: 'json', shape: 'object' },
    args: { ...animationArgs, duration: number, ease },
  },
  setComplexAnimation: {
    says: { ZH: '播放复杂动画', EN: 'Play a built-in animation' },
    content: oneOf('universalSoftIn', 'universalSoftOff', 'testblur'),
    args: { target: text, duration: number },
  },
  setTransition: {
    says: { ZH: '设置进出场动画', EN: 'Set how something comes and goes' },
    content: { is: 'text' },
    args: { target: text, enter: text, exit: text, ignoreDefault: flag },
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
  wait: { says: { ZH: '等待', EN: 'Wait' }, content: { is: 'number' }, args: { nobreak: flag } },
  applyStyle: { says: { ZH: '替换样式', EN: 'Swap styles' }, content: { is: 'text' }, args: {}, next: true },
  callSteam: { says: { ZH: '调用 Steam', EN: 'Call Steam' }, content: { is: 'text' }, args: { achievementId: text }, next: true },
  setFilter: { says: { ZH: '（无作用）', EN: '(does nothing)' }, content: { is: 'text' }, args: {} },
  if: {
    says: { ZH: '（引擎没有）', EN: '(not in the engine)' },
    content: { is: 'text' },
    args: {},
    next: true,
    parserOnly: true,
  },
  chooseLabel: { says: { ZH: '（引擎没有）', EN: '(not in the engine)' }, content: { is: 'text' }, args: {}, parserOnly: true },
}

/** What was a command once, or is often taken for one, and what to write instead. In the engine it is a speaker's name. */
export const mistaken: Readonly<Record<string, { instead: string; obsolete?: true }>> = {
  setBgAni: { instead: 'setAnimation:<name> -target=bg-main', obsolete: true },
  setFigAni: { instead: 'setAnimation:<name> -target=fig-center', obsolete: true },
  setBgTransform: { instead: 'setTransform:{…} -target=bg-main', obsolete: true },
  setBgFilter: { instead: 'setTransform:{…} -target=bg-main', obsolete: true },
  setFigTransform: { instead: 'setTransform:{…} -target=fig-center', obsolete: true },
  if: { instead: '-when=<condition>' },
  else: { instead: '-when=<condition>' },
  elseif: { instead: '-when=<condition>' },
  endif: { instead: '-when=<condition>' },
  chooseLabel: { instead: 'choose:<text>:<label>' },
  video: { instead: 'playVideo:<file>' },
  playVocal: { instead: '<speaker>:<text> -<file>.mp3' },
  playMusic: { instead: 'bgm:<file>' },
  playBgm: { instead: 'bgm:<file>' },
  playSound: { instead: 'playEffect:<file>' },
  playSe: { instead: 'playEffect:<file>' },
  stopBgm: { instead: 'bgm:none' },
  showFigure: { instead: 'changeFigure:<file>' },
  hideFigure: { instead: 'changeFigure:none' },
  setBg: { instead: 'changeBg:<file>' },
  background: { instead: 'changeBg:<file>' },
  jump: { instead: 'jumpLabel:<label>' },
  goto: { instead: 'jumpLabel:<label>' },
  setVariable: { instead: 'setVar:<name>=<value>' },
  comment: { instead: ';<comment>' },
}

/** What Terre writes until the author picks a file. */
export const placeholders = [
  '选择场景文件',
  '选择立绘文件',
  '选择视频文件',
  '选择背景图片',
  'Choose Figure File',
  'Choose Scene File',
]

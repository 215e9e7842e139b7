/** A way in which a line of a script goes wrong: the line with it, or nothing where the line has no place for it. */
export type Injector = (line: string, pick: (count: number) => number) => string | undefined

const at = (text: string, index: number, length: number, put: string): string =>
  text.slice(0, index) + put + text.slice(index + length)
const command = (line: string): string | undefined => /^([a-z]+[A-Z][A-Za-z]*|bgm|choose|label|intro|wait)(?=:)/.exec(line)?.[1]
const content = (line: string): string => /^[^:]*:(.*?)(?= -|;|$)/.exec(line)?.[1] ?? ''
const isTalk = (line: string): boolean => /^[^:;]*:/.test(line) && command(line) === undefined && !/^(?:end|pixiInit)/.test(line)
const fileIn = (line: string): string | undefined => /[\w-]+\.(?:webp|wav|png|mp3|txt|json)/.exec(line)?.[0]
const swap = (text: string, place: number): string =>
  text.slice(0, place) + (text[place + 1] ?? '') + (text[place] ?? '') + text.slice(place + 2)
const inWord = (word: string, pick: (count: number) => number): string | undefined => {
  const places = [...word]
    .map((_, index) => index)
    .filter((index) => index > 0 && index < word.length - 1 && word[index] !== word[index + 1])
  return places.length === 0 ? undefined : swap(word, places[pick(places.length)] as number)
}
const json = (line: string): RegExpExecArray | null => /\{"[^ ]*\}/.exec(line)
const replaced = (line: string, from: string | RegExp, to: string): string | undefined => {
  const made = line.replace(from, to)
  return made === line ? undefined : made
}

/** Mistakes that people and models make, by kind. */
export const faults: Readonly<Record<string, Injector>> = {
  'command misspelt': (line, pick) => {
    const name = command(line)
    const made = name !== undefined && name.length > 5 ? inWord(name, pick) : undefined
    return made === undefined || made.toLowerCase() === name?.toLowerCase() ? undefined : line.replace(name as string, made)
  },
  'command in other letters': (line) => {
    const name = command(line)
    return name !== undefined && /[A-Z]/.test(name) ? line.replace(name, name.toLowerCase()) : undefined
  },
  'blank before the colon': (line) => (command(line) ? line.replace(':', ' :') : undefined),
  'blank before the command': (line) => (command(line) ? ` ${line}` : undefined),
  'full-width colon after a command': (line) =>
    command(line) && line.split(':').length === 2 ? line.replace(':', '：') : undefined,
  'full-width colon after a speaker': (line) => (isTalk(line) && !line.startsWith(':') ? line.replace(':', '：') : undefined),
  'no colon': (line) => (command(line) && content(line) !== '' ? line.replace(':', ' ') : undefined),
  'file misspelt': (line, pick) => {
    const file = fileIn(line)
    const made = file === undefined ? undefined : inWord(file.replace(/\..*/, ''), pick)
    return made === undefined ? undefined : line.replace(file as string, (file as string).replace(/^[^.]*/, made))
  },
  'file in other letters': (line) => {
    const file = fileIn(line)
    return file === undefined ? undefined : line.replace(file, file.toUpperCase())
  },
  'file with another ending': (line) => {
    const file = fileIn(line)
    return file === undefined || file.endsWith('.txt') ? undefined : line.replace(file, file.replace(/\.\w+$/, '.jpg'))
  },
  'argument glued to the file': (line) => replaced(line, /(\.(?:webp|wav|png)) -(?=[a-z])/, '$1-'),
  'two arguments glued': (line) => replaced(line, / -(left|right) -next/, ' -$1-next'),
  'argument glued to a value': (line) => replaced(line, /(=[\w.-]+) -(next|keep)/, '$1-$2'),
  'argument misspelt': (line, pick) => {
    const key = / -([a-z]{4,}[A-Za-z]*)(?:=|;| |$)/.exec(line)?.[1]
    const made = key === undefined ? undefined : inWord(key, pick)
    return made === undefined ? undefined : line.replace(` -${key}`, ` -${made}`)
  },
  'argument in other letters': (line) => {
    const key = / -([a-z]{4,}[A-Za-z]*)(?:=|;| |$)/.exec(line)?.[1]
    return key === undefined ? undefined : line.replace(` -${key}`, ` -${key.toUpperCase()}`)
  },
  'argument before the file': (line) => replaced(line, /^(change\w+):(\S+) -(left|right)/, '$1:-$3 $2'),
  'number in words': (line) => replaced(line, /-(duration|volume|enter|delayTime)=\d+/, '-$1=long'),
  'no such ease': (line) => replaced(line, /-ease=\w+/, '-ease=smoothly'),
  'no such target': (line) => replaced(line, /-target=(fig|bg)-(\w)(\w)/, '-target=$1-$3$2'),
  'minus after a blank in JSON': (line) => replaced(line, /:-(\d)/, ': -$1'),
  'JSON not closed': (line) => replaced(line, /\}(?=[ ;]|$)/, ''),
  'key of JSON misspelt': (line, pick) => {
    const found = json(line) && /"(position|scale|alpha|rotation|blur|duration)"/.exec(line)?.[1]
    const made = found ? inWord(found, pick) : undefined
    return made === undefined ? undefined : line.replace(`"${found}"`, `"${made}"`)
  },
  'list for an object': (line) => replaced(line, /^setTransform:(\{[^ ]*\})/, 'setTransform:[$1]'),
  'object for a list': (line) => replaced(line, /^setTempAnimation:\[(\{[^\]]*?\})[^ ]*\]/, 'setTempAnimation:$1'),
  'key of JSON without quotes': (line) => replaced(line, /"(position|alpha|scale)"/, '$1'),
  'label misspelt': (line, pick) => {
    const name = /^jumpLabel:(\w{4,})/.exec(line)?.[1]
    const made = name === undefined ? undefined : inWord(name, pick)
    return made === undefined ? undefined : line.replace(name as string, made)
  },
  'target of a choice misspelt': (line, pick) => {
    const name = /^choose:.*?[^\\]:(\w{4,})(?:\||;|\.)/.exec(line)?.[1]
    const made = name === undefined ? undefined : inWord(name, pick)
    return made === undefined ? undefined : line.replace(`:${name}`, `:${made}`)
  },
  'a colon too many in a choice': (line) => replaced(line, /^choose:([^:|]+):/, 'choose:$1:now:'),
  'a choice without target': (line) => replaced(line, /^choose:([^:|]+):[^|;]+/, 'choose:$1'),
  'an arrow in a choice': (line) => replaced(line, /^choose:([^:|>(]+):/, 'choose:"$1" -> '),
  'full-width sign in a condition': (line) => replaced(line, /(-when=[^ ;]*?)(==|>=|<)/, '$1＝'),
  'one equals sign in a condition': (line) => replaced(line, /(-when=[^ ;]*?)==/, '$1='),
  'bracket not closed in a condition': (line) => replaced(line, /-when=/, '-when=('),
  // A name nobody sets is told once a scene: each gets one of its own.
  'variable misspelt in a condition': (line, pick) => replaced(line, /-when=(\w+)/, `-when=$1x${pick(1_000_000)}`),
  'two equals signs in setVar': (line) => replaced(line, /^(setVar:\w+)=/, '$1=='),
  'no value in setVar': (line) => replaced(line, /^(setVar:\w+)=.*;/, '$1;'),
  'full-width semicolon': (line) => (line.endsWith(';') ? at(line, line.length - 1, 1, '；') : undefined),
  'comment with slashes': (line) => (line.startsWith(';') ? line.replace(';', '// ') : undefined),
  'hyphen in dialogue': (line) =>
    isTalk(line) && / \w/.test(content(line)) ? line.replace(/(:[^ ]+) (?=\w)/, '$1 - ') : undefined,
  'semicolon in dialogue': (line) => (isTalk(line) ? replaced(line, /([，,]) ?(?=[^;]*;$)/, '; ') : undefined),
  'close for none': (line) => replaced(line, /^(change\w+|bgm):none/, '$1:close'),
  'nothing where something is needed': (line) =>
    replaced(line, /^(unlockCg|unlockBgm|playVideo|setAnimation|getUserInput|label|changeScene|callScene):[^ ;]+/, '$1:'),
  'placeholder of the editor': (line) =>
    replaced(line, /^(changeFigure|changeBg|bgm|changeScene):[^ ;]+/, '$1:Choose a file of figure'),
  'no such animation': (line) => replaced(line, /^(setAnimation):\w+/, '$1:没有 的动画'),
  'a speaker and quotes': (line) =>
    isTalk(line) && /^[A-Z]\w+:[^"\\-]*;$/.test(line) ? line.replace(/^(\w+):(.*);$/, '$1 "$2"') : undefined,
  'a command of nobody’s': (line) => replaced(line, /^(changeFigure|changeBg|bgm):/, 'showPicture:'),
  'a condition in braces': (line) => (isTalk(line) ? 'if (trust > 1) {' : undefined),
  'more behind a bare command': (line) => (/^(?:end|pixiInit);$/.test(line) ? line.replace(';', ' -next;') : undefined),
  'comma at the end of JSON': (line) => replaced(line, /(\d)\}(?=[ ;])/, '$1,}'),
  'single quotes in JSON': (line) => (json(line) ? line.replaceAll('"', "'") : undefined),
  'full-width hyphen before an argument': (line) => (command(line) ? replaced(line, / -([a-z])/, ' －$1') : undefined),
  'tab before an argument': (line) => (command(line) && fileIn(line) ? replaced(line, / -([a-z])/, '\t-$1') : undefined),
  'two commands on one line': (line) => (command(line) && line.endsWith(';') ? `${line} changeBg:study.webp -next;` : undefined),
  'scene without its ending': (line) => replaced(line, /^((?:changeScene|callScene):\w+)\.txt/, '$1'),
  'scene with its folders': (line) => replaced(line, /^((?:changeScene|callScene):)/, '$1game/scene/'),
  'file with its folder': (line) => replaced(line, /^changeBg:(?=\w+\.)/, 'changeBg:background/'),
  'file of another folder': (line) => replaced(line, /^changeFigure:\w+\.webp/, 'changeFigure:study.webp'),
  'comma between options': (line) => (line.startsWith('choose:') ? replaced(line, /\|/g, ',') : undefined),
  'full-width bar between options': (line) => (line.startsWith('choose:') ? replaced(line, /\|/g, '｜') : undefined),
  'full-width colon in a choice': (line) => (line.startsWith('choose:') ? at(line, line.lastIndexOf(':'), 1, '：') : undefined),
  'plus equals in setVar': (line) => replaced(line, /^(setVar:\w+)=/, '$1+='),
  'colon equals in setVar': (line) => replaced(line, /^(setVar:\w+)=/, '$1:='),
  'words for signs in a condition': (line) => replaced(line, /(-when=[^ ;]+)/, '$1 and lit==1'),
  'scene as a label': (line) => replaced(line, /^jumpLabel:\w+/, 'jumpLabel:lamp.txt'),
  'label as a scene': (line) => replaced(line, /^changeScene:\w+\.txt/, 'changeScene:search'),
  'quotes around a file': (line) => (command(line) ? replaced(line, /^(\w+:)([\w-]+\.\w+)/, '$1"$2"') : undefined),
  'blank inside a command': (line) => replaced(line, /^([a-z]+)([A-Z]\w*:)/, '$1 $2'),
  'full-width equals in an argument': (line) => (command(line) ? replaced(line, /( -[a-z]\w+)=/, '$1＝') : undefined),
}

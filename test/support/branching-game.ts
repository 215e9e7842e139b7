const names = [
  '海边的约会',
  '第三章·雪乃的回忆与那个夏天的最后一封没有寄出的信',
  '夜',
  '车站告别',
  'chapter',
  '文化祭前夜的天台对话其一',
  'ルート分岐の夜',
  '엔딩',
]

/** A game of so many scenes as games are: choices, loops back, calls, endings, dead ends, scenes nobody reaches, targets and labels that are not there. */
export function branchingGame(count: number): Record<string, string> {
  const name = (index: number): string => (index === 0 ? 'start' : `${names[index % names.length]}${index}`)
  const last = Math.floor(count * 0.93)
  const files: Record<string, string> = {
    'game/config.txt': 'Game_name:夏日海边;\nGame_key:abc123;\n',
    'game/background/a.png': '',
  }
  for (let index = 0; index < count; index++) {
    const to = (by: number): string => `${name(Math.max(0, Math.min(last, index + by)))}.txt`
    const lines = [`雪乃:这是第${index}个场景，海风真舒服呢。;`, ':She counts the waves.;']
    if (index % 17 === 5) lines.push('label:here;', 'jumpLabel:nowhere;')
    if (index > last) lines.push(index % 2 === 1 && index + 1 < count ? `changeScene:${name(index + 1)}.txt;` : 'end;')
    else if (index >= count * 0.9) lines.push(index % 3 === 0 ? ':nothing;' : 'end;')
    else if (index % 5 === 0)
      lines.push(
        `choose:和她一起去海边看日落:${to(1)}|留在家里:${to(2)}|(score>3)->Tell her the truth about the letter:${to(3 + (index % 4))};`,
      )
    else if (index % 23 === 7) lines.push('setVar:score=score+1;', `choose:再来一次:${to(-6)}|走:${to(1)}|x:missing${index}.txt;`)
    else if (index % 31 === 9) lines.push(`callScene:${to(2)};`, `changeScene:${to(1)};`)
    else lines.push(`changeScene:${to(1)};`)
    files[`game/scene/${name(index)}.txt`] = `${lines.join('\n')}\n`
  }
  return files
}

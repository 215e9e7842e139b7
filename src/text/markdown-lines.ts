/** Every line of a text, and whether it belongs to a fence (its first and last line do). An open fence goes on to the end. */
export function* outsideFences(text: string): Generator<{ line: string; fenced: boolean; at: number }> {
  let fence: { mark: string; length: number } | undefined
  let at = 0
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, mark = ''] = /^[ \t]*(`{3,}|~{3,})/.exec(line) ?? []
    const isFence = mark !== ''
    if (!fence && isFence && !(mark.startsWith('`') && line.slice(line.indexOf(mark) + mark.length).includes('`'))) {
      fence = { mark: mark[0] as string, length: mark.length }
      yield { line, fenced: true, at: at++ }
      continue
    }
    const closes =
      fence && isFence && mark.startsWith(fence.mark) && mark.length >= fence.length && /^[ \t]*[`~]+[ \t]*$/.test(line)
    yield { line, fenced: fence !== undefined, at: at++ }
    if (closes) fence = undefined
  }
}

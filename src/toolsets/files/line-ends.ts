const mark = '\uFEFF'

/** Whether every line of a text ends in CR LF. */
export function isCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text)
}

/** New content in the manner of the file it replaces: models write LF and no byte order mark, the file keeps its own. */
export function inMannerOf(before: string | undefined, content: string): string {
  if (before === undefined) return content
  const ended = isCrlf(before) && !content.includes('\r') ? content.replaceAll('\n', '\r\n') : content
  return before.startsWith(mark) && !ended.startsWith(mark) ? mark + ended : ended
}

/** Works on a text with plain LF and gives back the line ends it had, where they are all alike. */
export async function withPlainLineEnds<T extends { text: string }>(
  text: string,
  work: (plain: string, toPlain: (part: string) => string) => T | Promise<T>,
): Promise<T> {
  if (!isCrlf(text)) return work(text, (part) => part)
  const toPlain = (part: string): string => part.replaceAll('\r\n', '\n')
  const done = await work(toPlain(text), toPlain)
  return { ...done, text: done.text.replaceAll('\n', '\r\n') }
}

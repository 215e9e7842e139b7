/**
 * The tool's own answer inside whatever a client made of the MCP result before it showed it to the model: the structured content
 * alone, the whole result as JSON, a list of text parts, or an object around any of these.
 */
export function answerIn(shown) {
  if (typeof shown === 'string') {
    // Claude Code appends remarks of its own, Gemini CLI marks what comes from outside.
    const value = parsed(shown.replace(/\s*<system-reminder>[^]*$/, '').replaceAll(/<\/?untrusted_context>/g, ''))
    return value === undefined ? { text: shown } : answerIn(value)
  }
  if (Array.isArray(shown)) {
    const found = shown.map(answerIn).find((answer) => answer && !('text' in answer && Object.keys(answer).length === 1))
    return found ?? { text: shown.map((part) => part?.text ?? JSON.stringify(part)).join('\n') }
  }
  if (shown === null || typeof shown !== 'object') return { text: String(shown) }
  if (shown.structuredContent) return shown.structuredContent
  if (shown.type === 'text' && typeof shown.text === 'string') return answerIn(shown.text)
  for (const wrapper of ['content', 'output', 'result', 'error'])
    if (Object.keys(shown).length <= 3 && wrapsAnswer(shown[wrapper])) return answerIn(shown[wrapper])
  return shown
}

/** `content` of read_file is a plain string and not a wrapper; a list of parts, or JSON in a string, is one. */
function wrapsAnswer(value) {
  if (Array.isArray(value)) return value.length > 0 && value.every((part) => typeof part === 'object' && part !== null)
  return typeof value === 'string' && !('text' in answerIn(value))
}

function parsed(text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

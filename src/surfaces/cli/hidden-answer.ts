import { Interrupted } from './interrupted.ts'

/** What the person types at the terminal, shown nowhere. */
export function hiddenAnswer(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  return new Promise((resolve, reject) => {
    let typed = ''
    const end = (act: () => void): void => {
      stdin.setRawMode(false)
      stdin.pause()
      stdin.removeListener('data', hear)
      stderr.write('\n')
      act()
    }
    const hear = (text: string): void => {
      for (const character of text) {
        if (character === '\r' || character === '\n' || character === '\u0004') return end(() => resolve(typed))
        if (character === '\u0003') return end(() => reject(new Interrupted()))
        if (character === '\u007f' || character === '\b') typed = [...typed].slice(0, -1).join('')
        else if (character >= ' ') typed += character
      }
    }
    stdin.setRawMode(true)
    stdin.setEncoding('utf8')
    stdin.on('data', hear)
    stdin.resume()
  })
}

// What is said while the clients run, and the table at the end.

const tick = '✔'
const cross = '✘'

export function openReport(write = (text) => process.stdout.write(text)) {
  const rows = []

  const open = (client) => {
    const row = { client, version: '', protocol: '', tools: '', passed: 0, failed: 0, remarks: [] }
    rows.push(row)
    write(`\n${client}\n`)
    const remark = (text) => {
      row.remarks.push(text)
      write(`  - ${text}\n`)
    }
    return {
      row,
      /** One line, with a tick or a cross. A step that fails does not stop the ones after it. */
      async step(name, check) {
        try {
          const detail = await check()
          row.passed += 1
          write(`  ${tick} ${name}${typeof detail === 'string' ? ` (${detail})` : ''}\n`)
          return true
        } catch (fault) {
          row.failed += 1
          write(`  ${cross} ${name}\n${indented(fault.message)}\n`)
          return false
        }
      },
      /** Said here and in the table. */
      remark,
      skip: (reason) => remark(`skipped: ${reason}`),
      note(text) {
        write(`  · ${text}\n`)
      },
    }
  }

  const table = () => {
    const lines = [
      ['client', 'version', 'protocol', 'tools', 'passed', 'failed', ''],
      ...rows.map((row) =>
        [row.client, row.version, row.protocol, row.tools, row.passed, row.failed, row.remarks.join('; ')].map(String),
      ),
    ]
    const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)))
    write(
      `\n${lines
        .map((line) =>
          line
            .map((cell, column) => cell.padEnd(widths[column]))
            .join('  ')
            .trimEnd(),
        )
        .join('\n')}\n`,
    )
  }

  return { open, table, failed: () => rows.some((row) => row.failed > 0) }
}

function indented(text) {
  const lines = text.trim().split('\n').slice(0, 14)
  return lines.map((line) => `      ${line.slice(0, 400)}`).join('\n')
}

// A reader of AgentScope's streams by what its web client really does (`@agentscope-ai/chat` is not on the registry): it dispatches on `object`,
// parses every frame, resets at a response without output, appends to and replaces the last part, and drops what was not announced.

interface Part {
  type: string
  text?: string
  data?: Record<string, unknown>
}

interface Message {
  id: string
  type: string
  role: string
  status: string
  content: Part[]
}

export interface Read {
  status: string
  output: Message[]
  error?: { code: string; message: string }
  numbers: number[]
  /** Texts as they grew. */
  grown: string[]
}

export function readAgentScope(stream: string): Read {
  const read: Read = { status: 'none', output: [], numbers: [], grown: [] }
  for (const line of stream.split('\n')) {
    if (line === '' || line.startsWith(':')) continue
    if (!line.startsWith('data: ')) throw new Error(`not a frame of data: ${line.slice(0, 80)}`)
    take(read, JSON.parse(line.slice('data: '.length)) as Record<string, unknown>)
  }
  return read
}

function take(read: Read, frame: Record<string, unknown>): void {
  if (frame['type'] === 'heartbeat' && frame['object'] === 'message') return
  read.numbers.push(frame['sequence_number'] as number)
  if (frame['object'] === 'response') {
    read.status = frame['status'] as string
    read.output = (frame['output'] as Message[] | undefined) ?? []
    if (frame['error']) read.error = frame['error'] as NonNullable<Read['error']>
  } else if (frame['object'] === 'message') {
    const message = { ...frame, content: (frame['content'] as Part[] | null) ?? [] } as unknown as Message
    const known = read.output.findIndex(({ id }) => id === message.id)
    if (known < 0) read.output.push(message)
    else read.output[known] = message
  } else if (frame['object'] === 'content') {
    const message = read.output.find(({ id }) => id === frame['msg_id'])
    if (!message) throw new Error('content of a message that was not announced')
    const part = frame as unknown as Part
    const last = message.content.at(-1)
    if (frame['delta'] === true && last) last.text = (last.text ?? '') + (part.text ?? '')
    else message.content = [...message.content.slice(0, -1), { ...part }]
    if (part.type === 'text') read.grown.push(message.content.at(-1)?.text ?? '')
  } else throw new Error(`a fatal frame: ${JSON.stringify(frame).slice(0, 120)}`)
}

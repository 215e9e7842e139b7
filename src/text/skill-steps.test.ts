import { expect, test } from 'vitest'
import { hasStepsHeading, stepsIn } from './skill-steps.ts'

const textsOf = (body: string): string[] => stepsIn(body).map(({ text }) => text)

test.each([
  [
    'a numbered list below Steps',
    '## Steps\n1) Read the outline\n2) Write the scene\n\n## Outputs\n1. A file\n',
    ['Read the outline', 'Write the scene'],
  ],
  ['Chinese, as seed 004 writes it', '## 执行步骤\n\n1. 读取大纲\n2. 写场景\n', ['读取大纲', '写场景']],
  ['full-width numbers', '### 操作流程\n1、打开\n2、保存\n', ['打开', '保存']],
  [
    'headings of steps',
    '# X\n## Step 1: Look\ntext\n### Step 2 — Write\n## Step 2: Write\nmore\n',
    ['Step 1: Look', 'Step 2: Write'],
  ],
  ['headings of phases in Chinese', '## 第一阶段：准备\n## 第二阶段：编写\n', ['第一阶段：准备', '第二阶段：编写']],
  ['第一步', '## 第一步 准备\n## 第二步 写\n', ['第一步 准备', '第二步 写']],
  ['步骤一', '### 步骤一：准备\n### 步骤 2：写\n', ['步骤一：准备', '步骤 2：写']],
  ['numbered headings', '## Workflow\n### 1. Look\nx\n### 2. Write\n', ['1. Look', '2. Write']],
  ['bold numbers', '## Process\n**1. Look**\n\n**2. Write**\n', ['Look', 'Write']],
  ['a list elsewhere, where no heading helps', '# A\n1. one\n2. two\n', ['one', 'two']],
  ['bullets below a heading of steps', '## Instructions\n- do this\n- do that\n', ['do this', 'do that']],
  ['headings below a heading of steps', '## Workflow\n### Look\ntext\n### Write\ntext\n', ['Look', 'Write']],
  ['what stands in further belongs to the step above', '## Steps\n1. a\n   1. aa\n   2. ab\n2. b\n', ['a', 'b']],
  ['numbers in a fence are code', '## Steps\n```\n1. no\n2. no\n```\n1. yes\n2. also\n', ['yes', 'also']],
  ['one alone is no list', '## Steps\n1. one\n', []],
  ['a year is no step', '# Notes\nIn 2024. Nothing.\n', []],
])('%s', (_, body, wanted) => {
  expect(textsOf(body)).toEqual(wanted)
})

test('a step has its line and what stands below it', () => {
  expect(
    stepsIn('# A\n\n## Steps\n1. Use it:\n   - tool_id: `python_run`\n   ```json\n   {"a": 1}\n   ```\n2. Done\n## Notes\nx\n'),
  ).toEqual([
    { text: 'Use it:', line: 4, detail: '   - tool_id: `python_run`\n   ```json\n   {"a": 1}\n   ```' },
    { text: 'Done', line: 9, detail: '' },
  ])
})

test('a heading that speaks of steps is known as one', () => {
  expect([
    hasStepsHeading('## Workflow'),
    hasStepsHeading('## 使用方法'),
    hasStepsHeading('## Phase 2'),
    hasStepsHeading('## Licence'),
    hasStepsHeading('```\n## Steps\n```'),
  ]).toEqual([true, true, true, false, false])
})

test('a long text of any shape takes no more than a look at each line', () => {
  const hostile = `${'## Steps '.repeat(2_000)}\n${'1. '.repeat(20_000)}\n${' '.repeat(50_000)}1. x\n${'**'.repeat(30_000)}`
  expect(stepsIn(hostile.repeat(3)).length).toBeLessThanOrEqual(200)
})

import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { act, Acted, Element, pageFaults, Tab } from './page.ts'
import { targetOf } from './page-target.ts'
import { fileNote, FilePath, filesTouched, fileToUpload } from './upload.ts'
import { chooseFile, defineTool } from './use.ts'

export const pageUpload = defineTool({
  name: 'page_upload',
  title: 'Upload a file',
  description:
    'Puts a file of the project into a file field of a page, and answers what changed. The page has it then, and may send it at once: the person is asked first. Files that hold secrets are not uploaded.',
  // What a page has been given cannot be taken back.
  risk: 'R2',
  input: Type.Object({ element: Element, path: FilePath, tab: Tab }, closed),
  output: Acted,
  faults: ['conflict', 'element-not-found', 'page-script', 'path-denied', 'not-found', 'too-large', 'trust-level', ...pageFaults],
  examples: [],
  developer: true,
  waits: true,
  touches: ({ path }) => filesTouched([path]),
  target: ({ element, tab }, use, asker) => targetOf({ element, tab }, use, asker),
  async card({ element, path, tab }, use) {
    return {
      title: `Upload a file into ${element} on a page${tab === undefined ? '' : ` (${tab})`}`,
      changes: [],
      notes: [`The page is given ${fileNote(path, use)}.`, 'What a page was given cannot be taken back.'],
    }
  },
  execute: (input, use, call) =>
    act({ element: input.element, tab: input.tab, submit: true }, use, call, ({ tab: { page } }) =>
      chooseFile(page, input.element, fileToUpload(input.path, use, call)),
    ),
})

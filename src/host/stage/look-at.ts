import { existsSync } from 'node:fs'
import { runInSlices } from '../../text/steps.ts'
import { readStory, type StageRecord, type StageStory } from './records.ts'

interface Looked {
  approval?: string
  folder?: string
  story?: StageStory | undefined
}

/** The stage that waits for an answer, for whoever reads it part by part: what is written down of it is read once. */
export function openLook(
  stages: () => Iterable<{ folder: string; record?: StageRecord | undefined }>,
): (approval: string) => Promise<Looked> {
  let looked: Looked = {}
  return async (approval) => {
    if (looked.approval === approval && looked.folder !== undefined && existsSync(looked.folder)) return looked
    const found = [...stages()].find(({ record }) => record?.approval === approval)
    looked = found ? { approval, folder: found.folder, story: await runInSlices(readStory(found.folder)) } : {}
    return looked
  }
}

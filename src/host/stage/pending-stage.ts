import { existsSync } from 'node:fs'
import { runInSlices } from '../../text/steps.ts'
import { readStory, type StageRecord, type StageStory } from './records.ts'

interface PendingStage {
  approval?: string
  folder?: string
  story?: StageStory | undefined
}

/** The stage that waits for an answer, for whoever reads it part by part: what is written down of it is read once. */
export function pendingStages(
  stages: () => Iterable<{ folder: string; record?: StageRecord | undefined }>,
): (approval: string) => Promise<PendingStage> {
  let last: PendingStage = {}
  return async (approval) => {
    if (last.approval === approval && last.folder !== undefined && existsSync(last.folder)) return last
    const found = [...stages()].find(({ record }) => record?.approval === approval)
    last = found ? { approval, folder: found.folder, story: await runInSlices(readStory(found.folder)) } : {}
    return last
  }
}

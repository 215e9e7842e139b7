import { mediaType } from '../preview/media-types.ts'

/** A file that a page is given, as it was when it was read: a page never learns where it lies. */
export interface UploadedFile {
  name: string
  bytes: Buffer
}

/** As the driver takes it. */
export const filePayload = ({ name, bytes }: UploadedFile): { name: string; mimeType: string; buffer: Buffer } => ({
  name,
  mimeType: mediaType(name),
  buffer: bytes,
})

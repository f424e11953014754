import { isAscii } from 'node:buffer'
import { createReadStream, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'
import { UserError } from '../../exit'

/** How far a file has been read, in bytes as they are stored. */
export interface Progress {
  bytes: number
  /** Of all files; `undefined` where one is standard input. */
  total: number | undefined
}

/** The size of these files. @throws UserError for one that cannot be read */
export function sizeOf(files: readonly string[]): number | undefined {
  const sizes = files
    .filter((file) => file !== '-')
    .map((file) => {
      try {
        const stat = statSync(file)
        if (stat.isDirectory()) throw new UserError(`${file} is a folder: name its files, such as ${file}/*.gz`)
        return stat.isFile() ? stat.size : undefined
      } catch (error) {
        if (error instanceof UserError) throw error
        throw unreadable(file, error)
      }
    })
  if (files.includes('-') || sizes.includes(undefined)) return undefined
  return sizes.reduce<number>((sum, size) => sum + size!, 0)
}

/**
 * The text of a file, piece by piece, unzipped where it is zipped: by its first two bytes, whatever its name says.
 *
 * @throws UserError where it cannot be read to its end.
 */
export async function* textOf(
  file: string,
  stdin: NodeJS.ReadableStream,
  progress: Progress,
): AsyncGenerator<string, void> {
  const source = file === '-' ? (stdin as Readable) : createReadStream(file, { highWaterMark: 1 << 18 })
  const decoder = new StringDecoder('utf8')
  let isFirst = true
  let isWhole = true
  try {
    for await (const piece of unzipped(counted(source, progress))) {
      // most logs are plain ASCII, which is read several times as fast
      const text = isWhole && isAscii(piece) ? piece.toString('latin1') : decoder.write(piece)
      if (piece.length > 0) isWhole = piece[piece.length - 1]! < 0x80
      if (text === '') continue
      yield isFirst && text.startsWith('\ufeff') ? text.slice(1) : text
      isFirst = false
    }
    const rest = decoder.end()
    if (rest !== '') yield rest
  } catch (error) {
    throw error instanceof UserError ? error : unreadable(file, error)
  } finally {
    if (file !== '-') (source as Readable).destroy()
  }
}

async function* counted(source: Readable, progress: Progress): AsyncGenerator<Buffer, void> {
  for await (const piece of source) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer)
    progress.bytes += bytes.length
    yield bytes
  }
}

async function* unzipped(pieces: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer, void> {
  let first = Buffer.alloc(0)
  while (first.length < 2) {
    const { value, done } = await pieces.next()
    if (done) break
    first = Buffer.concat([first, value])
  }
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    if (first.length > 0) yield first
    yield* pieces
    return
  }
  const gunzip = createGunzip({ chunkSize: 1 << 18 })
  const feed = async () => {
    gunzip.write(first)
    for await (const piece of pieces) {
      if (!gunzip.write(piece)) await new Promise((resolve) => gunzip.once('drain', resolve))
    }
    gunzip.end()
  }
  feed().catch((error: Error) => gunzip.destroy(error))
  yield* gunzip as AsyncIterable<Buffer>
}

function unreadable(file: string, error: unknown): UserError {
  const { code, message } = error as NodeJS.ErrnoException
  const name = file === '-' ? 'standard input' : file
  if (code === 'ENOENT') return new UserError(`there is no file ${file}`)
  if (code === 'Z_BUF_ERROR') return new UserError(`${name} is a truncated gzip file, so nothing is reported`)
  if (code?.startsWith('Z_')) return new UserError(`${name} is damaged, so nothing is reported: ${message}`)
  return new UserError(`${name} cannot be read: ${message}`)
}

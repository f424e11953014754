import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { isLoopback } from './local-engine'

/** A local gateway that runs. */
export interface LocalGateway {
  readonly address: string
  /** URL of its DynamoDB, on this machine. */
  readonly dynamodb: string
}

type Env = Readonly<Record<string, string | undefined>>

/** Where the gateways of this user say that they run: a folder that nobody else may write to. */
const folderOf = (env: Env): string =>
  env.XDG_RUNTIME_DIR ? join(env.XDG_RUNTIME_DIR, 'sluice') : join(tmpdir(), `sluice-${userInfo().username}`)

/**
 * Says that a gateway runs and where its DynamoDB is, in a file named by its process and port, by which alone commands
 * find it.
 *
 * @returns what takes the file away; undefined where there can be no file that only this user may write to.
 */
export function announceGateway(gateway: LocalGateway, env: Env): (() => void) | undefined {
  const folder = folderOf(env)
  const file = join(folder, `gateway-${process.pid}-${new URL(gateway.address).port}.json`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (!isOwn(folder)) return undefined
    rmSync(file, { force: true }) // of a former process with this id
    writeFileSync(file, JSON.stringify(gateway), { mode: 0o600, flag: 'wx' })
  } catch {
    return undefined
  }
  return () => {
    rmSync(file, { force: true })
    try {
      rmdirSync(folder)
    } catch {
      // another gateway's file is in it
    }
  }
}

/** The gateways that said so and whose processes are there. Whether they answer is not known. */
export function announcedGateways(env: Env): LocalGateway[] {
  const folder = folderOf(env)
  try {
    if (!isOwn(folder)) return []
    return readdirSync(folder)
      .sort()
      .flatMap((name) => readAnnounced(join(folder, name), Number(/^gateway-(\d+)-\d+\.json$/.exec(name)?.[1])))
  } catch {
    return [] // no gateway ever ran
  }
}

function readAnnounced(file: string, pid: number): LocalGateway[] {
  try {
    if (!(pid > 0) || !isOwn(file)) return []
    if (!isRunning(pid)) {
      rmSync(file, { force: true })
      return []
    }
    const { address, dynamodb } = JSON.parse(readFileSync(file, 'utf8')) as Partial<LocalGateway>
    const isLocal = [address, dynamodb].every((url) => typeof url === 'string' && isLoopback(url))
    return isLocal ? [{ address: address!, dynamodb: dynamodb! }] : []
  } catch {
    return [] // written at this moment, or by something else
  }
}

/** Whether a file or folder is this user's, itself no link, and nobody else may write to it. */
function isOwn(path: string): boolean {
  const found = lstatSync(path)
  const { uid, mode } = found
  const own = process.getuid?.()
  return !found.isSymbolicLink() && (own === undefined || (uid === own && (mode & 0o022) === 0))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

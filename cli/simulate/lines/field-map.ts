import { UserError } from '../../exit'
import { printed } from '../../facade/values'
import { FIELD_NAMES, type FieldName } from '../requests/logged-request'

/** What `--map` may name beside the fields: values by which policies count, and units of a cost. */
export type MappedName = FieldName | `header:${string}` | `claim:${string}` | `cost:${string}`

/**
 * Under which names each field is looked for in a log, the first that is there. Those of the access log format of
 * Sluice come first, then the names that API Gateway, CloudWatch Logs Insights and others use for the very same thing.
 */
const USUAL: Readonly<Record<FieldName, readonly string[]>> = {
  time: ['time', 'requestTimeEpoch', 'timestamp', 'ts', 'requestTime', '@timestamp', 'datetime', 'date'],
  subject: ['subject', 'caller'],
  client: ['client', 'clientId', 'client_id'],
  user: ['user', 'userId', 'user_id', 'principalId'],
  key: ['key', 'apiKeyId', 'apiKey', 'api_key'],
  ip: ['ip', 'sourceIp', 'source_ip', 'remote_addr', 'remoteAddr', 'clientIp', 'client_ip'],
  tier: ['tier', 'plan'],
  method: ['method', 'httpMethod', 'http_method', 'verb', 'request_method'],
  path: ['path', 'rawPath', 'request_uri', 'uri', 'url'],
  resource: ['resource', 'resourcePath', 'routeKey', 'route'],
  request: ['request'],
  apiId: ['apiId', 'api_id'],
  stage: ['stage'],
  domain: ['domain', 'domainName', 'host'],
  cost: ['cost', 'units'],
  reason: ['reason'],
  policy: ['policy'],
  eventType: ['eventType'],
  durationMs: ['durationMs', 'responseLatency', 'latencyMs', 'latency'],
}

/** Where a log has each field. */
export class FieldMap {
  /** @param mapped names in the log, by field; those of other fields are the usual ones. */
  constructor(private readonly mapped: ReadonlyMap<MappedName, string> = new Map()) {}

  /** Names under which a field may stand. One that `--map` gives stands for no other field. */
  namesOf(field: FieldName): readonly string[] {
    const given = this.mapped.get(field)
    if (given !== undefined) return [given]
    const taken = new Set(this.mapped.values())
    return USUAL[field].filter((name) => !taken.has(name))
  }

  /** Names that `--map` gives, each with its field. */
  get given(): ReadonlyMap<MappedName, string> {
    return this.mapped
  }

  /** Whether a log with these names has a time. */
  hasTime(names: readonly string[]): boolean {
    return this.namesOf('time').some((name) => names.includes(name))
  }
}

const VALUE = /^(header|claim|cost):.+$/s

/**
 * Reads `time=ts,key=apiKeyId`.
 *
 * @throws UserError
 */
export function parseFieldMap(texts: readonly string[]): FieldMap {
  const mapped = new Map<MappedName, string>()
  for (const text of texts.flatMap((one) => one.split(','))) {
    const at = text.indexOf('=')
    const [field, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    if (at < 1 || name === '')
      throw new UserError(`--map must be fields and their names in the log, such as time=ts, got ${printed(text)}`)
    const isField = (FIELD_NAMES as readonly string[]).includes(field)
    if (!isField && !VALUE.test(field))
      throw new UserError(
        `--map: there is no field ${printed(field)}: known are ${FIELD_NAMES.join(', ')}, header:<name>, claim:<name> and cost:<name>`,
      )
    const key = (field.startsWith('header:') ? field.toLowerCase() : field) as MappedName
    if (mapped.has(key)) throw new UserError(`--map names ${field} twice`)
    mapped.set(key, name)
  }
  return new FieldMap(mapped)
}

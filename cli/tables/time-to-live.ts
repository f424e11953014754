import { DescribeTimeToLiveCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { AUDIT_TIME_TO_LIVE } from '../../provisioning/audit-partition'
import { STATE_TABLE } from '../facade/tables'
import { type Check, checked } from './check'

type Client = Pick<DynamoDBClient, 'send'>

/**
 * Checks that expired state is deleted.
 *
 * @param own whether this is a local DynamoDB, which may have no TTL.
 */
export function checkTimeToLive(client: Client, tableName: string, own: boolean): Promise<Check> {
  const attribute = STATE_TABLE.timeToLiveAttribute
  const remedy = `enable TTL on attribute ${attribute}; without it the table keeps an item for every caller forever`
  return check('time to live', client, tableName, own, attribute, remedy, 'FAILED')
}

/** Checks that old records of the audit trail are deleted; a DynamoDB of one's own need not. */
export async function checkAuditTimeToLive(client: Client, tableName: string, own: boolean): Promise<Check> {
  if (own) return { name: 'audit trail', status: 'ok', found: 'records stay as long as this DynamoDB' }
  const attribute = AUDIT_TIME_TO_LIVE
  const remedy = `enable TTL on attribute ${attribute}; without it the config table keeps a record of every change forever`
  return check('audit trail', client, tableName, false, attribute, remedy, 'warning')
}

function check(
  name: string,
  client: Client,
  TableName: string,
  own: boolean,
  attribute: string,
  remedy: string,
  status: 'FAILED' | 'warning',
): Promise<Check> {
  return checked(name, remedy, async () => {
    const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName })).catch((error) => {
      if (own && /UnknownOperation|NotImplemented|ValidationException/.test(error.name))
        return { TimeToLiveDescription: undefined }
      throw error
    })
    const { TimeToLiveStatus = 'DISABLED', AttributeName } = TimeToLiveDescription ?? {}
    if (TimeToLiveStatus.startsWith('ENABL') && AttributeName === attribute)
      return { status: 'ok', found: `enabled on attribute ${attribute}` }
    const found = `${TimeToLiveStatus}${AttributeName ? `, by attribute ${AttributeName}` : ''}`
    return own ? { status: 'warning', found, remedy: 'none needed outside AWS' } : { status, found, remedy }
  })
}

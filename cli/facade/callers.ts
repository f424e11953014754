/** Who is counted: clients, addresses, lists of those who are blocked or exempt, and the names of subjects. */

export { type AccessEntry, AccessList } from '../../lambda/config-table/items/access-list'
export { CLIENT_FIELDS, type Client, clientAt, parseClientItem } from '../../lambda/config-table/items/client-item'
export { hashApiKey } from '../../lambda/identity/api-key'
export { addressKey, clientIpKey } from '../../lambda/identity/client-ip'
export type { Identity } from '../../lambda/identity/identify'
export type { Claim } from '../../lambda/identity/source'
export {
  type IpAddress,
  type IpRange,
  masked,
  parseIpAddress,
  parseIpRange,
  printedRange,
  toIpv4,
  toIpv6,
} from '../../lambda/ip-address'
export { inputsOf, joined, type SubjectInputs, subjectOf } from '../../lambda/subjects'

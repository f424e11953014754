import { hash } from 'node:crypto'
import { SubjectError } from '../errors'

const SCOPE = /^[a-z][a-z0-9-]{0,15}(?=:)/

/**
 * The partition key of a subject: its scope (`client`, `ip`, what stands before the first colon) and a SHA-256 of the whole, 60 characters at most.
 * Bounded whatever the identity's length, and no personal data in the table.
 */
export function subjectKey(subject: string): string {
  if (typeof subject !== 'string' || subject === '') throw new SubjectError(subject)
  const scope = SCOPE.exec(subject)?.[0] ?? 'subject'
  return `${scope}#${hash('sha256', subject, 'base64url')}`
}

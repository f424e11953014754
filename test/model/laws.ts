const LAWS = [
  'never over the limit',
  'never past the bound',
  'charged once',
  'given back once',
  'a reset wipes what was there and no more',
  'denied only where there is no room',
  'numbers are true',
  'an allowed request is charged',
  'a denied request takes nothing',
  'degraded only where the store failed',
  'one local share for each instance',
  'never more slots than the limit',
  'a slot is denied only where none is free',
  'a settlement counts once',
  'a hold is ended by nobody else',
  'settled as if known at the beginning',
  'everything is answered',
  'nothing throws',
  'every write fits DynamoDB',
] as const
export type Law = (typeof LAWS)[number]

/** A law that was broken, in a sentence. */
export interface Breach {
  readonly law: Law
  readonly at: number
  readonly text: string
}

import type { CalendarUnit } from './calendar'
import type { AnyPolicyInput, CONCURRENCY, ConcurrencyInput, Duration, PolicyInput, ReadBy } from './policy'

declare const mistake: unique symbol

/** A type that no value has: the compiler shows the message where one is passed. */
export interface Wrong<Message extends string> {
  readonly [mistake]: Message
}

/** Units by the names of costs. */
export type Costs<CostName extends string> = string extends CostName
  ? Readonly<Record<string, number>>
  : [CostName] extends [never]
    ? Readonly<Record<string, number>> & Wrong<'no policy of this limiter has a `cost`'>
    : { readonly [Name in CostName]?: number }

/**
 * What is wrong with policies that are written as literals, at the field that is wrong; `unknown` for all that is right
 * or known only at run time, such as a `string` or a list of any length.
 */
export type PolicyMistakes<Policies extends readonly AnyPolicyInput[]> = number extends Policies['length']
  ? unknown
  : Policies['length'] extends 0
    ? Wrong<'policies must have at least one policy, got none'>
    : { readonly [Index in keyof Policies]: MistakesIn<Policies[Index], NamesTwice<Policies>> }

type MistakesIn<Policy, Twice> = {
  readonly [Field in keyof Policy]: MistakeAt<Policy, Field, Twice> extends infer Message extends string
    ? [Message] extends [never]
      ? unknown
      : Wrong<Message>
    : never
}

/** The message for one field, as at run time; `never` where it is not certain to be wrong. */
type MistakeAt<Policy, Field extends keyof Policy, Twice> = Policy[Field] extends infer Value
  ? undefined extends Value
    ? never
    : Field extends 'name'
      ? NameMistake<Value, Twice>
      : Field extends 'window'
        ? WindowMistake<Value, AlgorithmOf<Policy>>
        : Field extends keyof ReadBy
          ? ReaderMistake<Field, AlgorithmOf<Policy>> | (Field extends DurationField ? DurationMistake<Value> : never)
          : Field extends keyof PolicyInput | keyof ConcurrencyInput
            ? never
            : `unknown field "${Field & string}"`
  : never

type DurationField = 'maxDelay' | 'blockFor' | 'timeout'

/** `string` where it is not certain. */
type AlgorithmOf<Policy> = Policy extends { readonly algorithm: infer Algorithm }
  ? Algorithm
  : 'algorithm' extends keyof Policy
    ? string
    : 'sliding-window'

type NameMistake<Name, Twice> = Name extends Twice & string
  ? `name must be unique, and two policies are "${Name}"`
  : never

type WindowMistake<Window, Algorithm> = Window extends CalendarUnit
  ? 'fixed-window' extends Algorithm
    ? never
    : `window "${Window}" needs algorithm "fixed-window", got "${Algorithm & string}"`
  : DurationMistake<Window>

type DurationMistake<Value> = Value extends Duration
  ? never
  : KnownWord<Value> extends infer Word extends string
    ? `"${Word}" is not a duration such as "30s", "1m", "12h" or "7d"`
    : never

type ReaderMistake<Field extends keyof ReadBy, Algorithm> = string extends Algorithm
  ? never
  : [Extract<Algorithm, ReadBy[Field]>] extends [never]
    ? `${Field} does not apply to algorithm "${Algorithm & string}"`
    : never

/** Names that occur twice. One of several that a policy may have is not certain to. */
type NamesTwice<Policies, Before = never> = Policies extends readonly [infer First, ...infer Rest]
  ? OnlyWord<NameOf<First>> extends infer Name
    ? Extract<Name, Before> | NamesTwice<Rest, Before | Name>
    : never
  : never

type NameOf<Policy> = Policy extends { readonly name: infer Name } ? Name : never

/** Of texts, those of which each letter is known. */
type KnownWord<Text> = Text extends string ? (Record<never, never> extends Record<Text, 1> ? never : Text) : never

type OnlyWord<Text, All = Text> = Text extends All ? ([All] extends [Text] ? KnownWord<Text> : never) : never

/** Names of the policies, as far as they are known; `string` where one is not. */
export type PolicyNamesOf<Policies extends readonly AnyPolicyInput[]> = Policies[number]['name']

/** Names of the costs that the policies count. */
export type CostNamesOf<Policies extends readonly AnyPolicyInput[]> = CostNameOf<Policies[number]>

type CostNameOf<Policy> = Policy extends unknown
  ? 'cost' extends keyof Policy
    ? Extract<Policy['cost'], string>
    : never
  : never

/** Whether a policy counts running requests; `boolean` where that is not known. */
export type CountRunning<Policies> = Policies extends readonly AnyPolicyInput[]
  ? { [Index in keyof Policies]: IsRunning<Policies[Index]> }[number] extends infer Each
    ? true extends Each
      ? true
      : [Each] extends [false]
        ? false
        : boolean
    : never
  : never

type IsRunning<Policy> = (Policy extends { readonly algorithm: typeof CONCURRENCY } ? true : false) extends infer Answer
  ? boolean extends Answer
    ? undefined
    : Answer
  : never

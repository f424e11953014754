import { NumberField, type NumberFieldProps } from '../shared/field'
import { RANGES, typedNumber, wrongNumber } from './numbers'

interface Props extends NumberFieldProps {
  readonly range: keyof typeof RANGES
}

/** A number that is checked as it is typed, as the lab does, by the rule of the gateway. */
export function RangeField({ range, wrong, ...field }: Props) {
  return <NumberField {...field} wrong={wrongNumber(RANGES[range], typedNumber(field.value)) ?? wrong} />
}

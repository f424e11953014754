import { type FunctionAccess, invoker } from './invoke'
import { Delegate, type DelegateOptions } from './upstream-authorizer'

/** The other authorizer, as a function in Lambda. */
export function lambdaDelegate(options: Omit<DelegateOptions, 'invoke'> & FunctionAccess): Delegate {
  return new Delegate({ ...options, invoke: invoker(options) })
}

/** Stands in for the SDK's own store of the trace id, with the one that Lambda's runtime keeps, where there is one. */
export const InvokeStore = {
  getInstanceAsync: async () => (globalThis as { awslambda?: { InvokeStore?: object } }).awslambda?.InvokeStore,
}

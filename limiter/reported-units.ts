/** Units that were used, of everything that is reserved or by the name of each cost. */
export type UsedUnits = number | { readonly cost?: number; readonly costs?: Readonly<Record<string, number>> }

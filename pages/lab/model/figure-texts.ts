import { spoken } from './explain'
import type { Figures } from './run-row'

/** One figure as people read it. */
export interface FigureText {
  readonly id: 'admitted' | 'most' | 'wait' | 'stored' | 'writes' | 'wronglyAllowed' | 'wronglyDenied'
  readonly label: string
  readonly text: string
}

const number = (value: number): string => value.toLocaleString('en-US')

/** The figures of a row, for the page and for the documents. */
export const figureTexts = (figures: Figures, limit: number): readonly FigureText[] => [
  { id: 'admitted', label: 'admitted', text: `${number(figures.admitted)} of ${number(figures.requests)}` },
  { id: 'most', label: 'most in any window', text: mostText(figures.mostInWindow, limit) },
  { id: 'wait', label: 'longest wait', text: figures.longestWaitMs === 0 ? 'none' : spoken(figures.longestWaitMs) },
  { id: 'stored', label: 'state stored', text: `${number(figures.storedBytes)} B` },
  { id: 'writes', label: 'DynamoDB writes', text: writesText(figures) },
  { id: 'wronglyAllowed', label: 'wrongly allowed', text: number(figures.wronglyAllowed) },
  { id: 'wronglyDenied', label: 'wrongly denied', text: number(figures.wronglyDenied) },
]

const mostText = (most: number, limit: number): string =>
  most > limit ? `${number(most)} (+${number(most - limit)})` : number(most)

const writesText = ({ writes, writeUnits }: Figures): string =>
  writeUnits === writes ? number(writes) : `${number(writes)} (${number(writeUnits)} units)`

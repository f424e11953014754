import { spoken } from './explain'
import type { Figures } from './run-row'

type FigureId = 'admitted' | 'others' | 'most' | 'wait' | 'stored' | 'writes' | 'wronglyAllowed' | 'wronglyDenied'

/** What each figure says, for somebody who sees it for the first time. */
export const MEANINGS: Readonly<Record<FigureId, string>> = {
  admitted: 'requests that passed, of those that were sent',
  others: 'requests of the other clients that passed, of those that they sent',
  most: 'the most requests of one client that passed in any interval as long as the window, and by how much that is over the limit',
  wait: 'how long a request waited until it passed, or until its last Retry-After was over',
  stored: 'the most bytes that the policy took in the item of a client',
  writes:
    'one for each admitted request and none for a denied one; in brackets the write units, where an item is longer than a kilobyte',
  wronglyAllowed:
    'passed although an exact log of the window was full. By its burst: on purpose, since a token bucket permits it',
  wronglyDenied:
    'denied although an exact log of the window had room. By its pace: on purpose, since GCRA denies what comes too early',
}

/** One figure as people read it. */
export interface FigureText {
  readonly id: FigureId
  readonly label: string
  readonly text: string
}

const number = (value: number): string => value.toLocaleString('en-US')

/** The figures of a row, for the page and for the documents. */
export const figureTexts = (figures: Figures, limit: number): readonly FigureText[] => [
  { id: 'admitted', label: 'admitted', text: `${number(figures.admitted)} of ${number(figures.requests)}` },
  ...othersText(figures),
  { id: 'most', label: 'most in any window', text: mostText(figures.mostInWindow, limit) },
  { id: 'wait', label: 'longest wait', text: figures.longestWaitMs === 0 ? 'none' : spoken(figures.longestWaitMs) },
  { id: 'stored', label: 'state stored', text: `${number(figures.storedBytes)} B` },
  { id: 'writes', label: 'DynamoDB writes', text: writesText(figures) },
  { id: 'wronglyAllowed', label: 'wrongly allowed', text: number(figures.wronglyAllowed) },
  { id: 'wronglyDenied', label: 'wrongly denied', text: number(figures.wronglyDenied) },
]

/** Where there are other clients than the first. */
const othersText = ({ othersRequests, othersDenied }: Figures): readonly FigureText[] =>
  othersRequests === 0
    ? []
    : [
        {
          id: 'others',
          label: 'of the others',
          text: `${number(othersRequests - othersDenied)} of ${number(othersRequests)}`,
        },
      ]

const mostText = (most: number, limit: number): string =>
  most > limit ? `${number(most)} (+${number(most - limit)})` : number(most)

const writesText = ({ writes, writeUnits }: Figures): string =>
  writeUnits === writes ? number(writes) : `${number(writes)} (${number(writeUnits)} units)`

import { resolve } from 'node:path'
import { countRunning } from '../../tools/counts/count'
import { holdsLimits } from '../counts/holds-limits'

holdsLimits(countRunning(resolve(__dirname, '..', '..')))

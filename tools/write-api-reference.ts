import { join } from 'node:path'
import { writeApiReference } from './api-reference'

writeApiReference(join(__dirname, '..', 'docs', 'api'))

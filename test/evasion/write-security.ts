import { writeSection } from './report'

writeSection()

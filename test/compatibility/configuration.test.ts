import { dynoxideBinary } from '../../local/engines/dynoxide'
import { describeConfiguration } from './configuration'

const ENGINE = dynoxideBinary() === undefined ? 'dynalite' : 'dynoxide'

describeConfiguration(ENGINE, async () => ENGINE)

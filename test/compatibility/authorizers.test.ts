import { dynoxideBinary } from '../../local/engines/dynoxide'
import { describeAuthorizers } from './authorizers'

const ENGINE = dynoxideBinary() === undefined ? 'dynalite' : 'dynoxide'

describeAuthorizers(ENGINE, async () => ENGINE, [['old', 'new']])

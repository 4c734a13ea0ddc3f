import type { SuiteName } from './suites.js'

interface Regressions {
  readonly suite: SuiteName
  /** The number of the generator that made the schedules. */
  readonly generator: number
  /** The seeds by the lesson from their failure. */
  readonly lessons: Readonly<Record<string, readonly number[]>>
}

/** Every seed that ever failed. Seeds are only ever added. */
export const REGRESSIONS: readonly Regressions[] = [
  {
    suite: 'watch',
    generator: 1,
    lessons: {
      'notifications from before a data loss do not count as new': [
        25_572, 910_047_813, 910_073_903, 910_079_963, 910_172_280, 910_180_444, 910_181_133, 910_218_051, 910_272_966,
        910_273_070, 910_395_394, 910_396_533, 910_415_104, 910_417_247, 910_465_479, 910_465_524, 910_484_587,
        910_529_797, 910_531_589, 910_539_426, 910_554_790,
      ],
      'a notification overtaken by a not-found response is not emitted after the absence': [
        910_005_342, 910_121_657, 910_226_290, 910_286_529, 910_307_576, 910_362_484, 910_364_639, 910_368_092,
        910_385_495, 910_397_747, 910_449_700, 910_506_318, 910_520_054, 910_520_222, 910_557_857,
      ],
      'a late subscriber of a deleted key is judged by the state of its watch': [
        20_851, 28_256, 32_277, 33_436, 37_497, 40_528, 45_955, 50_417, 52_197, 55_923, 58_358, 59_051, 910_001_599,
        910_005_217, 910_006_211, 910_011_986, 910_015_950, 910_033_677, 910_034_479, 910_043_267, 910_043_633,
        910_044_265, 910_053_462, 910_054_453, 910_056_476, 910_058_630, 910_067_408, 910_069_125, 910_073_149,
        910_083_027, 910_094_198, 910_109_128, 910_116_030, 910_116_241, 910_117_939, 910_118_315, 910_124_052,
        910_125_102, 910_130_470, 910_131_367, 910_136_739, 910_141_948, 910_146_051, 910_157_254, 910_157_385,
        910_168_998, 910_177_123, 910_182_077, 910_184_675, 910_184_696, 910_185_677, 910_187_106, 910_192_542,
        910_197_116, 910_197_428, 910_207_336, 910_213_667, 910_216_667, 910_216_984, 910_220_911, 910_242_649,
        910_244_986, 910_248_216, 910_248_863, 910_250_552, 910_251_341, 910_253_354, 910_258_101, 910_260_899,
        910_265_827, 910_267_525, 910_270_419, 910_270_635, 910_273_116, 910_280_191, 910_280_746, 910_282_373,
        910_291_015, 910_291_777, 910_292_116, 910_294_441, 910_296_824, 910_303_907, 910_308_858, 910_317_182,
        910_317_279, 910_320_149, 910_323_362, 910_324_055, 910_330_516, 910_334_207, 910_342_575, 910_347_246,
        910_351_816, 910_362_165, 910_366_808, 910_368_281, 910_371_252, 910_379_039, 910_379_826, 910_382_807,
        910_402_488, 910_406_754, 910_415_663, 910_422_673, 910_423_524, 910_434_135, 910_437_004, 910_444_790,
        910_450_559, 910_451_346, 910_454_489, 910_469_779, 910_476_683, 910_482_678, 910_488_874, 910_497_226,
        910_497_259, 910_505_917, 910_532_454, 910_533_260, 910_550_133, 910_557_268, 910_561_282, 910_563_829,
        910_568_315, 910_570_520, 910_573_797, 910_576_947, 910_579_430, 910_579_754, 910_581_628,
      ],
      'a store that is restarted twice concurrently runs once': [910_092_454],
    },
  },
  {
    suite: 'watch',
    generator: 2,
    lessons: {
      'a late subscriber of a watch without subscribers does not know the earlier absence': [3_092, 15_590],
      'a read caused by a stale notification does not swallow changes': [3_000_031_440, 3_000_059_612],
      'a response overtaken by a deletion proves only that deletion': [3_000_022_556, 3_000_024_083, 3_000_042_831],
    },
  },
  {
    suite: 'watch',
    generator: 3,
    lessons: {
      'changes may be merged if a broker loses some subscription identifiers, as without them': [3_015_256_823],
      'a client that closes without its connection sends each STOP once': [3_015_226_975],
      'the STOP of a key is sent again after an odd reply': [
        4_079_104_748, 4_079_104_807, 4_079_105_217, 4_079_105_369, 4_079_105_371, 4_079_105_607, 4_079_105_636,
        4_079_105_699, 4_079_105_720, 4_079_105_826, 4_079_105_973, 4_079_106_021,
      ],
      'a read caused by a queued change found a newer change before its notification': [1_759_117_066],
    },
  },
  {
    suite: 'watch',
    generator: 4,
    lessons: {
      'a client closed by a handler emits no newer entry to subscribers that lack earlier entries': [
        1_756_627_366, 1_756_645_855, 1_756_683_597, 1_756_741_671, 1_756_758_507,
      ],
    },
  },
  {
    suite: 'lease',
    generator: 1,
    lessons: {
      'a token from before a data loss may be newer than later tokens': [910_006_103, 910_016_442],
    },
  },
  {
    suite: 'lease',
    generator: 2,
    lessons: {
      'of two failed STOPs of a key, neither is sent again once the key is watched again': [1_396_831_535],
      'a watch whose responses are repeatedly late waits for its backoff before it retries': [3_999_002_164],
    },
  },
  {
    suite: 'lease',
    generator: 3,
    lessons: {
      'a lease that a handler of errors$ unsubscribes after a failed request is not requested again': [
        43, 184, 606, 633,
      ],
    },
  },
  {
    suite: 'glob',
    generator: 1,
    lessons: {
      'registration continues at a store that was late three times, which then notifies of every change': [
        2_907_166_955,
      ],
    },
  },
  {
    suite: 'glob',
    generator: 2,
    lessons: {
      'without subscription identifiers, a new key is read on a resumed session, and its changes merge': [
        1_237_369_903, 1_237_372_866,
      ],
      'the STOP of a key is sent again while a glob serves its watch': [
        1_366, 1_487, 1_528, 1_651, 1_704, 2_020, 2_083, 2_125, 2_221, 2_388, 2_611, 3_205, 3_209, 3_356, 3_425, 3_450,
      ],
      'the STOP of a glob is sent again after an odd reply': [
        1_042, 1_055, 1_070, 1_074, 1_121, 1_129, 1_146, 1_149, 1_188, 1_192, 1_199, 1_230, 1_250, 1_260, 1_273, 1_302,
        1_333, 1_366, 1_389, 1_396, 1_414, 1_419, 1_456, 1_487,
      ],
      'a key that another glob was reading merged changes, even if that glob was unsubscribed by then': [
        871, 600_006_471, 600_010_294,
      ],
      'a glob that forgets a deleted key still serves its watch if another glob must scan': [189_457_192],
      'a key of an earlier connection was live shortly before its next change was emitted': [19_266],
    },
  },
  {
    suite: 'glob',
    generator: 5,
    lessons: {
      'a key does not count as read when the handler of its first entry ends its registration': [
        4_110_211_845, 4_110_214_219, 4_110_218_116,
      ],
    },
  },
  {
    suite: 'optimistic',
    generator: 1,
    lessons: {
      'a page stops showing an own write that was overwritten before its watch read again': [
        1_347, 2_441, 3_045, 8_224, 10_833,
      ],
      'a deletion notified on an earlier connection is not emitted with its old version': [3_668, 7_291],
      'a write without a connection counts as late even while another write is removed from the storage': [2_358],
      'replaced writes are not stored one after another, so that a closed page does not leave an old one': [44_473],
      'a write on top of a stored write is not merged with an empty value': [6_118, 10_729],
    },
  },
  {
    suite: 'optimistic',
    generator: 2,
    lessons: {
      'a client that is closed without a connection does not reconnect while it waits for its storage, and does not take over the next client of its name':
        [1_863_349_591, 2_491],
      'a closing client that waits for its storage does not reconnect after a lost connection, and does not take over the next client of its name':
        [1_863_360_071, 1_863_360_374],
      'a view that a handler of status$ resubscribes just after its last subscriber left keeps its watch': [
        473, 474, 843,
      ],
      'a write that a handler of status$ makes on a lost connection is marked as late if it is sent late, even before the view is notified of the loss':
        [376],
      'the storage does not keep a superseded write that a handler made while another superseded write was reported': [
        755_569_363, 755_575_585,
      ],
    },
  },
  {
    suite: 'optimistic',
    generator: 3,
    lessons: {
      'a client whose storage is too slow while it closes cancels all requests to it': [1_463_374_131, 542_844_307],
    },
  },
  {
    suite: 'optimistic',
    generator: 4,
    lessons: {
      'a write after the end of a client does not remove the stored write': [19, 130, 281, 295, 351, 726, 856, 877],
    },
  },
  {
    suite: 'cluster',
    generator: 1,
    lessons: {
      'a reopened node is not mistaken for another process because of its earlier start message': [700_001_525],
      'a client receives an error for a lost write even if the log rejects another write in flight': [
        458_935_349, 458_938_851,
      ],
      'a misread or replaced snapshot does not keep a node from opening': [1_166_658_505, 1_166_665_691],
    },
  },
  {
    suite: 'shadow',
    generator: 1,
    lessons: {
      'a desired value with a lost response is not resent with the next value, and a late write sends only the fields seen':
        [45_718_389, 3_705_260_127, 1_624_674_765, 2_856_072_091, 2_102_903_797, 3_756_911_161],
      'a device repeats a reported action if the report was deleted before its response arrived': [
        2_150_741_267, 1_318_445_542,
      ],
    },
  },
  {
    suite: 'shadow',
    generator: 3,
    lessons: {
      'a device does not begin a waiting delta when its views already show another one': [763_430_494],
    },
  },
  {
    suite: 'broker',
    generator: 1,
    lessons: {
      'a message that got its packet id on a connection that ended before sending continues after its expiry': [
        2_916_508_093,
      ],
      'a shared message that was too large for a client is no longer pending for it': [3_270_097_344],
      'a clean start while a shared message is unacknowledged': [984_008_557],
      'a session that expires while a shared message is unacknowledged': [189_676_712],
      'a message that is rejected and accepted on retransmission': [588_906_939],
      'a message that is accepted and rejected on retransmission': [626_243_180],
      'a client that is repeatedly too slow': [886_348_970],
      'a rejection that is lost with the connection': [298_765_033],
      'a connection that ends in the turn in which a message exceeds its limits': [126_984_596],
      'a client that appears silent because it is not read': [505],
      'retained messages that fit on the next connection': [296_607_808],
      'a message discarded as too large while later ones are retransmitted': [296_629_470],
      'a new message with the packet id of a rejected one': [296_640_740],
      'the largest of several retained messages, discarded before the others are sent': [296_671_963],
      'a large retained message that a later connection would accept': [296_780_151],
      'a retained message for the second of two subscriptions after it was dropped for the first': [2_606_340_529],
      'a retained message that is accepted twice after it was dropped once': [4_008_260_353],
      'a will of a client that a message overflows': [138_697_045],
      'a received message that is discarded as too large for the next connection and requested again': [3_191_966_410],
      'a session that ended twice because its will overflowed a client': [2_979_974_603],
      'a retained message that was sent for a subscription after another one had replaced it': [2_705_528_494],
    },
  },
  {
    suite: 'pubsub',
    generator: 1,
    lessons: {
      'trust in a hub without pings outlived the timeouts': [4],
      'recovery was given up at a hub without pings': [1_717_654_825],
      'a session that the hub still had was abandoned': [1_010_754_837],
      'messages of an earlier membership were taken for the later one': [1_437_207_700],
      'a link that broke in its handshake made a hub one without pings': [2_349_316_382],
      'a link that was half-open from its first moment made a hub one without pings': [2_349_327_284],
      'two links that were half-open made a hub one without pings': [806_977_047],
      'three links that were half-open made a hub one without pings': [2_907_196_248],
      'messages in flight at a session loss arrived after messages of the next session': [2_601_992_010],
      'an event was rejected finally while its copy was in flight': [2_349_329_853],
      'an event was reported as unsent while its copy was in flight': [2_349_326_533],
    },
  },
]

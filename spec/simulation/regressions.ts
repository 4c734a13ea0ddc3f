import type { SuiteName } from './suites.js'

/** A regression: seeds that once failed, and the lesson from the failure. */
export interface Regression {
  readonly description: string
  readonly suite: SuiteName
  /** The generator that made the schedule of the seeds. See `generators.ts`. */
  readonly generator: number
  readonly seeds: readonly number[]
}

/** Every seed that ever failed. Seeds are only ever added. */
export const REGRESSIONS: readonly Regression[] = [
  {
    description: 'notifications from before a data loss do not count as new',
    suite: 'watch',
    generator: 1,
    seeds: [
      25_572, 910_047_813, 910_073_903, 910_079_963, 910_172_280, 910_180_444, 910_181_133, 910_218_051, 910_272_966,
      910_273_070, 910_395_394, 910_396_533, 910_415_104, 910_417_247, 910_465_479, 910_465_524, 910_484_587,
      910_529_797, 910_531_589, 910_539_426, 910_554_790,
    ],
  },
  {
    description: 'a notification overtaken by a not-found response is not emitted after the absence',
    suite: 'watch',
    generator: 1,
    seeds: [
      910_005_342, 910_121_657, 910_226_290, 910_286_529, 910_307_576, 910_362_484, 910_364_639, 910_368_092,
      910_385_495, 910_397_747, 910_449_700, 910_506_318, 910_520_054, 910_520_222, 910_557_857,
    ],
  },
  {
    description: 'a late subscriber of a deleted key is judged by the state of its watch',
    suite: 'watch',
    generator: 1,
    seeds: [
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
  },
  {
    description: 'a store that is restarted twice concurrently runs once',
    suite: 'watch',
    generator: 1,
    seeds: [910_092_454],
  },
  {
    description: 'a late subscriber of a watch without subscribers does not know the earlier absence',
    suite: 'watch',
    generator: 2,
    seeds: [3_092, 15_590],
  },
  {
    description: 'a read caused by a stale notification does not swallow changes',
    suite: 'watch',
    generator: 2,
    seeds: [3_000_031_440, 3_000_059_612],
  },
  {
    description: 'a response overtaken by a deletion proves only that deletion',
    suite: 'watch',
    generator: 2,
    seeds: [3_000_022_556, 3_000_024_083, 3_000_042_831],
  },
  {
    description: 'changes may be merged if a broker loses some subscription identifiers, as without them',
    suite: 'watch',
    generator: 3,
    seeds: [3_015_256_823],
  },
  {
    description: 'a client that closes without its connection sends each STOP once',
    suite: 'watch',
    generator: 3,
    seeds: [3_015_226_975],
  },
  {
    description: 'the STOP of a key is sent again after an odd reply',
    suite: 'watch',
    generator: 3,
    seeds: [
      4_079_104_748, 4_079_104_807, 4_079_105_217, 4_079_105_369, 4_079_105_371, 4_079_105_607, 4_079_105_636,
      4_079_105_699, 4_079_105_720, 4_079_105_826, 4_079_105_973, 4_079_106_021,
    ],
  },
  {
    description: 'a token from before a data loss may be newer than later tokens',
    suite: 'lease',
    generator: 1,
    seeds: [910_006_103, 910_016_442],
  },
  {
    description: 'without subscription identifiers, a new key is read on a resumed session, and its changes merge',
    suite: 'glob',
    generator: 2,
    seeds: [1_237_369_903, 1_237_372_866],
  },
  {
    description: 'of two failed STOPs of a key, neither is sent again once the key is watched again',
    suite: 'lease',
    generator: 2,
    seeds: [1_396_831_535],
  },
  {
    description: 'a watch whose responses are repeatedly late waits for its backoff before it retries',
    suite: 'lease',
    generator: 2,
    seeds: [3_999_002_164],
  },
  {
    description: 'registration continues at a store that was late three times, which then notifies of every change',
    suite: 'glob',
    generator: 1,
    seeds: [2_907_166_955],
  },
  {
    description: 'the STOP of a key is sent again while a glob serves its watch',
    suite: 'glob',
    generator: 2,
    seeds: [
      1_366, 1_487, 1_528, 1_651, 1_704, 2_020, 2_083, 2_125, 2_221, 2_388, 2_611, 3_205, 3_209, 3_356, 3_425, 3_450,
    ],
  },
  {
    description: 'the STOP of a glob is sent again after an odd reply',
    suite: 'glob',
    generator: 2,
    seeds: [
      1_042, 1_055, 1_070, 1_074, 1_121, 1_129, 1_146, 1_149, 1_188, 1_192, 1_199, 1_230, 1_250, 1_260, 1_273, 1_302,
      1_333, 1_366, 1_389, 1_396, 1_414, 1_419, 1_456, 1_487,
    ],
  },
  {
    description: 'a key that another glob was reading merged changes, even if that glob was unsubscribed by then',
    suite: 'glob',
    generator: 2,
    seeds: [871, 600_006_471, 600_010_294],
  },
  {
    description: 'a glob that forgets a deleted key still serves its watch if another glob must scan',
    suite: 'glob',
    generator: 2,
    seeds: [189_457_192],
  },
  {
    description: 'a key of an earlier connection was live shortly before its next change was emitted',
    suite: 'glob',
    generator: 2,
    seeds: [19_266],
  },
  {
    description: 'a read caused by a queued change found a newer change before its notification',
    suite: 'watch',
    generator: 3,
    seeds: [1_759_117_066],
  },
  {
    description: 'a page stops showing an own write that was overwritten before its watch read again',
    suite: 'optimistic',
    generator: 1,
    seeds: [1_347, 2_441, 3_045, 8_224, 10_833],
  },
  {
    description: 'a deletion notified on an earlier connection is not emitted with its old version',
    suite: 'optimistic',
    generator: 1,
    seeds: [3_668, 7_291],
  },
  {
    description: 'a write without a connection counts as late even while another write is removed from the storage',
    suite: 'optimistic',
    generator: 1,
    seeds: [2_358],
  },
  {
    description: 'replaced writes are not stored one after another, so that a closed page does not leave an old one',
    suite: 'optimistic',
    generator: 1,
    seeds: [44_473],
  },
  {
    description: 'a write on top of a stored write is not merged with an empty value',
    suite: 'optimistic',
    generator: 1,
    seeds: [6_118, 10_729],
  },
  {
    description: 'a reopened node is not mistaken for another process because of its earlier start message',
    suite: 'cluster',
    generator: 1,
    seeds: [700_001_525],
  },
  {
    description: 'a client receives an error for a lost write even if the log rejects another write in flight',
    suite: 'cluster',
    generator: 1,
    seeds: [458_935_349, 458_938_851],
  },
  {
    description: 'a misread or replaced snapshot does not keep a node from opening',
    suite: 'cluster',
    generator: 1,
    seeds: [1_166_658_505, 1_166_665_691],
  },
  {
    description:
      'a desired value with a lost response is not resent with the next value, and a late write sends only the fields seen',
    suite: 'shadow',
    generator: 1,
    seeds: [45_718_389, 3_705_260_127, 1_624_674_765, 2_856_072_091, 2_102_903_797, 3_756_911_161],
  },
  {
    description: 'a device repeats a reported action if the report was deleted before its response arrived',
    suite: 'shadow',
    generator: 1,
    seeds: [2_150_741_267, 1_318_445_542],
  },
  {
    description:
      'a message that got its packet id on a connection that ended before sending continues after its expiry',
    suite: 'broker',
    generator: 1,
    seeds: [2_916_508_093],
  },
  {
    description: 'a shared message that was too large for a client is no longer pending for it',
    suite: 'broker',
    generator: 1,
    seeds: [3_270_097_344],
  },
  {
    description: 'a client closed by a handler emits no newer entry to subscribers that lack earlier entries',
    suite: 'watch',
    generator: 4,
    seeds: [1_756_627_366, 1_756_645_855, 1_756_683_597, 1_756_741_671, 1_756_758_507],
  },
  {
    description: 'a key does not count as read when the handler of its first entry ends its registration',
    suite: 'glob',
    generator: 5,
    seeds: [4_110_211_845, 4_110_214_219, 4_110_218_116],
  },
  {
    description:
      'a client that is closed without a connection does not reconnect while it waits for its storage, and does not take over the next client of its name',
    suite: 'optimistic',
    generator: 2,
    seeds: [1_863_349_591, 2_491],
  },
  {
    description:
      'a closing client that waits for its storage does not reconnect after a lost connection, and does not take over the next client of its name',
    suite: 'optimistic',
    generator: 2,
    seeds: [1_863_360_071, 1_863_360_374],
  },
  {
    description: 'a view that a handler of status$ resubscribes just after its last subscriber left keeps its watch',
    suite: 'optimistic',
    generator: 2,
    seeds: [473, 474, 843],
  },
  {
    description:
      'a write that a handler of status$ makes on a lost connection is marked as late if it is sent late, even before the view is notified of the loss',
    suite: 'optimistic',
    generator: 2,
    seeds: [376],
  },
  {
    description:
      'the storage does not keep a superseded write that a handler made while another superseded write was reported',
    suite: 'optimistic',
    generator: 2,
    seeds: [755_569_363, 755_575_585],
  },
  {
    description: 'a lease that a handler of errors$ unsubscribes after a failed request is not requested again',
    suite: 'lease',
    generator: 3,
    seeds: [43, 184, 606, 633],
  },
]

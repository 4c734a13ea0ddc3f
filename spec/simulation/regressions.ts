import type { SuiteName } from './suites.js'

/** Seeds that once failed, and what was learned of them. */
export interface Regression {
  readonly story: string
  readonly suite: SuiteName
  /** By which a seed became a schedule; see `generators.ts`. */
  readonly generator: number
  readonly seeds: readonly number[]
}

/** Every seed that ever failed; add to it, and take nothing away. */
export const REGRESSIONS: readonly Regression[] = [
  {
    story: 'what a store that lost its data had told before is not taken for new',
    suite: 'watch',
    generator: 1,
    seeds: [
      25_572, 910_047_813, 910_073_903, 910_079_963, 910_172_280, 910_180_444, 910_181_133, 910_218_051, 910_272_966,
      910_273_070, 910_395_394, 910_396_533, 910_415_104, 910_417_247, 910_465_479, 910_465_524, 910_484_587,
      910_529_797, 910_531_589, 910_539_426, 910_554_790,
    ],
  },
  {
    story: 'a notification that an answer overtook is not shown after the absence',
    suite: 'watch',
    generator: 1,
    seeds: [
      910_005_342, 910_121_657, 910_226_290, 910_286_529, 910_307_576, 910_362_484, 910_364_639, 910_368_092,
      910_385_495, 910_397_747, 910_449_700, 910_506_318, 910_520_054, 910_520_222, 910_557_857,
    ],
  },
  {
    story: 'a late subscriber of a key that was gone is judged by what its watch knew',
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
    story: 'a store that is restarted twice at a time runs once',
    suite: 'watch',
    generator: 1,
    seeds: [910_092_454],
  },
  {
    story: 'a late subscriber of a watch that nobody had for a while does not know the absence before',
    suite: 'watch',
    generator: 2,
    seeds: [3_092, 15_590],
  },
  {
    story: 'a read for the sake of a stale notification does not swallow changes',
    suite: 'watch',
    generator: 2,
    seeds: [3_000_031_440, 3_000_059_612],
  },
  {
    story: 'an answer that was overtaken by a deletion says no more than that deletion',
    suite: 'watch',
    generator: 2,
    seeds: [3_000_022_556, 3_000_024_083, 3_000_042_831],
  },
  {
    story: 'a broker that loses identifiers of some messages may have changes merged as one that has none',
    suite: 'watch',
    generator: 3,
    seeds: [3_015_256_823],
  },
  {
    story: 'a client that is closed on a connection that goes on asks once for the end of its registrations',
    suite: 'watch',
    generator: 3,
    seeds: [3_015_226_975],
  },
  {
    story: 'the end of a registration is asked for again when the answer makes no sense',
    suite: 'watch',
    generator: 3,
    seeds: [
      4_079_104_748, 4_079_104_807, 4_079_105_217, 4_079_105_369, 4_079_105_371, 4_079_105_607, 4_079_105_636,
      4_079_105_699, 4_079_105_720, 4_079_105_826, 4_079_105_973, 4_079_106_021,
    ],
  },
  {
    story: 'a token of before a loss of data may be newer than those after it',
    suite: 'lease',
    generator: 1,
    seeds: [910_006_103, 910_016_442],
  },
  {
    story:
      'at a broker without identifiers a key that comes is read where a kept session was resumed, and its steps merge',
    suite: 'glob',
    generator: 2,
    seeds: [1_237_369_903, 1_237_372_866],
  },
  {
    story: 'of two ends of a registration that failed, neither is asked for again once the key is watched anew',
    suite: 'lease',
    generator: 2,
    seeds: [1_396_831_535],
  },
  {
    story: 'a watch whose answers are late again and again has its pause before it asks once more',
    suite: 'lease',
    generator: 2,
    seeds: [3_999_002_164],
  },
  {
    story: 'a store whose answers were late three times is asked on, and tells of every step of keys from then on',
    suite: 'glob',
    generator: 1,
    seeds: [2_907_166_955],
  },
  {
    story: 'the end of the registration of a key is asked for again while a glob stands in for it',
    suite: 'glob',
    generator: 2,
    seeds: [
      1_366, 1_487, 1_528, 1_651, 1_704, 2_020, 2_083, 2_125, 2_221, 2_388, 2_611, 3_205, 3_209, 3_356, 3_425, 3_450,
    ],
  },
  {
    story: 'the end of the registration for a glob is asked for again when the answer makes no sense',
    suite: 'glob',
    generator: 2,
    seeds: [
      1_042, 1_055, 1_070, 1_074, 1_121, 1_129, 1_146, 1_149, 1_188, 1_192, 1_199, 1_230, 1_250, 1_260, 1_273, 1_302,
      1_333, 1_366, 1_389, 1_396, 1_414, 1_419, 1_456, 1_487,
    ],
  },
  {
    story: 'a key that another glob of the client was just reading merged steps, also when that glob was left by then',
    suite: 'glob',
    generator: 2,
    seeds: [871, 600_006_471, 600_010_294],
  },
  {
    story: 'a glob that forgets a key which is gone goes on to stand in for it where another one has to scan',
    suite: 'glob',
    generator: 2,
    seeds: [189_457_192],
  },
  {
    story: 'a key of an earlier connection was called live a moment before its next change was told',
    suite: 'glob',
    generator: 2,
    seeds: [19_266],
  },
  {
    story: 'a read for a change that was queued before found another one, of which no message had told yet',
    suite: 'watch',
    generator: 3,
    seeds: [1_759_117_066],
  },
  {
    story: 'a watch that read again never told of an own write that was gone by then, and a page showed it for ever',
    suite: 'optimistic',
    generator: 1,
    seeds: [1_347, 2_441, 3_045, 8_224, 10_833],
  },
  {
    story: 'a deletion that was told on an earlier connection was shown with its old version',
    suite: 'optimistic',
    generator: 1,
    seeds: [3_668, 7_291],
  },
  {
    story: 'a write that found no connection while another one was taken out of the storage did not count as late',
    suite: 'optimistic',
    generator: 1,
    seeds: [2_358],
  },
  {
    story: 'writes that were replaced were kept one after the other, and a page that was closed left an old one',
    suite: 'optimistic',
    generator: 1,
    seeds: [44_473],
  },
  {
    story: 'what was written upon a write that was kept was merged with an empty value',
    suite: 'optimistic',
    generator: 1,
    seeds: [6_118, 10_729],
  },
  {
    story: 'a node that is opened anew is not taken for another process because of a start that it sent before',
    suite: 'cluster',
    generator: 1,
    seeds: [700_001_525],
  },
  {
    story: 'nobody is told that a write is nowhere, because the log refused another one while that was on its way',
    suite: 'cluster',
    generator: 1,
    seeds: [458_935_349, 458_938_851],
  },
  {
    story: 'a node is not kept from opening by a snapshot that was misread, or replaced by another one meanwhile',
    suite: 'cluster',
    generator: 1,
    seeds: [1_166_658_505, 1_166_665_691],
  },
  {
    story: 'a wish whose answer was lost is not sent again with the next one, nor with a late one more than was seen',
    suite: 'shadow',
    generator: 1,
    seeds: [45_718_389, 3_705_260_127, 1_624_674_765, 2_856_072_091, 2_102_903_797, 3_756_911_161],
  },
  {
    story: 'a device does anew what it has reported when the report was deleted before it heard of the answer',
    suite: 'shadow',
    generator: 1,
    seeds: [2_150_741_267, 1_318_445_542],
  },
  {
    story:
      'a message that was given its packet id on a connection that ended before it was written goes on when it has expired',
    suite: 'broker',
    generator: 1,
    seeds: [2_916_508_093],
  },
  {
    story: 'what was too large for a client when it got a shared message is not owed any more',
    suite: 'broker',
    generator: 1,
    seeds: [3_270_097_344],
  },
  {
    story: 'a client that a handler closes shows the others no entry before those that they have not been told',
    suite: 'watch',
    generator: 4,
    seeds: [1_756_627_366, 1_756_645_855, 1_756_683_597, 1_756_741_671, 1_756_758_507],
  },
  {
    story: 'a key is not taken for read when the handler that first hears of it ends what its registration was',
    suite: 'glob',
    generator: 5,
    seeds: [4_110_211_845, 4_110_214_219, 4_110_218_116],
  },
  {
    story:
      'a client that was closed without a connection came back while it waited for its storage. It took over the next client of its name, whose watches ended',
    suite: 'optimistic',
    generator: 2,
    seeds: [1_863_349_591, 2_491],
  },
  {
    story:
      'a client lost its connection while it waited for its storage to be closed, and came back. It took over the next client of its name, whose watches ended',
    suite: 'optimistic',
    generator: 2,
    seeds: [1_863_360_071, 1_863_360_374],
  },
  {
    story:
      'a handler of status$ looked at a view again when it heard that nobody did. The view left its watch after that, and showed nothing new',
    suite: 'optimistic',
    generator: 2,
    seeds: [473, 474, 843],
  },
  {
    story:
      'a handler of status$ wrote when it heard that the connection was lost, before the view had heard of it. The write was sent late, and did not say so',
    suite: 'optimistic',
    generator: 2,
    seeds: [376],
  },
  {
    story:
      'a handler that heard that its stored write was superseded wrote once more, and the storage kept that write. The next page sent it, though newer ones had been done',
    suite: 'optimistic',
    generator: 2,
    seeds: [755_569_363, 755_575_585],
  },
  {
    story:
      'a handler of errors$ left a lease when it heard that a request had failed. The lease was asked for again after that, and nobody gave it back',
    suite: 'lease',
    generator: 3,
    seeds: [43, 184, 606, 633],
  },
]

export { replayHtml } from "./html/replay-html.js"
export { count, duration, percent, time } from "./html/shown.js"
export { unpacked } from "./log/lines.js"
export { type Bins, binned } from "./model/bins.js"
export type {
  Candidate,
  CsvField,
  LogChunks,
  LogFormatName,
  LogFormatOption,
  LoggedCost,
  LogOptions,
  ReplayOptions,
  ReplayProgress,
} from "./model/replay-options.js"
export { LOG_FORMATS } from "./model/replay-options.js"
export type {
  CandidateReport,
  DeniedKey,
  Disorder,
  Distinct,
  HurtClient,
  HurtReport,
  ReplayReport,
  RuleReport,
  SeriesStep,
  UnreadableLine,
} from "./model/report.js"
export { RECOMMENDED_ALGORITHMS, type RecommendedAlgorithm } from "./recommend/peak-meter.js"
export {
  type Peaks,
  type Recommendation,
  type RecommendOptions,
  recommend,
} from "./recommend/recommend.js"
export { replay } from "./replay.js"
export { asEnforced, withAlgorithm } from "./variants.js"

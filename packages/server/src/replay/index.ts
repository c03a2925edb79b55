export { asEnforced } from "./as-enforced.js"
export { type Bins, binned } from "./bins.js"
export { replayHtml } from "./html/replay-html.js"
export { count, duration, percent, time } from "./html/shown.js"
export { unpacked } from "./log/lines.js"
export { RECOMMENDED_ALGORITHMS, type RecommendedAlgorithm } from "./recommend/peak-meter.js"
export {
  type Peaks,
  type Recommendation,
  type RecommendOptions,
  recommend,
} from "./recommend/recommend.js"
export { replay } from "./replay.js"
export type {
  Candidate,
  CsvField,
  LogChunks,
  LogFormatName,
  LogFormatOption,
  LogOptions,
  ReplayOptions,
  ReplayProgress,
} from "./replay-options.js"
export { LOG_FORMATS } from "./replay-options.js"
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
} from "./report.js"
export { withAlgorithm } from "./with-algorithm.js"

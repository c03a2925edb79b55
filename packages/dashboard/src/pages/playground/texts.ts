import { waitText } from "../../browser/format.js"
import { locale } from "../../browser/i18n.js"
import type { TwoWindows } from "./calendar.js"
import { spanOf, type Terms } from "./traffic.js"

const en = {
  title: "Playground",
  lead: "How each algorithm handles the same requests from one client. The page runs the library itself on a simulated clock, and sends nothing to the service.",
  traffic: "Traffic",
  total: (count: string) => `${count} requests in a minute`,
  totalInWindows: (count: string) => `${count} requests in two windows`,
  shape: "Shape",
  shapes: {
    boundary: "At the boundary",
    burst: "Bursts",
    steady: "Steady",
    ramp: "Ramp",
    waves: "Waves",
    hammer: "On and off",
    random: "Random",
    drawn: "Drawn",
  },
  limit: "Limit",
  limitRange: (max: number) => `A whole number from 1 to ${max}.`,
  window: "Window",
  seconds: (count: number) => `${count} seconds`,
  calendar: "Calendar",
  units: { hour: "hour", day: "day", week: "week", month: "month" },
  usualLengths: { hour: "60 min", day: "24 h", week: "7 d", month: "31 d" },
  timeZone: "Time zone",
  earlier: "Earlier",
  later: "Later",
  calendarNote: (first: string, second: string, zone: string, usual: string) =>
    `The time line shows two windows of the wall clock in ${zone}: the first has ${first}, the second ${second}. Only fixed-window has calendar windows. The other algorithms have a window of ${usual} here.`,
  sketch: (time: string) => `Requests per ${time}`,
  halfSecond: "half second",
  sketchHint:
    "Draw with the pointer. On the keyboard, left and right select a time, and up and down change its number of requests.",
  slot: (time: string, count: number) => `${time}: ${count} requests`,
  clear: "Clear",
  compare: "Compare",
  timeLine: "Time line",
  noConcurrency:
    "concurrency is not here: it limits how many requests are in progress at a time, and these requests have no duration.",
  perWindow: (limit: number, window: string) => `${limit} per ${window}`,
  nothingChosen: "Choose at least one algorithm above.",
  through: "allowed",
  denied: "denied",
  inWindow: (length: string) => `allowed in the last ${length}`,
  overLimit: "over the limit",
  limitLine: (limit: number) => `limit ${limit}`,
  admittedOf: (admitted: string, asked: string) => `${admitted} of ${asked} allowed`,
  within: (length: string, total: number) => `busiest ${length}: ${total}`,
  over: (length: string, total: number, over: number) =>
    `busiest ${length}: ${total}, ${over} over the limit`,
  alike: (name: string) => `same decisions as ${name}`,
  chartLabel: (name: string, verdict: string, admitted: string) => `${name}: ${verdict}; ${admitted}`,
  at: "Time",
  atSecond: (second: string) => `${second} s`,
  play: "Play",
  pause: "Pause",
  now: (inWindow: number, remaining: number) => `${inWindow} in the window, ${remaining} remaining`,
  numbers: "Results",
  algorithm: "Algorithm",
  letThrough: "Allowed",
  deniedColumn: "Denied",
  busiest: (length: string) => `Busiest ${length}`,
  longestWait: "Longest wait",
  code: "Code",
  milliseconds: (ms: string) => `${ms} ms`,
  boundaryNote: (limit: number) =>
    `A fixed window starts from zero when the previous one ends: ${limit} requests just before the boundary and ${limit} just after it are ${2 * limit} within a second. A sliding window looks back from each request and counts both.`,
}

const zh: typeof en = {
  title: "演练场",
  lead: "每种算法如何处理一个客户端的同一批请求。页面用模拟时钟运行这个库本身，不向服务发送任何数据。",
  traffic: "流量",
  total: (count) => `一分钟内 ${count} 个请求`,
  totalInWindows: (count) => `两个窗口内 ${count} 个请求`,
  shape: "形状",
  shapes: {
    boundary: "窗口边界",
    burst: "突发",
    steady: "平稳",
    ramp: "爬升",
    waves: "波浪",
    hammer: "时断时续",
    random: "随机",
    drawn: "手绘",
  },
  limit: "限额",
  limitRange: (max) => `1 到 ${max} 的整数。`,
  window: "窗口",
  seconds: (count) => `${count} 秒`,
  calendar: "日历",
  units: { hour: "小时", day: "天", week: "周", month: "月" },
  usualLengths: { hour: "60 分钟", day: "24 小时", week: "7 天", month: "31 天" },
  timeZone: "时区",
  earlier: "更早",
  later: "更晚",
  calendarNote: (first, second, zone, usual) =>
    `时间线显示 ${zone} 当地时钟的两个窗口：第一个长 ${first}，第二个长 ${second}。只有 fixed-window 支持日历窗口，其他算法在这里使用 ${usual}的窗口。`,
  sketch: (time) => `每${time}的请求数`,
  halfSecond: "半秒",
  sketchHint: "用指针绘制。用键盘时：左右键选择时间，上下键改变请求数。",
  slot: (time, count) => `${time}：${count} 个请求`,
  clear: "清空",
  compare: "比较",
  timeLine: "时间线",
  noConcurrency: "这里没有 concurrency：它限制同时进行的请求数，而这里的请求没有时长。",
  perWindow: (limit, window) => `每 ${window} ${limit} 个`,
  nothingChosen: "请在上方至少选择一种算法。",
  through: "放行",
  denied: "拒绝",
  inWindow: (length) => `最近 ${length}放行数`,
  overLimit: "超出限额",
  limitLine: (limit) => `限额 ${limit}`,
  admittedOf: (admitted, asked) => `放行 ${admitted} / ${asked}`,
  within: (length, total) => `最忙的 ${length}：${total}`,
  over: (length, total, over) => `最忙的 ${length}：${total}，超出限额 ${over}`,
  alike: (name) => `决策与 ${name} 相同`,
  chartLabel: (name, verdict, admitted) => `${name}：${verdict}；${admitted}`,
  at: "时间",
  atSecond: (second) => `${second} 秒`,
  play: "播放",
  pause: "暂停",
  now: (inWindow, remaining) => `窗口内 ${inWindow}，剩余 ${remaining}`,
  numbers: "结果",
  algorithm: "算法",
  letThrough: "放行",
  deniedColumn: "拒绝",
  busiest: (length) => `最忙的 ${length}`,
  longestWait: "最长等待",
  code: "代码",
  milliseconds: (ms) => `${ms} 毫秒`,
  boundaryNote: (limit) =>
    `固定窗口在上一个窗口结束时从零开始：边界前 ${limit} 个、边界后又 ${limit} 个，一秒之内就是 ${2 * limit} 个。滑动窗口从每个请求往回看，两边都计入。`,
}

export const texts = { en, zh }
export type PlaygroundText = typeof en

/** The usual length of the window: `10 s`, `24 h`. */
export function lengthText(text: PlaygroundText, { calendar, windowSeconds }: Terms): string {
  return calendar === undefined ? waitText(windowSeconds * 1000) : text.usualLengths[calendar.unit]
}

/** `10 per 10 seconds`, `10 per day (Europe/Berlin)` */
export function limitText(text: PlaygroundText, { limit, windowSeconds, calendar }: Terms): string {
  if (calendar === undefined) return text.perWindow(limit, text.seconds(windowSeconds))
  return `${text.perWindow(limit, text.units[calendar.unit])} (${calendar.timeZone})`
}

/** A time of the time line, in milliseconds from its start: `10.5 s`, `Mar 29, 03:12 GMT+2`. */
export function timeText(text: PlaygroundText, { calendar }: Terms, at: number): string {
  if (calendar === undefined) return text.atSecond((at / 1000).toFixed(1))
  return localTime(calendar, calendar.start + at, true)
}

/** What the drawing counts: `Requests per half second`, `Requests per 24 min`. */
export function sketchText(text: PlaygroundText, terms: Terms): string {
  return text.sketch(terms.calendar === undefined ? text.halfSecond : waitText(spanOf(terms).slotMs))
}

export function calendarNote(text: PlaygroundText, terms: Terms): string | undefined {
  const { calendar } = terms
  if (calendar === undefined) return undefined
  const { start, boundary, end, timeZone } = calendar
  const usual = lengthText(text, terms)
  return text.calendarNote(waitText(boundary - start), waitText(end - boundary), timeZone, usual)
}

/** The wall clock in the time zone of the windows: `Mar 29, 00:00`, with the offset from UTC if asked. */
export function localTime({ timeZone }: TwoWindows, time: number, withOffset = false): string {
  return new Intl.DateTimeFormat(locale(), {
    timeZone,
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(withOffset ? { timeZoneName: "shortOffset" } : {}),
  }).format(time)
}

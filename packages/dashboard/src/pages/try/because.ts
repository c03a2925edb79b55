// Translates the reasons of the service, which are English sentences, by pattern. An unknown reason
// stays in English.

import { language } from "../../browser/i18n.js"

const CHINESE: readonly (readonly [RegExp, string])[] = [
  [/^it matches every request$/, "匹配所有请求"],
  [/^the path matches (.+)$/, "路径匹配 $1"],
  [/^its (\w+) matches$/, "$1 匹配"],
  [/^([\w ]+) match$/, "$1 都匹配"],
  [/^it is off$/, "规则已关闭"],
  [/^rule "(.+)" takes its place$/, "被规则 $1 取代"],
  [/^(.+) is on its allow list$/, "$1 在它的允许名单上"],
  [/^(.+) is on its deny list$/, "$1 在它的拒绝名单上"],
  [/^tier (.+) is unlimited$/, "等级 $1 不受限制"],
  [/^an override makes this client unlimited$/, "例外使该客户端不受限制"],
  [/^it is unlimited$/, "规则不设限"],
  [/^the request has no key, and the rule denies those$/, "请求没有键，规则拒绝这样的请求"],
  [/^the request has no key, and the rule skips those$/, "请求没有键，规则跳过这样的请求"],
  [
    /^the request has descriptors and no key for a rule that is not about them$/,
    "请求带有描述符，而规则与之无关",
  ],
  [
    /^limit "(.+)" has leases of at most (\S+): the burst is (\d+) instead of (\d+)$/,
    "限额 $1 的租约最长 $2：突发量为 $3，而非 $4",
  ],
  [
    /^limit "(.+)" has leases of at most (\S+): a unit counts for (\S+) and (\S+)$/,
    "限额 $1 的租约最长 $2：每个单位的计数时长为 $3 加 $4",
  ],
  [
    /^limit "(.+)" has leases of at most (\S+): a lease ends with the window or bucket that it was charged to$/,
    "限额 $1 的租约最长 $2：租约随其计入的窗口或桶结束",
  ],
  [/^(.+) is not there, and must be (.+)$/, "缺少 $1，应为 $2"],
  [/^(.+) has a value that is not shown, and must be (.+)$/, "$1 的值不显示，应为 $2"],
  [/^(\S+(?: \S+)?) is (".*"), and must be (.+)$/, "$1 是 $2，应为 $3"],
]

export function becauseText(because: string): string {
  if (language.value !== "zh") return because
  const [pattern, said] = CHINESE.find(([known]) => known.test(because)) ?? []
  return pattern === undefined || said === undefined ? because : because.replace(pattern, said)
}

const en = {
  close: "Close",
  loading: "Loading …",
  retry: "Try again",
  failed: "That did not work",
  unreachable: "The service cannot be reached.",
  roleNeeded: "Your token may not do that.",
  diff: { none: "Nothing differs.", removed: "removed: ", added: "added: " },
}

const zh: typeof en = {
  close: "关闭",
  loading: "加载中…",
  retry: "重试",
  failed: "操作未成功",
  unreachable: "无法连接到服务。",
  roleNeeded: "您的令牌无权执行此操作。",
  diff: { none: "没有差异。", removed: "删除：", added: "新增：" },
}

export const texts = { en, zh }

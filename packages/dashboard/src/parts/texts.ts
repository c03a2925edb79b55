const en = {
  close: "Close",
  loading: "Loading …",
  retry: "Try again",
  failed: "Loading failed",
  unreachable: "The service cannot be reached.",
  roleNeeded: "The role of your token does not allow this.",
  diff: { none: "No differences.", removed: "removed: ", added: "added: " },
}

const zh: typeof en = {
  close: "关闭",
  loading: "加载中…",
  retry: "重试",
  failed: "加载失败",
  unreachable: "无法连接到服务。",
  roleNeeded: "您的令牌的角色不允许此操作。",
  diff: { none: "没有差异。", removed: "删除：", added: "新增：" },
}

export const texts = { en, zh }

// Generated from save.lua by `npm run generate`. DO NOT EDIT.

export const SAVE_DIGEST = "34c6005dc59278993ace1af3b8f0b7f4bfa70261"

export const SAVE = `local kind = redis.call("TYPE", KEYS[1]).ok
local mark = ""
if kind == "hash" then
  local found = redis.call("HMGET", KEYS[1], "revision", "etag", "set")
  if found[3] == ARGV[4] then
    return 1
  end
  if found[1] or found[2] then
    mark = (found[1] or "") .. " " .. (found[2] or "")
  end
elseif kind ~= "none" then
  mark = "?"
end
if mark ~= ARGV[1] then
  return 0
end
redis.call("LPUSH", KEYS[2], ARGV[4])
redis.call("LTRIM", KEYS[2], 0, ARGV[5] - 1)
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "revision", ARGV[2], "etag", ARGV[3], "set", ARGV[4])
redis.pcall("PUBLISH", ARGV[6], ARGV[2])
return 1
`

-- Purpose: puts a rule set in force if what is in force is still what the writer has seen, adds it to the history and
-- announces it. A script of its own.
-- KEYS[1]: the set in force, a hash of revision, etag and set (JSON, with everything). KEYS[2]: the history, a list of such
-- sets, the newest first.
-- ARGV[1]: what was seen: "revision etag", "" for no set, "?" for something that is no hash. ARGV[2]: the new revision.
-- ARGV[3]: its etag. ARGV[4]: the set. ARGV[5]: how many the history keeps. ARGV[6]: the channel.
-- Reply: 1 if the set is in force, 0 if somebody else was faster.

local kind = redis.call("TYPE", KEYS[1]).ok
local mark = ""
if kind == "hash" then
  local found = redis.call("HMGET", KEYS[1], "revision", "etag", "set")
  -- A client that lost the connection may have sent the same call twice.
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
-- First the history: were it something else than a list, nothing would have been changed yet.
redis.call("LPUSH", KEYS[2], ARGV[4])
redis.call("LTRIM", KEYS[2], 0, ARGV[5] - 1)
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "revision", ARGV[2], "etag", ARGV[3], "set", ARGV[4])
-- A user without a right to the channel may save all the same: the others find the set by looking.
redis.pcall("PUBLISH", ARGV[6], ARGV[2])
return 1

-- The compact form of a call, which most calls have: checks at one time, each of them one charge of the same bucket policy.
-- It decides as bucket.lua does, in about half the server time of the general form. When a key does not hold a state of
-- this policy, one with an overdraft, or one that lies more than a window ahead, it writes nothing, and main.lua runs the checks.
--
-- KEYS, ARGV[1]: see main.lua.
-- Reply: one string of packed doubles: the time in µs; for each check the debt and the time of the state it was decided on.

-- How many numbers of the message every call in the compact form has. The order follows them.
local COMPACT_HEAD = 10

local function run_compact()
  local keys, now = KEYS, time_or_server(message[4])
  local window, capacity, token, leak = message[7], message[8], message[9], message[10]
  local full = capacity * token
  -- The time of the call, then debt and time of each key: the reply, when every key is checked once.
  local states, missing = { now }, nil
  for index = 1, #keys do
    local value, debt, t = values[index], 0, now
    if value then
      if #value ~= 40 then return nil end
      local time, _, its_token, its_leak
      debt, time, _, its_token, its_leak = read("<ddddd", value)
      if its_token ~= token or its_leak ~= leak then return nil end
      -- Not the other way round: every comparison with NaN is false. Up to a full bucket, a debt counts the same under every
      -- capacity.
      if not (debt >= 0 and debt <= full and time >= 0 and time - now <= window) then return nil end
      if time <= now then
        debt = debt - (now - time) * leak
        if debt < 0 then debt = 0 end
      elseif debt > 0 then
        t = time
      end
    else
      missing = missing or {}
      missing[#missing + 1] = keys[index]
    end
    states[index * 2], states[index * 2 + 1] = debt, t
  end
  -- MGET shows a key that holds no string as missing.
  if missing and call("EXISTS", unpack(missing)) > 0 then return nil end

  local has_order = #message > COMPACT_HEAD
  local reply = has_order and { now } or states
  -- By index of the key: its debt after the checks that charged it; false when all its checks were denied.
  local charged = {}
  for c = 1, has_order and (#message - COMPACT_HEAD) / 2 or #keys do
    local index, cost = c, 1
    if has_order then index, cost = message[COMPACT_HEAD + c * 2 - 1], message[COMPACT_HEAD + c * 2] end
    local debt = charged[index] or states[index * 2]
    if has_order then reply[c * 2], reply[c * 2 + 1] = debt, states[index * 2 + 1] end
    if cost > 0 then
      if cost <= capacity and cost * token <= full - debt then
        charged[index] = debt + cost * token
      elseif not charged[index] then
        charged[index] = false
      end
    end
  end

  for index = 1, #keys do
    local debt, time = charged[index], states[index * 2 + 1]
    if debt then
      call("SET", keys[index], write("<ddddd", debt, time, capacity, token, leak), "PX", time_to_live(time + ceil(debt / leak), now))
    elseif debt == false then
      repair(index, now + 2 * window, now)
    end
  end
  return write("<" .. string.rep("d", #reply), unpack(reply))
end

if is_compact then
  local reply = run_compact()
  if reply then return reply end
end

-- Purpose: the plainest call, one check of cost 1 on one bucket. It comes first and returns before anything else is even
-- defined: a script runs from its top at every call. Decides as bucket.lua does; when anything is not usual nothing is
-- touched, and the call goes on in plain.lua.
-- KEYS: the key.
-- ARGV, reply: as in uniform.lua.

-- The policy in text. One call reads all of it, and a number is made only of what is needed.
local policy = ARGV[1]
local kind, window, token, capacity, buffer, least, own
if policy ~= "" then kind, window, token, capacity, buffer, least, own = struct.unpack("sssssss", policy) end

if kind == "b" and not ARGV[3] and not KEYS[2] then
  local call, key, pack, ceil = redis.call, KEYS[1], struct.pack, math.ceil
  local now = ARGV[2]
  if now then
    now = now + 0
  else
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  -- What is no string answers with a table of its error, which has no length of 32.
  local value = redis.pcall("GET", key)
  local unit, leak = token + 0, own + 0
  local full = capacity * unit
  local debt, t, usual = 0, now, true
  if value then
    local state_time, written, rate
    if #value == 32 then debt, state_time, written, rate = struct.unpack("<dddd", value) end
    usual = written == unit and rate == leak and debt >= 0 and debt <= full and state_time >= 0
    if usual then
      if state_time <= now then
        debt = debt - (now - state_time) * leak
        if debt < 0 then debt = 0 end
      else
        usual = state_time - now <= window + 0
        if debt > 0 then t = state_time end
      end
    end
  end
  if usual then
    if unit <= full - debt then
      local charged = debt + unit
      local ttl = ceil((t + ceil(charged / leak) - now) / 1000) + buffer
      if ttl < least + 0 then ttl = least end
      -- As text: a number is written with 17 digits before Redis reads it again, which takes 0.1 µs more.
      call("SET", key, pack("<dddd", charged, t, unit, leak), "PX", string.format("%d", ttl))
    else
      -- A key somebody made permanent gets its expiry back.
      if call("PTTL", key) == -1 then call("PEXPIRE", key, math.max(ceil(window / 500) + buffer, least + 0)) end
    end
    return pack("<ddd", now, debt, t - now)
  end
end

-- Purpose: the plainest call, one check of cost 1 on one bucket. It comes first and returns before anything else is even
-- defined: a script runs from its top at every call. Decides as bucket.lua does; when anything is not usual nothing is
-- touched, and the call goes on in plain.lua.
-- KEYS: the key.
-- ARGV, reply: as in uniform.lua.

local policy = ARGV[1]

if #KEYS == 1 and not ARGV[3] and string.byte(policy) == 98 then
  local call, key, sub = redis.call, KEYS[1], string.sub
  local now = ARGV[2]
  if now then
    now = now + 0
  else
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  -- What is no string answers with a table of its error, which has no length of 24.
  local value = redis.pcall("GET", key)
  local token, leak = sub(policy, 18, 33) + 0, sub(policy, 82, 97) + 0
  local full = sub(policy, 34, 49) * token
  local debt, t, usual = 0, now, true
  if value then
    usual = false
    if #value == 24 then
      local state_time, written
      debt, state_time, written = struct.unpack("<ddd", value)
      if written == token and debt >= 0 and debt <= full and state_time >= 0 and state_time - now <= sub(policy, 2, 17) + 0 then
        usual = true
        if state_time <= now then
          debt = debt - (now - state_time) * leak
          if debt < 0 then debt = 0 end
        elseif debt > 0 then
          t = state_time
        end
      end
    end
  end
  if usual then
    if token <= full - debt then
      local charged = debt + token
      local ttl = math.ceil((t + math.ceil(charged / leak) - now) / 1000) + sub(policy, 50, 65)
      local least = sub(policy, 66, 81) + 0
      if ttl < least then ttl = least end
      -- As text: a number is written with 17 digits before Redis reads it again, which takes 0.1 µs more.
      call("SET", key, struct.pack("<ddd", charged, t, token), "PX", string.format("%d", ttl))
    else
      -- A key somebody made permanent gets its expiry back.
      local ttl = math.max(math.ceil(sub(policy, 2, 17) / 500) + sub(policy, 50, 65), sub(policy, 66, 81) + 0)
      call("PEXPIRE", key, ttl, "NX")
    end
    return struct.pack("<ddd", now, debt, t - now)
  end
end

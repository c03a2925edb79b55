-- Purpose: checks of cost 1, each on a bucket of its own: what many requests at once make. Decides as bucket.lua does; when
-- anything is not usual nothing is touched, and the call goes on in uniform.lua.
-- KEYS: every key once.
-- ARGV, reply: as in uniform.lua.

if kind == "b" and not ARGV[3] then
  local call, keys, pack, unpack_struct, ceil = redis.call, KEYS, struct.pack, struct.unpack, math.ceil
  local now = ARGV[2]
  if now then
    now = now + 0
  else
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local count, values = #keys, call("MGET", unpack(keys))
  local window, unit, leak = window + 0, token + 0, own + 0
  local full = capacity * unit
  local reply, usual = { now }, true
  for i = 1, count do
    local value, debt, ahead = values[i], 0, 0
    if value then
      local time, written, rate = 0, 0, 0
      if #value == 32 then debt, time, written, rate = unpack_struct("<dddd", value) end
      ahead = time - now
      if not (written == unit and rate == leak and debt >= 0 and debt <= full and time >= 0 and ahead <= window) then
        usual = false
        break
      end
      if ahead <= 0 then
        debt = debt + ahead * leak
        if debt < 0 then debt = 0 end
        ahead = 0
      elseif debt == 0 then
        ahead = 0
      end
    end
    reply[i * 2], reply[i * 2 + 1] = debt, ahead
  end
  if usual then
    local buffer, least, format = buffer + 0, least + 0, string.format
    for i = 1, count do
      local debt, ahead = reply[i * 2], reply[i * 2 + 1]
      if unit <= full - debt then
        debt = debt + unit
        local state = pack("<dddd", debt, now + ahead, unit, leak)
        local ttl = ceil((ahead + ceil(debt / leak)) / 1000) + buffer
        if ttl < least then ttl = least end
        ttl = format("%d", ttl)
        if values[i] then
          call("SET", keys[i], state, "PX", ttl)
        elseif not call("SET", keys[i], state, "PX", ttl, "NX") then
          -- Not a string, so MGET did not see it.
          reply[i * 2] = -1
        end
      else
        -- A key somebody made permanent gets its expiry back.
        if call("PTTL", keys[i]) == -1 then call("PEXPIRE", keys[i], math.max(ceil(window / 500) + buffer, least)) end
      end
    end
    return pack("<" .. string.rep("d", #reply), unpack(reply))
  end
end

-- Purpose: the usual call, without the machinery of the general one: checks of one bucket policy (token bucket, leaky bucket,
-- GCRA), one charge each. Decides as bucket.lua does. When anything is not usual (a state in other ticks, from a clock that
-- was wrong, or not ours) nothing is touched, and the call goes on in the general form of main.lua.
-- KEYS: every key once.
-- ARGV: window, ticks per unit, ticks drained per µs, capacity, expiry buffer (ms), least time to live (ms), time or "" for the
--   server's, and for each check two characters, its key and its cost above " ", or "" for every key once at cost 1.
-- Reply: packed doubles: time; per check the debt it was judged on (negative: a key of a foreign type) and how far the state's
--   time lies ahead. In the general form: -1, then the reply of main.lua.

local blob, reply_head = ARGV[1], ""

local function uniform(window, token, leak, capacity, buffer, least)
  local now = tonumber(ARGV[7])
  if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local order, full, keys = ARGV[8], capacity * token, #KEYS
  local values = redis.call("MGET", unpack(KEYS))
  local debts, times, changes = {}, {}, {}
  for i = 1, keys do
    local value = values[i]
    local debt, t = 0, now
    if value then
      if #value ~= 24 then return nil end
      local time, written
      debt, time, written = struct.unpack("<ddd", value)
      if not (written == token and debt >= 0 and debt <= full and time >= 0 and time - now <= window) then return nil end
      if time <= now then
        debt = debt - (now - time) * leak
        if debt < 0 then debt = 0 end
      elseif debt > 0 then
        t = time
      end
    end
    debts[i], times[i] = debt, t
  end
  local checks = keys
  if order ~= "" then checks = #order / 2 end
  local reply = { now }
  for c = 1, checks do
    local i, cost = c, 1
    if order ~= "" then
      i, cost = string.byte(order, c * 2 - 1, c * 2)
      i, cost = i - 32, cost - 32
    end
    local debt = debts[i]
    reply[c * 2], reply[c * 2 + 1] = debt, times[i] - now
    if cost <= capacity and cost * token <= full - debt then
      if cost > 0 then
        debts[i] = debt + cost * token
        changes[i] = 1
      end
    elseif not changes[i] then
      changes[i] = 0
    end
  end
  local foreign
  for i = 1, keys do
    if changes[i] == 1 then
      local ttl = math.ceil((times[i] + math.ceil(debts[i] / leak) - now) / 1000) + buffer
      if ttl < least then ttl = least end
      local value = struct.pack("<ddd", debts[i], times[i], token)
      ttl = string.format("%.0f", ttl)
      if values[i] then
        redis.call("SET", KEYS[i], value, "PX", ttl)
      elseif not redis.call("SET", KEYS[i], value, "PX", ttl, "NX") then
        foreign = foreign or {}
        foreign[i] = true
      end
    elseif changes[i] == 0 and values[i] then
      -- A key somebody made permanent gets its expiry back.
      redis.call("PEXPIRE", KEYS[i], string.format("%.0f", math.ceil(2 * window / 1000) + buffer), "NX")
    end
  end
  if foreign then
    for c = 1, checks do
      local i = c
      if order ~= "" then i = string.byte(order, c * 2 - 1) - 32 end
      if foreign[i] then reply[c * 2] = -1 end
    end
  end
  return struct.pack("<" .. string.rep("d", #reply), unpack(reply))
end

if ARGV[2] then
  local window, token, leak, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local buffer, least, order = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[8]
  local reply = uniform(window, token, leak, capacity, buffer, least)
  if reply then return reply end
  -- The same call as main.lua reads it.
  local checks = #KEYS
  if order ~= "" then checks = #order / 2 end
  local parts = { struct.pack("<ddHBdddddH", buffer, least, 1, 1, 0, window, capacity, token, leak, checks) }
  for c = 1, checks do
    local i, cost = c + 32, 33
    if order ~= "" then i, cost = string.byte(order, c * 2 - 1, c * 2) end
    parts[c + 1] = struct.pack("<BdHHHd", 0, tonumber(ARGV[7]) or -1, 1, i - 32, 1, cost - 32)
  end
  blob, reply_head = table.concat(parts), struct.pack("<d", -1)
end

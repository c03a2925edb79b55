-- Purpose: the usual call, without the machinery of the general one: checks of one policy, one charge each. Buckets (token
-- bucket, leaky bucket, GCRA), fixed windows, and sliding window counters of one bucket. Decides as bucket.lua,
-- fixed-window.lua and sliding-window-counter.lua do. When anything is not usual (a state in other terms, from a clock that
-- was wrong, or not ours) nothing is touched, and the call goes on in the general form of main.lua.
-- KEYS: every key once.
-- ARGV[1]: the policy in text, a zero after each part: its kind ("b" bucket, "w" fixed window, "c" counter), window, ticks
--   per unit (1 without ticks), capacity, expiry buffer (ms), least time to live (ms), and what only this kind has: ticks
--   drained per µs; 1 when the window starts at the first request; bucket length. "" for a call in the general form.
-- ARGV[2]: the time; none or "" for the server's.
-- ARGV[3]: for each check two characters, its key and its cost above " "; none for every key once at cost 1.
-- Reply: packed doubles: time; per check the count it was judged on (debt, count, newest count; negative: a key of a foreign
--   type), how far the state's time lies ahead, and for a counter the oldest count. In the general form: -1, then the reply
--   of main.lua.

local blob, reply_head = ARGV[2], ""

local function uniform(kind, window, unit, capacity, buffer, least, own)
  local call, pack_struct, unpack_struct = redis.call, struct.pack, struct.unpack
  local ceil, floor, byte, format = math.ceil, math.floor, string.byte, string.format
  local is_bucket, is_counter = kind == "b", kind == "c"
  local now = tonumber(ARGV[2] or "")
  if not now then
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local order, full, keys, most = ARGV[3], capacity * unit, #KEYS, 9007199254740992
  local values = call("MGET", unpack(KEYS))
  -- Of each key: what is used; the time of its state; of a counter the oldest count, and what it still weighs.
  local used, times, oldest, weights, changes = {}, {}, {}, {}, {}
  local fresh = now
  if is_counter then fresh = floor(now / own) * own elseif not is_bucket and own ~= 1 then fresh = floor(now / window) * window end
  for i = 1, keys do
    local value = values[i]
    local amount, t, old, weight = 0, fresh, 0, 0
    if is_bucket then
      if value then
        if #value ~= 32 then return nil end
        local time, written, rate
        amount, time, written, rate = unpack_struct("<dddd", value)
        if not (written == unit and rate == own and amount >= 0 and amount <= full and time >= 0 and time - now <= window) then return nil end
        if time <= now then
          amount = amount - (now - time) * own
          if amount < 0 then amount = 0 end
        elseif amount > 0 then
          t = time
        end
      end
    elseif is_counter then
      if value then
        if #value ~= 32 then return nil end
        local written, newest
        t, written, newest, old = unpack_struct("<dddd", value)
        if not (written == own and t >= 0 and t - now <= window) then return nil end
        if not (newest >= 0 and newest < most and old >= 0 and old < most) then return nil end
        if now >= t + own then
          local steps = (fresh - t) / own
          if steps == 1 then old, newest = newest, 0 elseif steps >= 2 then old, newest = 0, 0 else return nil end
          t = fresh
        elseif t > now and newest == 0 and old == 0 then
          return nil
        end
        if old ~= 0 then
          local product = old * (own - math.max(now - t, 0))
          if product >= most then return nil end
          weight = floor(product / own)
        end
        amount = weight + newest
      end
      oldest[i], weights[i] = old, weight
    elseif value then
      if #value ~= 24 then return nil end
      local start, written
      start, written, amount = unpack_struct("<ddd", value)
      if not (written == window and amount >= 0 and amount < most and start >= 0 and start - now <= window) then return nil end
      if now >= start + window then amount = 0 elseif amount > 0 then t = start end
    end
    used[i], times[i] = amount, t
  end
  local checks, width = keys, 2
  if order then checks = #order / 2 end
  if is_counter then width = 3 end
  local reply, at = { now }, 2
  for c = 1, checks do
    local i, cost = c, 1
    if order then
      i, cost = byte(order, c * 2 - 1, c * 2)
      i, cost = i - 32, cost - 32
    end
    local amount = used[i]
    if is_counter then
      reply[at], reply[at + 1], reply[at + 2] = amount - weights[i], times[i] - now, oldest[i]
    else
      reply[at], reply[at + 1] = amount, times[i] - now
    end
    at = at + width
    if cost <= capacity and cost * unit <= full - amount then
      if cost > 0 then
        used[i] = amount + cost * unit
        changes[i] = 1
      end
    elseif cost > 0 and not changes[i] then
      changes[i] = 0
    end
  end
  local foreign
  for i = 1, keys do
    if changes[i] == 1 then
      local amount, t = used[i], times[i]
      local value, expires
      if is_bucket then
        value, expires = pack_struct("<dddd", amount, t, unit, own), t + ceil(amount / own)
      elseif is_counter then
        value, expires = pack_struct("<dddd", t, own, amount - weights[i], oldest[i]), t + 2 * own
      else
        value, expires = pack_struct("<ddd", t, window, amount), t + window
      end
      local ttl = ceil((expires - now) / 1000) + buffer
      if ttl < least then ttl = least end
      ttl = format("%d", ttl)
      if values[i] then
        call("SET", KEYS[i], value, "PX", ttl)
      elseif not call("SET", KEYS[i], value, "PX", ttl, "NX") then
        foreign = foreign or {}
        foreign[i] = true
      end
    elseif changes[i] == 0 and values[i] then
      -- A key somebody made permanent gets its expiry back.
      if call("PTTL", KEYS[i]) == -1 then call("PEXPIRE", KEYS[i], math.max(ceil(window / 500) + buffer, least)) end
    end
  end
  if foreign then
    for c = 1, checks do
      local i = c
      if order then i = byte(order, c * 2 - 1) - 32 end
      if foreign[i] then reply[2 + (c - 1) * width] = -1 end
    end
  end
  return pack_struct("<" .. string.rep("d", #reply), unpack(reply))
end

if kind then
  local order, window, unit, capacity = ARGV[3], tonumber(window), tonumber(token), tonumber(capacity)
  local buffer, least, own = tonumber(buffer), tonumber(least), tonumber(own)
  local reply = uniform(kind, window, unit, capacity, buffer, least, own)
  if reply then return reply end
  -- The same call as main.lua reads it.
  local checks, place, x, y = #KEYS, 1, unit, own
  if order then checks = #order / 2 end
  if kind == "w" then place = 2 elseif kind == "c" then place, x, y = 3, own, 1 end
  local parts = { struct.pack("<ddHBdddddH", buffer, least, 1, place, capacity, window, capacity, x, y, checks) }
  for c = 1, checks do
    local i, cost = c + 32, 33
    if order then i, cost = string.byte(order, c * 2 - 1, c * 2) end
    parts[c + 1] = struct.pack("<BdHHHd", 0, tonumber(ARGV[2] or "") or -1, 1, i - 32, 1, cost - 32)
  end
  blob, reply_head = table.concat(parts), struct.pack("<d", -1)
end
